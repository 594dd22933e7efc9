//! Where a change would really happen.
//!
//! A request to change something names a directory handle and a path. Links and renames can make
//! that path mean something else a moment later, so it is resolved once, to an open directory and
//! a last name; the rule is asked about the place where that directory really lies, and the change
//! is then made relative to that same open directory, following nothing. A [`Place`] was found, a
//! [`PermittedPlace`] was asked about, and only the latter gives its directory away.

mod hidden;

use std::{
    fs::File,
    io, iter,
    os::fd::{AsFd, OwnedFd},
    path::{Component, PathBuf},
    sync::Arc,
};

use cap_std::fs::Dir;
use palisade_grants::{Capability, Denial, FilesGrant, PermittedWrite, WorkspacePath};
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT},
    io::Errno,
};
use wasmtime_wasi::{
    FsPerms, OpenMode, filesystem,
    p2::bindings::filesystem::types::{ErrorCode, NewTimestamp},
};

use crate::workspace::{open_beneath, real_path};

/// A tree that changes stay in, and what may be changed in it: the workspace, or the scratch folder.
#[derive(Clone)]
pub(crate) struct Area {
    pub(crate) root: Arc<File>,
    pub(crate) grant: Arc<FilesGrant>,
    /// What guests call it, unless it is the workspace.
    pub(crate) name: Option<&'static str>,
}

/// Where a change would happen: an open directory, and a name in it.
pub(crate) struct Place {
    area: Area,
    directory: File,
    name: String,
    /// The real path below the area's root.
    path: WorkspacePath,
    depth: usize,
}

/// A place that the grant lets be changed.
pub(crate) struct PermittedPlace {
    place: Place,
    permitted: PermittedWrite,
}

/// Why there is no place to make a change in.
pub(crate) enum NoPlace {
    /// It cannot be found.
    NotFound(ErrorCode),
    /// Nothing may be there.
    Denied(Denial),
}

impl From<ErrorCode> for NoPlace {
    fn from(code: ErrorCode) -> Self {
        Self::NotFound(code)
    }
}

/// What a change does to a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Writes it, makes it or removes it.
    Write,
    /// Moves or removes it with all that is inside.
    Move,
}

/// Whether a link in the last place is followed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLink {
    Follow,
    Keep,
}

/// More links than this in a row are a loop.
const MAX_LINKS: usize = 16;
/// A directory with more entries than this is not moved nearer to the root.
const MAX_MOVED: usize = 10_000;

impl Area {
    /// Finds the area that an open file or directory really lies in, and where.
    pub(crate) fn around<'a>(
        areas: impl Iterator<Item = &'a Self>,
        inside: impl AsFd,
    ) -> Result<(&'a Self, WorkspacePath), ErrorCode> {
        let mut reason = ErrorCode::NotPermitted;
        for area in areas {
            match real_path(&*area.root, &inside) {
                Ok(path) => return Ok((area, path)),
                Err(error) => reason = io_code(&error),
            }
        }
        Err(reason)
    }

    /// A refusal in terms that fit the area.
    fn explain(&self, path: &WorkspacePath, denial: Denial) -> Denial {
        if self.name.is_none() {
            return denial;
        }
        let remedy = "choose another name; paths of the workspace are relative to it".to_owned();
        Denial { asked: format!("writing {}", self.shown(path)), remedy, ..denial }
    }

    /// A path in it, as its guests would write it.
    fn shown(&self, path: &WorkspacePath) -> String {
        self.name.map_or_else(|| path.to_string(), |name| format!("{name}/{path}"))
    }
}

impl Place {
    /// Finds the place that `path` means, seen from an open directory inside one of the areas.
    pub(crate) fn find<'a>(
        areas: impl Iterator<Item = &'a Area> + Clone,
        from: &File,
        path: &str,
        last: LastLink,
    ) -> Result<Self, NoPlace> {
        let mut place = Self::beneath(areas, from, path)?;
        if last == LastLink::Keep {
            return Ok(place);
        }
        for _ in 0..MAX_LINKS {
            let Some(target) = place.link_target()? else { return Ok(place) };
            // A link leads on from where it really lies; what it says is resolved from the root,
            // below which everything must stay.
            let onward = place.resolve(&target).ok_or(ErrorCode::NotPermitted)?;
            place = Self::beneath(iter::once(&place.area), &place.area.root, &onward)?;
        }
        Err(ErrorCode::Loop.into())
    }

    fn beneath<'a>(areas: impl Iterator<Item = &'a Area> + Clone, from: &File, path: &str) -> Result<Self, NoPlace> {
        let trimmed = path.trim_end_matches('/');
        if path.starts_with('/') {
            return Err(ErrorCode::NotPermitted.into());
        }
        let (parent, name) = trimmed.rsplit_once('/').unwrap_or(("", trimmed));
        if matches!(name, "" | "." | "..") || name.contains('\0') {
            return Err(if name == ".." { ErrorCode::NotPermitted } else { ErrorCode::Invalid }.into());
        }
        if let Some(denial) = Area::refuse_hidden(areas.clone(), from, path) {
            return Err(NoPlace::Denied(denial));
        }
        if Area::hide_way(areas.clone(), from, parent, LastLink::Follow) {
            return Err(ErrorCode::NoEntry.into());
        }
        let directory = open_beneath(from.as_fd(), parent, OFlags::PATH | OFlags::DIRECTORY).map_err(code)?;
        let (area, above) = Area::around(areas, &directory)?;
        let path = WorkspacePath::parse(format!("{}/{name}", above.as_str()).trim_start_matches('/'))
            .map_err(|_| ErrorCode::Invalid)?;
        let (area, name, depth) = (area.clone(), name.to_owned(), above.parts().count());
        Ok(Self { area, directory: directory.into(), name, path, depth })
    }

    /// What the last name links to, if it is a link.
    fn link_target(&self) -> Result<Option<String>, ErrorCode> {
        match rustix::fs::readlinkat(self.directory.as_fd(), self.name.as_str(), Vec::new()) {
            Ok(target) => target.into_string().map(Some).map_err(|_| ErrorCode::IllegalByteSequence),
            Err(Errno::INVAL | Errno::NOENT) => Ok(None),
            Err(error) => Err(code(error)),
        }
    }

    /// The path from the root that a link at this place with this text means. `None` if it is
    /// absolute, or could leave the area: leading `..` parts are counted against how deep the
    /// link really lies, and none may come later, where a link could change their meaning.
    fn resolve(&self, target: &str) -> Option<String> {
        if target.starts_with('/') || target.is_empty() {
            return None;
        }
        let parts: Vec<&str> = target.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        let up = parts.iter().take_while(|part| **part == "..").count();
        if up > self.depth || parts[up..].contains(&"..") {
            return None;
        }
        let above = self.path.parts().take(self.depth - up);
        let parts: Vec<&str> = above.chain(parts[up..].iter().copied()).collect();
        Some(if parts.is_empty() { ".".to_owned() } else { parts.join("/") })
    }

    /// Asks the grant.
    pub(crate) fn permit(self, change: Change) -> Result<PermittedPlace, Denial> {
        let permitted = match change {
            Change::Write => self.area.grant.permit_write(&self.path),
            Change::Move => self.area.grant.permit_move(&self.path, self.is_directory()),
        };
        match permitted {
            Ok(permitted) => Ok(PermittedPlace { place: self, permitted }),
            Err(denial) => Err(self.area.explain(&self.path, denial)),
        }
    }

    fn is_directory(&self) -> bool {
        let stat = rustix::fs::statat(self.directory.as_fd(), self.name.as_str(), AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir())
    }

    /// Whether a directory here holds a link, at any depth, that would lead out of the area after a
    /// move to `new`. Too many entries to look at count as yes.
    fn would_lead_out(&self, new: &Self) -> bool {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        if new.depth >= self.depth {
            return false;
        }
        let Ok(top) = open_beneath(self.directory.as_fd(), &self.name, flags) else { return false };
        let top = Dir::from_std_file(top.into());
        let (mut waiting, mut left) = (vec![(PathBuf::from("."), new.depth + 1)], MAX_MOVED);
        while let Some((folder, depth)) = waiting.pop() {
            let Ok(entries) = top.read_dir(&folder) else { return true };
            for entry in entries {
                let Ok((path, kind)) = entry.and_then(|entry| Ok((folder.join(entry.file_name()), entry.file_type()?)))
                else {
                    return true;
                };
                let rises = |target: PathBuf| target.components().filter(|part| *part == Component::ParentDir).count();
                if kind.is_symlink() && top.read_link_contents(&path).map_or(usize::MAX, rises) > depth || left == 0 {
                    return true;
                }
                waiting.extend(kind.is_dir().then_some((path, depth + 1)));
                left -= 1;
            }
        }
        false
    }
}

impl PermittedPlace {
    /// The open directory, to make the change in.
    pub(crate) fn directory(&self) -> io::Result<filesystem::Dir> {
        let directory = self.place.directory.try_clone()?;
        Ok(filesystem::Dir::new(directory, FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE, true))
    }

    /// The name in that directory.
    pub(crate) fn name(&self) -> String {
        self.place.name.clone()
    }

    /// Whether something is there already.
    pub(crate) fn exists(&self) -> bool {
        let Place { directory, name, .. } = &self.place;
        rustix::fs::statat(directory.as_fd(), name.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Whether opening what is there could wait for somebody.
    pub(crate) fn is_special(&self) -> bool {
        is_special(&self.place.directory, &self.place.name, LastLink::Keep)
    }

    /// Whether both are in the same area.
    pub(crate) fn shares_area_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.place.area.root, &other.place.area.root)
    }

    /// What the last name links to, if it is a link.
    pub(crate) fn link_target(&self) -> Result<Option<String>, ErrorCode> {
        self.place.link_target()
    }

    /// Decides whether a link here may say this. The guest could not follow it out of its folder,
    /// but an unconfined program could.
    pub(crate) fn permit_link(&self, target: &str) -> Result<(), Denial> {
        self.place.resolve(target).map(drop).ok_or_else(|| self.leads_out())
    }

    /// Decides whether a directory here may move to `new`: no link in it may lead out from there.
    pub(crate) fn permit_tree_at(&self, new: &Self) -> Result<(), Denial> {
        if self.place.would_lead_out(&new.place) { Err(new.leads_out()) } else { Ok(()) }
    }

    /// Gives the file that is here the mode of the one at `new`, whose name it will take: guests
    /// cannot see or set modes, and a script that was edited by replacing it should stay executable.
    pub(crate) fn take_mode_of(&self, new: &Self) {
        if let (Some(mode), Ok(file)) = (new.mode(), self.open()) {
            // A file system without modes has none to keep.
            let _ = rustix::fs::fchmod(file, mode);
        }
    }

    /// Lets whoever may read the file that is here run it as a program, or nobody.
    pub(crate) fn set_executable(&self, executable: bool) -> Result<(), Errno> {
        let mode = self.mode().ok_or(Errno::INVAL)?;
        let readers = Mode::from_raw_mode((mode.as_raw_mode() & 0o444) >> 2);
        let runners = Mode::XUSR | Mode::XGRP | Mode::XOTH;
        rustix::fs::fchmod(self.open()?, if executable { mode | readers } else { mode - runners })
    }

    /// Sets the times of the file that is here, by its handle. A link, or what cannot be opened, has to be named.
    pub(crate) fn set_times(&self, accessed: NewTimestamp, modified: NewTimestamp) -> Result<(), Errno> {
        let times = Timestamps { last_access: timestamp(accessed)?, last_modification: timestamp(modified)? };
        rustix::fs::futimens(self.open()?, &times)
    }

    /// The permission bits of the regular file that is there.
    fn mode(&self) -> Option<Mode> {
        let Place { directory, name, .. } = &self.place;
        let stat = rustix::fs::statat(directory.as_fd(), name.as_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        FileType::from_raw_mode(stat.st_mode).is_file().then(|| Mode::from_raw_mode(stat.st_mode & 0o777))
    }

    /// Opens the file that is there, following nothing and waiting for nobody.
    fn open(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        open_beneath(self.place.directory.as_fd(), &self.place.name, flags)
    }

    fn leads_out(&self) -> Denial {
        let area = &self.place.area;
        let called = area.name.unwrap_or("the workspace");
        Denial {
            capability: Capability::FsWrite,
            asked: format!("a link at {}", area.shown(self.permitted.path())),
            rule: format!("it would lead out of {called}"),
            remedy: format!("link to a relative path inside {called}"),
        }
    }
}

fn timestamp(new: NewTimestamp) -> Result<Timespec, Errno> {
    let special = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    Ok(match new {
        NewTimestamp::NoChange => special(UTIME_OMIT),
        NewTimestamp::Now => special(UTIME_NOW),
        NewTimestamp::Timestamp(time) if time.nanoseconds < 1_000_000_000 => Timespec {
            tv_sec: i64::try_from(time.seconds).map_err(|_| Errno::INVAL)?,
            tv_nsec: time.nanoseconds.into(),
        },
        NewTimestamp::Timestamp(_) => return Err(Errno::INVAL),
    })
}

/// Finds what a path means without opening it.
pub(crate) fn look(from: &File, path: &str, last: LastLink) -> Result<OwnedFd, Errno> {
    let follow = if last == LastLink::Follow { OFlags::empty() } else { OFlags::NOFOLLOW };
    open_beneath(from.as_fd(), path, OFlags::PATH | follow)
}

/// Whether opening a path could wait for somebody: a pipe for its writer, a device for anything.
pub(crate) fn is_special(from: &File, path: &str, last: LastLink) -> bool {
    let kind = |fd: OwnedFd| rustix::fs::fstat(fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
    match look(from, path, last).and_then(kind) {
        Ok(kind) => !(kind.is_file() || kind.is_dir() || kind.is_symlink()),
        Err(_) => false,
    }
}

pub(crate) fn code(error: Errno) -> ErrorCode {
    match error {
        // What `RESOLVE_BENEATH` answers when a path would leave.
        Errno::XDEV => ErrorCode::NotPermitted,
        error => io_code(&io::Error::from(error)),
    }
}

pub(crate) fn io_code(error: &io::Error) -> ErrorCode {
    ErrorCode::from(error)
}
