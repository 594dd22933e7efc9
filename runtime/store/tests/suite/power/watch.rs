//! Watches what SQLite does to files: a layer in front of its own way to them that writes down every write, every
//! truncation, every wait for the disk and every removal, in their order. It is there for the whole process and minds
//! only files in folders that were made for it.

#![expect(unsafe_code, reason = "SQLite takes such a layer through its C interface only")]

use std::{
    collections::BTreeMap,
    ffi::{CStr, c_char, c_int, c_void},
    fs,
    path::Path,
    ptr, slice,
    sync::{
        Mutex, Once,
        atomic::{AtomicPtr, Ordering},
    },
};

use libsqlite3_sys::{
    SQLITE_OK, sqlite3_file, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs, sqlite3_vfs_find, sqlite3_vfs_register,
};
use tempfile::TempDir;

/// One thing that happened to a file, or that somebody was told.
#[derive(Clone, Debug)]
pub(super) struct Happened {
    /// The file.
    pub(super) path: String,
    pub(super) what: What,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// It was opened for the first time, and was there before, with this in it.
    Found(Vec<u8>),
    /// It was made.
    Made,
    Written {
        at: usize,
        bytes: Vec<u8>,
    },
    Truncated(usize),
    /// All of it is on the disk, and so is its name.
    Synced,
    /// It was removed; whether that is on the disk is said.
    Removed {
        lasts: bool,
    },
    /// A step of this number was acknowledged.
    Acknowledged(usize),
}

/// What folders are called that are watched.
const WATCHED: &str = "power-watched-";
/// What folders are called in which nobody waits for the disk.
const HASTY: &str = "power-hasty-";

static BELOW: AtomicPtr<sqlite3_vfs> = AtomicPtr::new(ptr::null_mut());
static LOG: Mutex<Vec<Happened>> = Mutex::new(Vec::new());
/// Which file a handle is of.
static HANDLES: Mutex<BTreeMap<usize, Handle>> = Mutex::new(BTreeMap::new());

/// A file that is open.
#[derive(Clone)]
struct Handle {
    path: String,
    /// How it is used below this layer.
    below: &'static sqlite3_io_methods,
}

/// A folder that is watched.
pub(super) fn watched() -> TempDir {
    install();
    tempfile::Builder::new().prefix(WATCHED).tempdir().unwrap()
}

/// A folder in which nobody waits for the disk, so that many can be looked at.
pub(super) fn hasty() -> TempDir {
    install();
    tempfile::Builder::new().prefix(HASTY).tempdir().unwrap()
}

/// Writes down that a step was acknowledged.
pub(super) fn acknowledged(folder: &TempDir, step: usize) {
    note(folder.path().to_str().unwrap().to_owned(), What::Acknowledged(step));
}

/// All that happened in a folder.
pub(super) fn happened(folder: &TempDir) -> Vec<Happened> {
    let folder = folder.path().to_str().unwrap();
    LOG.lock().unwrap().iter().filter(|happened| happened.path.starts_with(folder)).cloned().collect()
}

fn note(path: String, what: What) {
    LOG.lock().unwrap().push(Happened { path, what });
}

fn install() {
    static ONCE: Once = Once::new();
    // SAFETY: the structure that is found lives for as long as the process, and so does the copy, which differs in
    // its name and in two functions of the same types.
    ONCE.call_once(|| unsafe {
        let below = sqlite3_vfs_find(ptr::null());
        BELOW.store(below, Ordering::SeqCst);
        let mut layer = *below;
        layer.pNext = ptr::null_mut();
        layer.zName = c"watched".as_ptr();
        layer.xOpen = Some(open);
        layer.xDelete = Some(remove);
        assert_eq!(sqlite3_vfs_register(Box::leak(Box::new(layer)), 1), SQLITE_OK);
    });
}

/// Opens a file. One in a folder of ours is used through this layer from then on.
unsafe extern "C" fn open(
    _: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let path = unsafe { path(name) };
    let is_watched = path.contains(WATCHED);
    let is_new = is_watched && !is_known(&path);
    let before = if is_new { fs::read(Path::new(&path)).ok() } else { None };
    let below = BELOW.load(Ordering::SeqCst);
    // SAFETY: the arguments are those that SQLite gave, for the layer that made them up.
    let (code, methods) = unsafe { ((*below).xOpen.unwrap()(below, name, file, flags, out), (*file).pMethods) };
    if code != SQLITE_OK || methods.is_null() || !(is_watched || path.contains(HASTY)) {
        return code;
    }
    // SAFETY: the methods that are found live for as long as the process, and so do the others. The handle is used
    // by nobody else yet.
    let below = unsafe {
        let below: &'static sqlite3_io_methods = &*methods;
        let through =
            sqlite3_io_methods { xWrite: Some(write), xTruncate: Some(truncate), xSync: Some(sync), ..*below };
        (*file).pMethods = Box::leak(Box::new(through));
        below
    };
    HANDLES.lock().unwrap().insert(file as usize, Handle { path: path.clone(), below });
    match before {
        Some(content) => note(path, What::Found(content)),
        None if is_new => note(path, What::Made),
        None => {}
    }
    code
}

unsafe extern "C" fn remove(_: *mut sqlite3_vfs, name: *const c_char, lasts: c_int) -> c_int {
    let path = unsafe { path(name) };
    let below = BELOW.load(Ordering::SeqCst);
    // SAFETY: the arguments are those that SQLite gave.
    let code = unsafe { (*below).xDelete.unwrap()(below, name, lasts) };
    if code == SQLITE_OK && path.contains(WATCHED) {
        note(path, What::Removed { lasts: lasts != 0 });
    }
    code
}

unsafe extern "C" fn write(file: *mut sqlite3_file, bytes: *const c_void, count: c_int, at: sqlite3_int64) -> c_int {
    // SAFETY: SQLite gives as many bytes as it says.
    let written = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), usize::try_from(count).unwrap()) };
    let below = tell(file, || What::Written { at: usize::try_from(at).unwrap(), bytes: written.to_vec() });
    // SAFETY: the arguments are those that SQLite gave.
    unsafe { below.xWrite.unwrap()(file, bytes, count, at) }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, length: sqlite3_int64) -> c_int {
    let below = tell(file, || What::Truncated(usize::try_from(length).unwrap()));
    // SAFETY: the arguments are those that SQLite gave.
    unsafe { below.xTruncate.unwrap()(file, length) }
}

/// Nobody waits for the real disk: the power is cut in what was written down.
unsafe extern "C" fn sync(file: *mut sqlite3_file, _: c_int) -> c_int {
    tell(file, || What::Synced);
    SQLITE_OK
}

/// Writes down what happens to a file, if it is watched; says how it is used below this layer.
fn tell(file: *mut sqlite3_file, what: impl FnOnce() -> What) -> &'static sqlite3_io_methods {
    let Handle { path, below } = HANDLES.lock().unwrap()[&(file as usize)].clone();
    if path.contains(WATCHED) {
        note(path, what());
    }
    below
}

/// The path that SQLite means; nothing for files that have no name.
unsafe fn path(name: *const c_char) -> String {
    if name.is_null() {
        return String::new();
    }
    // SAFETY: a name that is there ends with a zero.
    unsafe { CStr::from_ptr(name) }.to_str().unwrap().to_owned()
}

/// Whether it was written down that a file is there.
fn is_known(path: &str) -> bool {
    let log = LOG.lock().unwrap();
    let last = log.iter().rev().filter(|happened| happened.path == path).find_map(|happened| match happened.what {
        What::Found(_) | What::Made => Some(true),
        What::Removed { .. } => Some(false),
        _ => None,
    });
    last.unwrap_or(false)
}
