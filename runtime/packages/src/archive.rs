//! A `.tar.gz` becomes a package, and a package becomes one.
//!
//! An archive is a list of instructions by a stranger. Everything but plain files and folders is
//! refused, and with it the whole archive; nothing is written while it is read.

use std::{
    cell::Cell,
    io::{self, Read},
    path::Path,
    rc::Rc,
};

use flate2::{Compression, bufread::GzDecoder, write::GzEncoder};
use tar::{Entry, EntryType};

use crate::{
    Limits, Package, PackageError, PackagePath,
    package::Collected,
    signature::{ENCLOSED, Enclosed},
};

/// Reads a `.tar.gz`.
pub fn unpack(packed: &[u8], what: &str) -> Result<Package, PackageError> {
    unpack_within(packed, what, Limits::PLUGIN)
}

pub(crate) fn unpack_within(packed: &[u8], what: &str, limits: Limits) -> Result<Package, PackageError> {
    // Whatever the entries say of themselves, no more than this is unpacked.
    let most = (packed.len() as u64).saturating_mul(limits.ratio).max(Limits::FREE);
    let headers = limits.entries as u64 * 2048 + (1 << 20);
    let (most, is_ratio) = match most < limits.total + headers {
        true => (most, true),
        false => (limits.total + headers, false),
    };
    let spent = Rc::new(Cell::new(0));
    let unpacked = Counted { inner: GzDecoder::new(packed), most, spent: Rc::clone(&spent) };
    let mut archive = tar::Archive::new(unpacked);
    archive.set_ignore_zeros(false);
    let broken = |error: io::Error| match spent.get() > most {
        true if is_ratio => PackageError::TooLarge(format!("more than {} times the size of its archive", limits.ratio)),
        true => PackageError::TooLarge(format!("more than {} bytes", limits.total)),
        false => PackageError::Archive(format!("it cannot be read: {error}")),
    };
    let mut collected = Collected::new(limits);
    let mut seen = 0;
    for entry in archive.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        seen += 1;
        if seen > limits.entries {
            return Err(PackageError::TooLarge(format!("more than {} entries", limits.entries)));
        }
        take(&mut entry, &mut collected, &broken)?;
    }
    // Two readers could disagree about what follows the end.
    let mut rest = archive.into_inner();
    let mut buffer = [0; 8192];
    loop {
        match rest.read(&mut buffer).map_err(broken)? {
            0 => break,
            read if buffer[..read].iter().all(|byte| *byte == 0) => {}
            _ => return Err(PackageError::Archive("something follows its end".to_owned())),
        }
    }
    if !rest.inner.into_inner().is_empty() {
        return Err(PackageError::Archive("something follows its end".to_owned()));
    }
    collected.finish(what)
}

fn take<R: Read>(
    entry: &mut Entry<'_, R>,
    collected: &mut Collected,
    broken: &impl Fn(io::Error) -> PackageError,
) -> Result<(), PackageError> {
    let raw = entry.path_bytes().into_owned();
    let shown = || raw.escape_ascii().to_string();
    let not_plain = |what| PackageError::NotPlain { path: shown(), what };
    let kind = entry.header().entry_type();
    match kind {
        EntryType::Regular | EntryType::Directory => {}
        // What `git archive` writes; it speaks of no file.
        EntryType::XGlobalHeader => return comment(entry, broken),
        EntryType::Symlink => return Err(not_plain("a link")),
        EntryType::Link => return Err(not_plain("a hard link")),
        EntryType::Char | EntryType::Block => return Err(not_plain("a device")),
        EntryType::Fifo => return Err(not_plain("a pipe")),
        _ => return Err(not_plain("an entry of a kind that is not taken")),
    }
    let declared = entry.header().entry_size().map_err(broken)?;
    if let Some(extensions) = entry.pax_extensions().map_err(broken)? {
        for extension in extensions {
            let extension = extension.map_err(broken)?;
            let key = extension.key().unwrap_or_default();
            let is_same_size = extension.value().is_ok_and(|value| value.parse() == Ok(declared));
            if (key == "size" && !is_same_size) || key.starts_with("GNU.sparse") || key == "linkpath" {
                return Err(PackageError::Archive(format!("{} has two sizes or two places", shown())));
            }
        }
    }
    if entry.header().mode().map_err(broken)? & 0o6000 != 0 {
        return Err(not_plain("a file that runs as somebody else (setuid or setgid)"));
    }
    // `./plugin.json` and `agents/` are how `tar` writes what we call `plugin.json` and `agents`.
    let plain = raw.strip_prefix(b"./").unwrap_or(&raw);
    if kind == EntryType::Directory {
        let plain = plain.strip_suffix(b"/").unwrap_or(plain);
        if !plain.is_empty() && plain != b"." {
            PackagePath::parse(plain, collected.limits())?;
        }
        return Ok(());
    }
    let path = PackagePath::parse(plain, collected.limits())?;
    if declared > collected.room() {
        return Err(collected.too_large(path.as_str()));
    }
    let mut bytes = Vec::new();
    entry.take(collected.room() + 1).read_to_end(&mut bytes).map_err(broken)?;
    if bytes.len() as u64 != declared {
        return Err(PackageError::Archive(format!("{path} is cut off")));
    }
    if path.is_left_out() {
        collected.leave_out(&path);
        return Ok(());
    }
    collected.add(path, bytes)
}

/// A header for all that follows may hold a comment and nothing else.
fn comment<R: Read>(entry: &mut Entry<'_, R>, broken: &impl Fn(io::Error) -> PackageError) -> Result<(), PackageError> {
    let mut bytes = Vec::new();
    entry.take(4096).read_to_end(&mut bytes).map_err(broken)?;
    let extensions = tar::PaxExtensions::new(&bytes);
    for extension in extensions {
        if extension.map_err(broken)?.key() != Ok("comment") {
            return Err(PackageError::Archive("it has a header about all files".to_owned()));
        }
    }
    Ok(())
}

/// Packs a package, the same way every time: equal packages are equal archives.
pub fn pack(package: &Package) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    let mut add = |path: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_entry_type(EntryType::Regular);
        archive.append_data(&mut header, Path::new(path), bytes)
    };
    for (path, bytes) in package.files() {
        add(path.as_str(), bytes)?;
    }
    for Enclosed { kind, bytes } in package.signatures() {
        if let Some((name, _)) = ENCLOSED.iter().find(|(_, enclosed)| enclosed == kind) {
            add(name, bytes)?;
        }
    }
    archive.into_inner()?.finish()
}

/// Reads no more than it may, and knows how much it has read.
struct Counted<R> {
    inner: R,
    most: u64,
    spent: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.spent.get() > self.most {
            return Err(io::Error::other("it is too large"));
        }
        let read = self.inner.read(buffer)?;
        self.spent.set(self.spent.get() + read as u64);
        Ok(read)
    }
}
