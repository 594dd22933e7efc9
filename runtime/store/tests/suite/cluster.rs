//! A Postgres server of this test process alone, in a temporary folder, reached by a socket in that folder. It ends
//! with the process, however that ends, and the folder with it.
//!
//! Databases belong to a role without special rights, as they should where tenants share them: row-level security
//! does not hold for a superuser.

use std::{
    fs,
    io::Write,
    os::unix::fs::{MetadataExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use sqlx::{Connection, Executor, PgConnection};

/// The address of a new, empty database; nothing if there is no Postgres here, which is said.
pub(crate) async fn database() -> Option<String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let folder = cluster()?;
    let name = format!("test{}", NUMBER.fetch_add(1, Ordering::SeqCst));
    let mut connection = PgConnection::connect(&address(folder, "administrator", "postgres")).await.unwrap();
    connection.execute(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name} OWNER palisade"))).await.unwrap();
    Some(address(folder, "palisade", &name))
}

/// The address of the same database for a superuser.
pub(crate) fn for_administrator(address: &str) -> String {
    address.replacen("palisade@", "administrator@", 1)
}

/// The socket that the server listens on.
pub(crate) fn socket() -> Option<PathBuf> {
    cluster().map(|folder| folder.join(".s.PGSQL.5432"))
}

fn address(folder: &Path, role: &str, name: &str) -> String {
    format!("postgres://{role}@localhost/{name}?host={}", folder.display())
}

fn cluster() -> Option<&'static Path> {
    static CLUSTER: OnceLock<Option<(PathBuf, Child)>> = OnceLock::new();
    CLUSTER.get_or_init(start).as_ref().map(|(folder, _)| folder.as_path())
}

fn start() -> Option<(PathBuf, Child)> {
    let Some(programs) = programs() else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "Postgres is not here; install postgresql");
        eprintln!("SKIPPED: Postgres is not here; install postgresql to test against it");
        return None;
    };
    let folder = tempfile::Builder::new().prefix("palisade-postgres").tempdir().unwrap().keep();
    // Postgres refuses to run as root.
    let user = (fs::metadata("/proc/self").unwrap().uid() == 0).then(unprivileged);
    if let Some((user, group)) = user {
        chown(&folder, Some(user), Some(group)).unwrap();
    }
    let command = |script: &str| {
        let mut command = match user {
            Some((user, group)) => {
                let mut command = Command::new("setpriv");
                command.arg(format!("--reuid={user}")).arg(format!("--regid={group}")).args(["--clear-groups", "sh"]);
                command
            }
            None => Command::new("sh"),
        };
        command.args(["-euc", script]).arg(&folder).arg(&programs).current_dir(&folder);
        command
    };
    let script = r#""$1/initdb" -D "$0/data" -U administrator --auth=trust -E UTF8 --locale=C --no-sync
        echo 'CREATE ROLE palisade LOGIN' | "$1/postgres" --single -D "$0/data" postgres"#;
    let made = command(script).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    // The end of its input is the end of this process.
    let script = r#"exec 3<&0
        "$1/postgres" -D "$0/data" -k "$0" -c listen_addresses= -c max_connections=200 </dev/null 3<&- &
        server=$!
        read -r _ <&3 || true
        kill -QUIT "$server"; wait "$server" || true
        cd /; rm -rf "$0""#;
    let log = fs::File::create(folder.join("log")).unwrap();
    let mut server = command(script).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
    for _ in 0..600 {
        let state = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap_or_default();
        if state.lines().any(|line| line.trim() == "ready") {
            return Some((folder, server));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    server.stdin.take().unwrap().write_all(b"\n").unwrap();
    server.wait().unwrap();
    panic!("Postgres does not start: {}", fs::read_to_string(folder.join("log")).unwrap_or_default());
}

/// Where the programs of the newest Postgres are.
fn programs() -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|version| Some(version.ok()?.path().join("bin")))
        .collect();
    folders.sort();
    folders.reverse();
    folders.extend(["/usr/local/bin", "/usr/bin", "/opt/homebrew/bin"].map(PathBuf::from));
    folders.into_iter().find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
}

/// A user without rights, and its group.
fn unprivileged() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let find = |name: &str| {
        let fields: Vec<&str> = users.lines().find(|line| line.starts_with(&format!("{name}:")))?.split(':').collect();
        Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
    };
    find("postgres").or_else(|| find("nobody")).expect("there is neither a user postgres nor nobody")
}
