//! Attempts on files: outside, through every kind of detour, and in the workspace.
#![expect(clippy::disallowed_methods, reason = "a program that tries everything")]

use std::{
    env,
    ffi::CString,
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{PermissionsExt as _, symlink},
        net::UnixListener,
    },
    path::{Path, PathBuf},
};

use crate::{Came, Told, kernel};

pub(crate) fn attempt(name: &str, told: &Told) -> Option<Came> {
    Some(match name {
        "read" => told.outside("secret.txt").and_then(read),
        "read-relative" => read("../outside/secret.txt"),
        "read-after-chdir" => told.outside("folder").and_then(|folder| {
            env::set_current_dir(folder)?;
            read("inner.txt")
        }),
        "read-through-link" => told.outside("secret.txt").and_then(|secret| {
            let link = scratch("link")?;
            symlink(secret, &link)?;
            read(link)
        }),
        "read-through-planted-link" => read("planted"),
        "read-through-hard-link" => told.outside("secret.txt").and_then(|secret| {
            let link = scratch("hard")?;
            fs::hard_link(secret, &link)?;
            read(link)
        }),
        "read-below-root-of-proc" => told.outside("secret.txt").and_then(|path| read(format!("/proc/self/root{path}"))),
        "read-beside-cwd-of-proc" => read("/proc/self/cwd/../outside/secret.txt"),
        "read-through-handle" => told.outside("folder").and_then(|folder| below_handle(&folder)),
        "read-shadow" => read("/etc/shadow"),
        "list" => told.outside("folder").and_then(list),
        "list-home" => told.text("home").and_then(list),
        "list-root" => list("/"),
        "write" => told.outside("secret.txt").and_then(|path| open(OpenOptions::new().write(true), path)),
        "append" => told.outside("secret.txt").and_then(|path| open(OpenOptions::new().append(true), path)),
        "truncate" => told.outside("secret.txt").and_then(|path| truncate(&path)),
        "create" => {
            told.outside("folder/new").and_then(|path| open(OpenOptions::new().write(true).create_new(true), path))
        }
        "make-folder" => told.outside("folder/new").and_then(|path| did(fs::create_dir(path))),
        "make-fifo" => told.outside("folder/new").and_then(|path| fifo(&path)),
        "make-socket" => told.outside("folder/new").and_then(|path| did(UnixListener::bind(path).map(drop))),
        "make-link" => told.outside("folder/new").and_then(|path| did(symlink("/", path))),
        "make-hard-link-outside" => told.outside("folder/new").and_then(|path| did(fs::hard_link("file", path))),
        "remove" => told.outside("secret.txt").and_then(|path| did(fs::remove_file(path))),
        "remove-folder" => told.outside("empty").and_then(|path| did(fs::remove_dir(path))),
        "move-outside" => {
            told.outside("").and_then(|out| did(fs::rename(format!("{out}/secret.txt"), format!("{out}/moved"))))
        }
        "move-out" => told.outside("folder/new").and_then(|path| did(fs::rename("file", path))),
        "move-in" => told.outside("secret.txt").and_then(|path| did(fs::rename(path, "stolen"))),
        "move-into-scratch" => told.outside("secret.txt").and_then(|path| did(fs::rename(path, scratch("stolen")?))),
        "exchange" => told.outside("secret.txt").and_then(|path| exchange(&path, &scratch("mine")?)),
        "change-mode" => told.outside("secret.txt").and_then(|path| mode(path, 0o777)),
        "change-mode-of-folder" => told.outside("folder").and_then(|path| mode(path, 0o777)),
        "change-owner" => told.outside("secret.txt").and_then(|path| owner(&path)),
        "change-times" => told.outside("secret.txt").and_then(|path| times(&path)),
        "change-attributes" => told.outside("secret.txt").and_then(|path| attributes(&path)),
        "execute" => told.outside("program").and_then(|path| run(&path)),
        "change-mode-of-a-system-program" => mode("/usr/bin/env", 0o755),
        // In the workspace.
        "change-inside" => open(OpenOptions::new().append(true), "file"),
        "truncate-inside" => truncate("folder/file"),
        "create-inside" => open(OpenOptions::new().write(true).create_new(true), "new"),
        "create-deep-inside" => open(OpenOptions::new().write(true).create_new(true), "folder/new"),
        "make-folder-inside" => did(fs::create_dir("folder/new")),
        "remove-inside" => did(fs::remove_file("folder/file")),
        "move-inside" => did(fs::rename("folder/file", "folder/moved")),
        "link-inside" => did(symlink("/etc", "folder/link")),
        "hard-link-inside" => did(fs::hard_link("file", "folder/twin")),
        "change-mode-inside" => mode("folder/file", 0o777),
        "change-times-inside" => times("folder/file"),
        "hook" => open(OpenOptions::new().append(true), ".git/hooks/pre-commit"),
        "new-hook" => open(OpenOptions::new().write(true).create_new(true), ".git/hooks/post-merge"),
        "hook-executable" => mode(".git/hooks/pre-commit", 0o755),
        "settings" => open(OpenOptions::new().append(true), ".git/config"),
        "new-settings" => open(OpenOptions::new().write(true).create_new(true), ".envrc"),
        "new-agents" => did(fs::create_dir(".palisade")),
        "new-repository" => did(fs::create_dir("folder/.git")),
        "rename-to-repository" => did(fs::rename("folder", ".claude")),
        "move-repository" => did(fs::rename(".git", "git")),
        // What must work.
        "work-in-scratch" => work(),
        "read-inside" => read("file"),
        "read-hidden" => read("folder/.env"),
        "list-hidden" => list("folder"),
        _ => return None,
    })
}

fn read(path: impl AsRef<Path>) -> Came {
    let mut text = String::new();
    fs::File::open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

fn list(path: impl AsRef<Path>) -> Came {
    let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    Ok(names.collect::<io::Result<Vec<String>>>()?.join(" "))
}

fn open(how: &OpenOptions, path: impl AsRef<Path>) -> Came {
    how.open(path)?.write_all(b"changed")?;
    Ok("changed".to_owned())
}

fn did(result: io::Result<()>) -> Came {
    result.map(|()| "made".to_owned())
}

fn mode(path: impl AsRef<Path>, mode: u32) -> Came {
    did(fs::set_permissions(path, fs::Permissions::from_mode(mode)))
}

fn scratch(name: &str) -> io::Result<PathBuf> {
    let folder = env::var_os("TMPDIR").ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no TMPDIR"))?;
    Ok(PathBuf::from(folder).join(name))
}

fn text(path: impl AsRef<Path>) -> io::Result<CString> {
    Ok(CString::new(path.as_ref().as_os_str().as_bytes())?)
}

fn run(path: &str) -> Came {
    let output = std::process::Command::new(path).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Makes, changes, moves, links and removes in the scratch folder.
fn work() -> Came {
    let (one, two, folder) = (scratch("one")?, scratch("two")?, scratch("folder")?);
    fs::write(&one, "text")?;
    fs::create_dir(&folder)?;
    fs::rename(&one, &two)?;
    fs::hard_link(&two, folder.join("twin"))?;
    symlink(&two, folder.join("link"))?;
    let got = read(folder.join("link"))?;
    fs::remove_file(two)?;
    Ok(got)
}

#[expect(unsafe_code, reason = "calls that have no safe wrapper")]
mod raw {
    use super::*;

    pub(super) fn truncate(path: &str) -> Came {
        // SAFETY: the path ends with zero.
        kernel(unsafe { libc::truncate(text(path)?.as_ptr(), 0) }).map(|_| "truncated".to_owned())
    }

    pub(super) fn fifo(path: &str) -> Came {
        // SAFETY: the path ends with zero.
        kernel(unsafe { libc::mkfifo(text(path)?.as_ptr(), 0o600) }).map(|_| "made".to_owned())
    }

    pub(super) fn owner(path: &str) -> Came {
        // SAFETY: the path ends with zero.
        kernel(unsafe { libc::chown(text(path)?.as_ptr(), libc::getuid(), libc::getgid()) })
            .map(|_| "changed".to_owned())
    }

    pub(super) fn times(path: &str) -> Came {
        let time = libc::timespec { tv_sec: 1, tv_nsec: 0 };
        // SAFETY: the path ends with zero and there are two times.
        kernel(unsafe { libc::utimensat(libc::AT_FDCWD, text(path)?.as_ptr(), [time, time].as_ptr(), 0) })
            .map(|_| "changed".to_owned())
    }

    pub(super) fn attributes(path: &str) -> Came {
        // SAFETY: the texts end with zero, and one byte is there.
        kernel(unsafe { libc::setxattr(text(path)?.as_ptr(), c"user.trespass".as_ptr(), b"x".as_ptr().cast(), 1, 0) })
            .map(|_| "changed".to_owned())
    }

    pub(super) fn exchange(one: &str, two: &Path) -> Came {
        fs::write(two, "mine")?;
        let (one, two) = (text(one)?, text(two)?);
        // SAFETY: the paths end with zero.
        kernel(unsafe {
            libc::renameat2(libc::AT_FDCWD, one.as_ptr(), libc::AT_FDCWD, two.as_ptr(), libc::RENAME_EXCHANGE)
        })
        .map(|_| "exchanged".to_owned())
    }

    /// A handle that allows nothing but to be a place to start from.
    pub(super) fn below_handle(folder: &str) -> Came {
        // SAFETY: the path ends with zero; the descriptor is owned from here on.
        let handle = kernel(unsafe { libc::open(text(folder)?.as_ptr(), libc::O_PATH) })?;
        // SAFETY: the name ends with zero.
        let file = kernel(unsafe { libc::openat(handle as i32, c"inner.txt".as_ptr(), libc::O_RDONLY) })?;
        // SAFETY: the descriptor was just opened and belongs to nobody else.
        let mut file: fs::File = unsafe { std::os::fd::FromRawFd::from_raw_fd(file as i32) };
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(text)
    }
}

use raw::{attributes, below_handle, exchange, fifo, owner, times, truncate};
