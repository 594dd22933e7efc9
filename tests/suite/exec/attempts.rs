//! A table of attempts: each is refused behind the walls, in a reading and in a writing agent, with namespaces and
//! without; nothing outside is seen or changed; and each is possible without the walls.

use std::{
    fs::File,
    net::{TcpListener, UdpSocket},
    os::{
        fd::AsRawFd as _,
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixDatagram, UnixListener},
    },
    process::{Child, Command, Stdio},
};

use palisade_tests::world::World;

use super::{MACHINES, Stage, furnished, ran};

/// Attempts that anybody can make who is not behind walls.
const ANYBODY: [&str; 62] = [
    "read",
    "read-relative",
    "read-after-chdir",
    "read-through-link",
    "read-through-planted-link",
    "read-through-hard-link",
    "read-below-root-of-proc",
    "read-beside-cwd-of-proc",
    "read-through-handle",
    "list",
    "list-home",
    "list-root",
    "write",
    "append",
    "truncate",
    "create",
    "make-folder",
    "make-fifo",
    "make-socket",
    "make-link",
    "make-hard-link-outside",
    "remove",
    "remove-folder",
    "move-outside",
    "move-out",
    "move-in",
    "move-into-scratch",
    "exchange",
    "change-mode",
    "change-mode-of-folder",
    "change-owner",
    "change-times",
    "execute",
    "create-inside",
    "create-deep-inside",
    "make-folder-inside",
    "remove-inside",
    "move-inside",
    "link-inside",
    "hard-link-inside",
    "hook",
    "new-hook",
    "hook-executable",
    "settings",
    "new-settings",
    "new-agents",
    "new-repository",
    "rename-to-repository",
    "move-repository",
    "connect",
    "listen",
    "send",
    "connect-named",
    "connect-abstract",
    "listen-abstract",
    "send-named",
    "send-named-from-a-pair",
    "environment-of-another",
    "arguments-of-another",
    "file-of-another",
    "signal",
    "type",
];

/// Attempts that need a privilege, or a kernel that has what they want: without walls they may or may not work.
const SOME: [&str; 37] = [
    "read-shadow",
    "change-attributes",
    "new-user",
    "new-mounts",
    "child-with-new-user",
    "chroot",
    "bpf",
    "perf",
    "keyring",
    "add-key",
    "userfaultfd",
    "io-uring",
    "memory-file",
    "watch",
    "fanotify",
    "shared-memory",
    "large-file",
    "terminal",
    "many-files",
    "listen-everywhere",
    "netlink",
    "packet",
    "raw",
    "machine-socket",
    "crypto-socket",
    "environment-of-the-first",
    "memory-of-another",
    "read-memory",
    "trace",
    "signal-through-handle",
    "take-descriptor",
    "lower-limits",
    "slow-down",
    "pin",
    "become-root",
    "end",
    "descriptors",
];

/// Attempts that would harm this machine if they worked, so they are only made behind walls.
const NEVER: [&str; 3] = ["change-mode-of-a-system-program", "hostname", "mount"];

/// Attempts that are refused only where the workspace is read-only.
const READ_ONLY: [&str; 4] = ["change-inside", "truncate-inside", "change-mode-inside", "change-times-inside"];

/// Every attempt that is refused wherever nothing may be changed.
pub(crate) fn attempts() -> impl Iterator<Item = &'static str> {
    ANYBODY.iter().chain(&SOME).chain(&NEVER).copied()
}

/// Whom a program could speak to, and a process that it could harm.
pub(crate) struct Others {
    tcp: TcpListener,
    udp: UdpSocket,
    named: UnixListener,
    hidden: UnixListener,
    datagrams: UnixDatagram,
    victim: Child,
    held: File,
    told: Vec<String>,
}

impl Others {
    pub(crate) fn beside(world: &World) -> Self {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let named = UnixListener::bind(world.outside("socket")).unwrap();
        let datagrams = UnixDatagram::bind(world.outside("datagrams")).unwrap();
        let name = format!("palisade-{}", world.canary());
        let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        for socket in [&named, &hidden] {
            socket.set_nonblocking(true).unwrap();
        }
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        datagrams.set_nonblocking(true).unwrap();
        let victim = Command::new(env!("CARGO_BIN_EXE_trespass-for-tests"))
            .args(["sleep", &format!("mark={}", world.canary())])
            .env_clear()
            .env("SECRET", world.canary())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let held = File::open(world.outside("secret.txt")).unwrap();
        let told = vec![
            format!("outside={}", world.outside("").display().to_string().trim_end_matches('/')),
            format!("home={}", world.outside("folder").display()),
            format!("tcp={}", tcp.local_addr().unwrap().port()),
            format!("udp={}", udp.local_addr().unwrap().port()),
            format!("socket={}", world.outside("socket").display()),
            format!("datagrams={}", world.outside("datagrams").display()),
            format!("abstract={name}"),
            format!("victim={}", victim.id()),
            format!("held=/proc/{}/fd/{}", std::process::id(), held.as_raw_fd()),
        ];
        Self { tcp, udp, named, hidden, datagrams, victim, held, told }
    }

    /// What an attempt is told.
    pub(crate) fn told(&self) -> &[String] {
        &self.told
    }

    /// Asserts that nobody has heard of the program and that the victim lives.
    pub(crate) fn untouched(&mut self, attempt: &str) {
        let mut byte = [0];
        assert!(self.tcp.accept().is_err(), "{attempt} connected");
        assert!(self.named.accept().is_err() && self.hidden.accept().is_err(), "{attempt} connected");
        assert!(self.udp.recv(&mut byte).is_err() && self.datagrams.recv(&mut byte).is_err(), "{attempt} sent");
        assert!(self.victim.try_wait().unwrap().is_none(), "{attempt} ended another process");
        assert!(self.held.metadata().is_ok(), "{attempt} took a file away");
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

fn refused(world: &World, others: &mut Others, attempt: &str) {
    let told: Vec<&str> = [attempt].into_iter().chain(others.told.iter().map(String::as_str)).collect();
    let said = ran(world, "trespass", &told);
    let is_refused = said.contains("\nrefused: ") || said.starts_with("exit code: none");
    assert!(is_refused && !said.contains("done: "), "{attempt} was done: {said}");
    others.untouched(attempt);
}

/// X11, X6, TOOL-08. 105 attempts.
#[test]
fn a_reading_agents_programs_see_and_change_nothing_outside() {
    let stage = Stage::new();
    for namespaces in MACHINES {
        let world = stage.world(namespaces, &[]).reading();
        let mut others = Others::beside(&world);
        let inside = world.tree();
        for attempt in ANYBODY.iter().chain(&SOME).chain(&NEVER).chain(&READ_ONLY) {
            refused(&world, &mut others, attempt);
            assert_eq!(inside, world.tree(), "{attempt} changed the workspace");
        }
    }
}

/// X11, TOOL-08. What may be written are the files that are there, and never what decides over what runs later.
#[test]
fn a_writing_agents_programs_change_files_that_are_there_and_nothing_else() {
    let stage = Stage::new();
    for namespaces in MACHINES {
        let world = stage.world(namespaces, &[]);
        let mut others = Others::beside(&world);
        let inside = world.tree();
        for attempt in ANYBODY.iter().chain(&SOME).chain(&NEVER) {
            refused(&world, &mut others, attempt);
            assert_eq!(inside, world.tree(), "{attempt} changed the workspace");
        }
        for attempt in &READ_ONLY[..2] {
            assert!(ran(&world, "trespass", &[attempt]).contains("done: "), "{attempt}");
        }
        assert_eq!((world.contents("file"), world.contents("folder/file")), ("minechanged".to_owned(), String::new()));
    }
}

/// The control: without walls every attempt is done, so it is the walls that refuse it.
#[test]
fn without_walls_every_attempt_is_done() {
    let shared = World::new();
    for attempt in ANYBODY.iter().chain(&SOME).chain(&READ_ONLY) {
        let world = furnished(shared.neighbour());
        let others = Others::beside(&world);
        let scratch = tempfile::tempdir_in(world.outside("")).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_trespass-for-tests"))
            .arg(attempt)
            .args(&others.told)
            .current_dir(world.workspace())
            .env("TMPDIR", scratch.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(!said.contains("wrong: "), "{attempt}: {said}");
        assert!(said.contains("done: ") || SOME.contains(attempt), "{attempt}: {said}");
    }
}
