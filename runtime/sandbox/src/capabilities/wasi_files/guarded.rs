//! A guest's view of its files, with what is asked of the grant before it is used.

use std::sync::Arc;

use palisade_grants::{Denial, WorkspacePath};
use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::{
    filesystem::{Descriptor, Dir, WasiFilesystemCtxView},
    p2::{DynOutputStream, FsError, FsResult, bindings::filesystem::types::ErrorCode},
};

use crate::{
    capabilities::{
        confine::{Change, LastLink, NoPlace, PermittedPlace, Place, io_code},
        preopens::Files,
        trail::Trail,
    },
    host::Host,
    meter::quota::Metered,
};

/// wasmtime-wasi's view of a guest's files, and ours beside it.
pub(crate) struct Guarded<'a> {
    pub(super) wasi: WasiFilesystemCtxView<'a>,
    pub(super) files: &'a mut Files,
    pub(super) trail: &'a mut Trail,
    pub(super) denials: &'a mut Vec<Denial>,
}

impl HasData for Guarded<'static> {
    type Data<'a> = Guarded<'a>;
}

pub(super) fn guarded(host: &mut Host) -> Guarded<'_> {
    let Host { wasi, table, files, trail, denials, .. } = host;
    Guarded { wasi: WasiFilesystemCtxView { ctx: wasi.filesystem(), table }, files, trail, denials }
}

impl Guarded<'_> {
    pub(super) fn directory(&self, fd: &Resource<Descriptor>) -> FsResult<Dir> {
        match self.wasi.table.get(fd)? {
            Descriptor::Dir(directory) => Ok(directory.clone()),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    /// Finds where a change would happen and asks the grant.
    pub(super) fn permit(
        &mut self,
        fd: &Resource<Descriptor>,
        path: &str,
        last: LastLink,
        change: Change,
    ) -> FsResult<PermittedPlace> {
        let directory = self.directory(fd)?;
        if directory.perms.write_not_permitted() {
            let asked = WorkspacePath::parse(path).unwrap_or_default();
            return Err(self.refuse(&asked));
        }
        let place = match Place::find(self.files.areas(), &directory.dir, path, last) {
            Ok(place) => place,
            Err(NoPlace::NotFound(code)) => return Err(code.into()),
            Err(NoPlace::Denied(denial)) => return Err(self.refuse_as(denial, ErrorCode::NotPermitted)),
        };
        // After a change a remembered directory may no longer be what its path means.
        *self.trail = Trail::default();
        let permitted = place.permit(change);
        permitted.map_err(|denial| self.refuse_as(denial, ErrorCode::NotPermitted))
    }

    /// Refuses to have at `new` what is at `old`, if a link could then lead out. Between the workspace
    /// and the scratch folder nothing is moved or linked, only copied, as between two disks: what a
    /// tree holds was permitted where it is, not where it would be.
    pub(super) fn permit_at(&mut self, old: &PermittedPlace, new: &PermittedPlace) -> FsResult<()> {
        if !old.shares_area_with(new) {
            return Err(ErrorCode::CrossDevice.into());
        }
        let permitted = match old.link_target()? {
            Some(target) => new.permit_link(&target),
            None => old.permit_tree_at(new),
        };
        permitted.map_err(|denial| self.refuse_as(denial, ErrorCode::NotPermitted))
    }

    /// Puts a place's open directory into the guest's table for the length of one change.
    pub(super) fn lend(&mut self, place: &PermittedPlace) -> FsResult<Resource<Descriptor>> {
        let directory = place.directory().map_err(|error| io_code(&error))?;
        Ok(self.wasi.table.push(Descriptor::Dir(directory))?)
    }

    pub(super) fn lend_both(
        &mut self,
        old: &PermittedPlace,
        new: &PermittedPlace,
    ) -> FsResult<(Resource<Descriptor>, Resource<Descriptor>)> {
        let from = self.lend(old)?;
        match self.lend(new) {
            Ok(to) => Ok((from, to)),
            Err(error) => self.take_back(from, Err(error)),
        }
    }

    /// Takes it out again, whatever came of the change.
    pub(super) fn take_back<T>(&mut self, lent: Resource<Descriptor>, done: FsResult<T>) -> FsResult<T> {
        self.wasi.table.delete(lent)?;
        done
    }

    /// Records that a preopen is read-only, in the grant's own words.
    pub(super) fn refuse(&mut self, asked: &WorkspacePath) -> FsError {
        if let Some(Err(denial)) = self.files.grant().map(|grant| grant.read_only().permit_write(asked)) {
            Host::deny(self.denials, denial);
        }
        ErrorCode::NotPermitted.into()
    }

    /// Counts one more file, directory or link.
    pub(super) fn create(&mut self) -> FsResult<()> {
        let counted = self.files.create();
        counted.map_err(|denial| self.refuse_as(denial, ErrorCode::InsufficientSpace))
    }

    pub(super) fn spend(&mut self, bytes: u64) -> FsResult<()> {
        match self.files.quota.take(bytes) {
            true => Ok(()),
            false => Err(ErrorCode::InsufficientSpace.into()),
        }
    }

    pub(super) fn refuse_as(&mut self, denial: Denial, code: ErrorCode) -> FsError {
        Host::deny(self.denials, denial);
        code.into()
    }

    /// What was opened, if the guest may see it. It is asked about once it is open, so that nobody can
    /// change what its path means in between.
    pub(super) fn unless_hidden(&mut self, opened: Resource<Descriptor>) -> FsResult<Resource<Descriptor>> {
        if !self.files.hides_anything() {
            return Ok(opened);
        }
        let file = match self.wasi.table.get(&opened)? {
            Descriptor::File(file) => Arc::clone(&file.file),
            Descriptor::Dir(directory) => Arc::clone(&directory.dir),
        };
        if self.files.hides(&*file) {
            self.wasi.table.delete(opened)?;
            return Err(ErrorCode::NoEntry.into());
        }
        Ok(opened)
    }

    /// Refuses to tell of what is hidden: neither that it is there nor what it is.
    pub(super) fn pass_unless_hidden(&self, fd: &Resource<Descriptor>, path: &str, last: LastLink) -> FsResult<()> {
        if !self.files.hides_anything() {
            return Ok(());
        }
        let directory = self.directory(fd)?;
        if self.files.hides_way(&directory.dir, path, last) { Err(ErrorCode::NoEntry.into()) } else { Ok(()) }
    }

    /// Puts a counter around a stream that writes to a file.
    pub(super) fn metered(&mut self, stream: Resource<DynOutputStream>) -> FsResult<Resource<DynOutputStream>> {
        let inner = self.wasi.table.delete(stream)?;
        let metered: DynOutputStream = Box::new(Metered { inner, quota: Arc::clone(&self.files.quota) });
        Ok(self.wasi.table.push(metered)?)
    }
}
