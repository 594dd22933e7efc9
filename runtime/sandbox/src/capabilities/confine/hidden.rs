//! What is hidden looks as if it were not there: to whoever names it, and to whoever would go through
//! it by a link, by `..` or by a name below a file.

use std::{fs::File, os::fd::AsFd};

use palisade_grants::{Denial, WorkspacePath};
use rustix::fs::{Mode, OFlags};

use super::{Area, LastLink, look};
use crate::workspace::open_beneath;

/// As many links as the kernel follows on one path.
const MAX_LINKS: usize = 40;
/// What the kernel adds to the path of a file that has lost its name.
const DELETED: &str = " (deleted)";

impl Area {
    /// Whether an open file or directory is hidden. The kernel says where it really lies; what it
    /// cannot say of is hidden.
    pub(crate) fn hide<'a>(areas: impl Iterator<Item = &'a Self> + Clone, opened: impl AsFd) -> bool {
        let hides = |(area, path): (&Self, WorkspacePath)| {
            let named = path.as_str().strip_suffix(DELETED).and_then(|path| WorkspacePath::parse(path).ok());
            area.grant.hides(&path) || named.is_some_and(|path| area.grant.hides(&path))
        };
        Self::hide_anything(areas.clone()) && Self::around(areas, opened).map_or(true, hides)
    }

    /// Whether a path means something hidden, or is found only by way of it.
    pub(crate) fn hide_way<'a>(
        areas: impl Iterator<Item = &'a Self> + Clone,
        from: &File,
        path: &str,
        last: LastLink,
    ) -> bool {
        if !Self::hide_anything(areas.clone()) {
            return false;
        }
        let Ok((_, start)) = Self::around(areas.clone(), from) else { return true };
        if let (Ok(found), Some(said)) = (look(from, path, last), below(&start, path))
            && Self::around(areas.clone(), &found).is_ok_and(|(_, real)| real == said)
        {
            // No link was followed, so the rest of the way is the beginning of the path.
            return Self::hide(areas, found);
        }
        Self::walk_hidden(areas, from, &start, path, last)
    }

    /// Goes a path part by part. Where it ends before its time, or leaves the directory it began in,
    /// nothing hidden was met: the kernel says what is wrong with it.
    fn walk_hidden<'a>(
        areas: impl Iterator<Item = &'a Self> + Clone,
        from: &File,
        start: &WorkspacePath,
        path: &str,
        last: LastLink,
    ) -> bool {
        let Ok(mut here) = open_beneath(from, ".", OFlags::PATH | OFlags::DIRECTORY) else { return false };
        let (mut left, mut links) = (parts(path), 0);
        while let Some(part) = left.pop() {
            if part == ".." {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let Ok(above) = rustix::fs::openat(&here, "..", flags, Mode::empty()) else { return false };
                if !Self::around(areas.clone(), &above).is_ok_and(|(_, path)| path.is_within(start)) {
                    return false;
                }
                here = above;
                continue;
            }
            let Ok(next) = open_beneath(&here, &part, OFlags::PATH | OFlags::NOFOLLOW) else { return false };
            if Self::hide(areas.clone(), &next) {
                return true;
            }
            let follows = !left.is_empty() || last == LastLink::Follow || path.ends_with('/');
            match rustix::fs::readlinkat(&next, "", Vec::new()) {
                Ok(target) if follows => {
                    let Ok(target) = target.into_string() else { return false };
                    links += 1;
                    if links > MAX_LINKS || target.starts_with('/') {
                        return false;
                    }
                    left.extend(parts(&target));
                }
                _ => here = next,
            }
        }
        false
    }

    /// The refusal to change what a path names, if that is hidden whether it is there or not.
    pub(super) fn refuse_hidden<'a>(
        areas: impl Iterator<Item = &'a Self> + Clone,
        from: &File,
        path: &str,
    ) -> Option<Denial> {
        if !Self::hide_anything(areas.clone()) {
            return None;
        }
        let (area, start) = Self::around(areas, from).ok()?;
        let named = below(&start, path).filter(|path| area.grant.hides(path))?;
        area.grant.permit_write(&named).err()
    }

    fn hide_anything<'a>(mut areas: impl Iterator<Item = &'a Self>) -> bool {
        areas.any(|area| area.grant.hides_anything())
    }
}

/// The path that a text means below a directory, if it does not go up.
fn below(start: &WorkspacePath, path: &str) -> Option<WorkspacePath> {
    WorkspacePath::parse(path).and_then(|below| WorkspacePath::parse(&format!("{}/{}", start, below.as_str()))).ok()
}

/// The parts of a path, the first one last.
fn parts(path: &str) -> Vec<String> {
    path.split('/').filter(|part| !matches!(*part, "" | ".")).rev().map(str::to_owned).collect()
}
