//! `wasi:filesystem`, with the grant asked before every change.
//!
//! wasmtime-wasi does the work and already confines every path to its preopen. What it does not
//! know is ours: protected names, read-only folders inside writable ones, how much may be written,
//! links that would lead an unconfined program astray, and files that block whoever opens them.

mod guarded;

use std::sync::Arc;

use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::{
    filesystem::Descriptor,
    p2::{
        DynInputStream, DynOutputStream, FsError, FsResult,
        bindings::filesystem::{
            preopens,
            types::{self, DescriptorFlags, ErrorCode, HostDescriptor, HostDirectoryEntryStream, OpenFlags, PathFlags},
        },
    },
};

use self::guarded::{Guarded, guarded};
use crate::{
    capabilities::{
        confine::{Area, Change, LastLink, is_special},
        preopens::Preopen,
    },
    host::Host,
};

pub(crate) fn link(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    types::add_to_linker::<Host, Guarded<'static>>(linker, guarded)?;
    preopens::add_to_linker::<Host, Guarded<'static>>(linker, guarded)
}

impl preopens::Host for Guarded<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let folders = self.files.hand_out_preopens();
        let push = |folder: &Preopen| {
            Ok((self.wasi.table.push(Descriptor::Dir(folder.wasi.clone()))?, folder.name.to_string()))
        };
        folders.iter().map(push).collect()
    }
}

impl types::Host for Guarded<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn filesystem_error_code(&mut self, error: Resource<wasmtime::Error>) -> wasmtime::Result<Option<ErrorCode>> {
        types::Host::filesystem_error_code(&mut self.wasi, error)
    }
}

impl HostDescriptor for Guarded<'_> {
    async fn open_at(
        &mut self,
        fd: Resource<Descriptor>,
        path_flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        let last = last_link(path_flags);
        let makes = open_flags.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE);
        let is_directory = open_flags.contains(OpenFlags::DIRECTORY);
        if makes && is_directory {
            // Some kernels would make a file of that name all the same.
            return Err(ErrorCode::Invalid.into());
        }
        let room = self.files.room_for_one();
        room.map_err(|denial| self.refuse_as(denial, ErrorCode::InsufficientMemory))?;
        let opened = if makes || (flags.contains(DescriptorFlags::WRITE) && !is_directory) {
            self.open_to_change(&fd, last, &path, open_flags, flags).await?
        } else {
            self.pass_unless_hidden(&fd, &path, last)?;
            if is_special(&self.directory(&fd)?.dir, &path, last) {
                return Err(ErrorCode::Unsupported.into());
            }
            let opened = self.wasi.open_at(fd, path_flags, path, open_flags, flags).await?;
            self.unless_hidden(opened)?
        };
        // Counted when there is something to close: what was refused on the way here was not opened.
        self.files.opened();
        Ok(opened)
    }

    async fn set_times_at(
        &mut self,
        fd: Resource<Descriptor>,
        path_flags: PathFlags,
        path: String,
        accessed: types::NewTimestamp,
        modified: types::NewTimestamp,
    ) -> FsResult<()> {
        let place = self.permit(&fd, &path, last_link(path_flags), Change::Write)?;
        if place.set_times(accessed, modified).is_ok() {
            return Ok(());
        }
        let lent = self.lend(&place)?;
        let done = self.wasi.set_times_at(borrow(&lent), PathFlags::empty(), place.name(), accessed, modified).await;
        self.take_back(lent, done)
    }

    async fn create_directory_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        if path.starts_with('.') && path.split('/').all(|part| matches!(part, "" | ".")) {
            // Whoever makes all folders above a file begins with the one that was granted.
            return Err(ErrorCode::Exist.into());
        }
        let place = self.permit(&fd, &path, LastLink::Keep, Change::Write)?;
        self.create()?;
        let lent = self.lend(&place)?;
        let done = self.wasi.create_directory_at(borrow(&lent), place.name()).await;
        self.take_back(lent, done)
    }

    async fn remove_directory_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        let place = self.permit(&fd, &path, LastLink::Keep, Change::Move)?;
        let lent = self.lend(&place)?;
        let done = self.wasi.remove_directory_at(borrow(&lent), place.name()).await;
        self.take_back(lent, done)
    }

    async fn unlink_file_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        let place = self.permit(&fd, &path, LastLink::Keep, Change::Write)?;
        let lent = self.lend(&place)?;
        let done = self.wasi.unlink_file_at(borrow(&lent), place.name()).await;
        self.take_back(lent, done)
    }

    async fn rename_at(
        &mut self,
        fd: Resource<Descriptor>,
        old_path: String,
        new_fd: Resource<Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        let old = self.permit(&fd, &old_path, LastLink::Keep, Change::Move)?;
        let new = self.permit(&new_fd, &new_path, LastLink::Keep, Change::Move)?;
        self.permit_at(&old, &new)?;
        old.take_mode_of(&new);
        let (from, to) = self.lend_both(&old, &new)?;
        let done = self.wasi.rename_at(borrow(&from), old.name(), borrow(&to), new.name()).await;
        let done = self.take_back(from, done);
        self.take_back(to, done)
    }

    /// A hard link to a file that may not be changed would be a way to change it, so both ends must
    /// be writable.
    async fn link_at(
        &mut self,
        fd: Resource<Descriptor>,
        path_flags: PathFlags,
        old_path: String,
        new_fd: Resource<Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        let old = self.permit(&fd, &old_path, LastLink::Keep, Change::Write)?;
        let new = self.permit(&new_fd, &new_path, LastLink::Keep, Change::Write)?;
        self.permit_at(&old, &new)?;
        self.create()?;
        let (from, to) = self.lend_both(&old, &new)?;
        let done = self.wasi.link_at(borrow(&from), path_flags, old.name(), borrow(&to), new.name()).await;
        let done = self.take_back(from, done);
        self.take_back(to, done)
    }

    async fn symlink_at(&mut self, fd: Resource<Descriptor>, target: String, path: String) -> FsResult<()> {
        let place = self.permit(&fd, &path, LastLink::Keep, Change::Write)?;
        let permitted = place.permit_link(&target);
        permitted.map_err(|denial| self.refuse_as(denial, ErrorCode::NotPermitted))?;
        self.create()?;
        let lent = self.lend(&place)?;
        let done = self.wasi.symlink_at(borrow(&lent), target, place.name()).await;
        self.take_back(lent, done)
    }

    async fn set_times(
        &mut self,
        fd: Resource<Descriptor>,
        accessed: types::NewTimestamp,
        modified: types::NewTimestamp,
    ) -> FsResult<()> {
        // A file opened for reading could have its times changed all the same, so the place is asked.
        let file = match self.wasi.table.get(&fd)? {
            Descriptor::File(file) => Arc::clone(&file.file),
            Descriptor::Dir(directory) => Arc::clone(&directory.dir),
        };
        let (area, path) = Area::around(self.files.areas(), &*file)?;
        if let Err(denial) = area.grant.permit_write(&path) {
            return Err(self.refuse_as(denial, ErrorCode::NotPermitted));
        }
        self.wasi.set_times(fd, accessed, modified).await
    }

    async fn set_size(&mut self, fd: Resource<Descriptor>, size: types::Filesize) -> FsResult<()> {
        let before = match self.wasi.table.get(&fd)? {
            Descriptor::File(file) => file.file.metadata().map_or(0, |meta| meta.len()),
            Descriptor::Dir(_) => 0,
        };
        self.spend(size.saturating_sub(before))?;
        self.wasi.set_size(fd, size).await
    }

    async fn write(
        &mut self,
        fd: Resource<Descriptor>,
        buffer: Vec<u8>,
        offset: types::Filesize,
    ) -> FsResult<types::Filesize> {
        self.spend(buffer.len() as u64)?;
        self.wasi.write(fd, buffer, offset).await
    }

    fn write_via_stream(
        &mut self,
        fd: Resource<Descriptor>,
        offset: types::Filesize,
    ) -> FsResult<Resource<DynOutputStream>> {
        let stream = self.wasi.write_via_stream(fd, offset)?;
        self.metered(stream)
    }

    fn append_via_stream(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DynOutputStream>> {
        let stream = self.wasi.append_via_stream(fd)?;
        self.metered(stream)
    }

    fn drop(&mut self, fd: Resource<Descriptor>) -> wasmtime::Result<()> {
        self.files.closed();
        HostDescriptor::drop(&mut self.wasi, fd)
    }

    // What follows changes nothing; only what is hidden is held back.

    fn read_via_stream(
        &mut self,
        fd: Resource<Descriptor>,
        offset: types::Filesize,
    ) -> FsResult<Resource<DynInputStream>> {
        self.wasi.read_via_stream(fd, offset)
    }

    async fn advise(
        &mut self,
        fd: Resource<Descriptor>,
        offset: types::Filesize,
        length: types::Filesize,
        advice: types::Advice,
    ) -> FsResult<()> {
        self.wasi.advise(fd, offset, length, advice).await
    }

    async fn sync_data(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        self.wasi.sync_data(fd).await
    }

    async fn sync(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        self.wasi.sync(fd).await
    }

    async fn get_flags(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorFlags> {
        self.wasi.get_flags(fd).await
    }

    async fn get_type(&mut self, fd: Resource<Descriptor>) -> FsResult<types::DescriptorType> {
        self.wasi.get_type(fd).await
    }

    async fn read(
        &mut self,
        fd: Resource<Descriptor>,
        length: types::Filesize,
        offset: types::Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        self.wasi.read(fd, length, offset).await
    }

    async fn read_directory(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<types::DirectoryEntryStream>> {
        let shown = self.files.shown_in(&*self.directory(&fd)?.dir);
        let stream = self.wasi.read_directory(fd).await?;
        self.files.lists(stream.rep(), shown);
        Ok(stream)
    }

    async fn stat(&mut self, fd: Resource<Descriptor>) -> FsResult<types::DescriptorStat> {
        self.wasi.stat(fd).await
    }

    async fn stat_at(
        &mut self,
        fd: Resource<Descriptor>,
        path_flags: PathFlags,
        path: String,
    ) -> FsResult<types::DescriptorStat> {
        self.pass_unless_hidden(&fd, &path, last_link(path_flags))?;
        self.wasi.stat_at(fd, path_flags, path).await
    }

    async fn readlink_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<String> {
        self.pass_unless_hidden(&fd, &path, LastLink::Keep)?;
        self.wasi.readlink_at(fd, path).await
    }

    async fn is_same_object(&mut self, a: Resource<Descriptor>, b: Resource<Descriptor>) -> wasmtime::Result<bool> {
        self.wasi.is_same_object(a, b).await
    }

    async fn metadata_hash(&mut self, fd: Resource<Descriptor>) -> FsResult<types::MetadataHashValue> {
        self.wasi.metadata_hash(fd).await
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Resource<Descriptor>,
        path_flags: PathFlags,
        path: String,
    ) -> FsResult<types::MetadataHashValue> {
        self.pass_unless_hidden(&fd, &path, last_link(path_flags))?;
        self.wasi.metadata_hash_at(fd, path_flags, path).await
    }
}

impl Guarded<'_> {
    async fn open_to_change(
        &mut self,
        fd: &Resource<Descriptor>,
        last: LastLink,
        path: &str,
        open_flags: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        let place = self.permit(fd, path, last, Change::Write)?;
        if place.is_special() {
            return Err(ErrorCode::Unsupported.into());
        }
        if open_flags.contains(OpenFlags::CREATE) && !place.exists() {
            self.create()?;
        }
        let lent = self.lend(&place)?;
        let opened = self.wasi.open_at(borrow(&lent), PathFlags::empty(), place.name(), open_flags, flags).await;
        self.take_back(lent, opened)
    }
}

impl HostDirectoryEntryStream for Guarded<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<types::DirectoryEntryStream>,
    ) -> FsResult<Option<types::DirectoryEntry>> {
        let rep = stream.rep();
        loop {
            let entry = self.wasi.read_directory_entry(Resource::new_borrow(rep)).await?;
            match &entry {
                Some(entry) if !self.files.shows(rep, &entry.name) => {}
                _ => return Ok(entry),
            }
        }
    }

    fn drop(&mut self, stream: Resource<types::DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.files.lists_no_more(stream.rep());
        HostDirectoryEntryStream::drop(&mut self.wasi, stream)
    }
}

fn last_link(flags: PathFlags) -> LastLink {
    if flags.contains(PathFlags::SYMLINK_FOLLOW) { LastLink::Follow } else { LastLink::Keep }
}

fn borrow(lent: &Resource<Descriptor>) -> Resource<Descriptor> {
    Resource::new_borrow(lent.rep())
}
