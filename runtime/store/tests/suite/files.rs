//! Files of SQLite: who may read them, and what happens to those that are not what they should be.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use palisade_agent::{Listing, Store, StoreError};
use palisade_store::Sqlite;
use sqlx::{Connection, Executor, SqliteConnection};
use tempfile::TempDir;

use crate::said::{answered, batch, begun, key, numbers, session, user};

fn beside(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

fn all() -> Listing {
    Listing { tenant: "a".into(), ..Listing::default() }
}

/// A database with some sessions, closed.
async fn closed() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Sqlite::open(&path).await.unwrap();
    for id in 0..20 {
        let lease = begun(&store, "a", &format!("s{id}")).await;
        store.record(&lease, &batch(vec![user(&"words ".repeat(200))])).await.unwrap();
        store.end(&lease, &answered(1)).await.unwrap();
    }
    store.close().await.unwrap();
    assert!(!beside(&path, "-wal").exists());
    (folder, path)
}

/// What is left of a database with sessions `s0` to `s9` when its process is killed: its file holds the tables,
/// its log all of the sessions.
async fn killed() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Sqlite::open(&path).await.unwrap();
    for id in 0..10 {
        store.create(session("a", &format!("s{id}"))).await.unwrap();
    }
    let left = tempfile::tempdir().unwrap();
    for file in fs::read_dir(&folder).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), left.path().join(file.file_name())).unwrap();
    }
    let path = left.path().join("store.db");
    assert!(beside(&path, "-wal").exists() && beside(&path, "-shm").exists());
    (left, path)
}

/// Opening is refused, and nothing is made or changed.
async fn refused(path: &Path) -> String {
    let before = fs::read(path).ok();
    let error = Sqlite::open(path).await.map(drop).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
    assert_eq!(fs::read(path).ok(), before, "the file is as it was");
    error.to_string()
}

#[tokio::test]
async fn only_the_owner_may_read_what_was_said() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("deep/folder/store.db");
    let store = Sqlite::open(&path).await.unwrap();
    store.create(session("a", "s")).await.unwrap();
    store.session(&key("a", "s")).await.unwrap();
    for folder in ["deep", "deep/folder"] {
        assert_eq!(mode(&outer.path().join(folder)), 0o700, "{folder}");
    }
    let files: Vec<PathBuf> = fs::read_dir(path.parent().unwrap()).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    store.close().await.unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let error = Sqlite::open(&path).await.map(drop).unwrap_err();
    assert!(error.to_string().contains("chmod 600"), "{error}");
}

/// STO-08
#[tokio::test]
async fn what_is_no_database_is_refused_and_left_alone() {
    let (_folder, path) = closed().await;
    let whole = fs::read(&path).unwrap();
    let contents: [(&str, Vec<u8>); 6] = [
        ("nothing", Vec::new()),
        ("a few bytes", whole[..50].to_vec()),
        ("its first half", whole[..whole.len() / 2].to_vec()),
        ("all but its last page", whole[..whole.len() - 4096].to_vec()),
        ("a text", b"hello ".repeat(1000)),
        ("zeros", vec![0; whole.len()]),
    ];
    for (what, content) in contents {
        fs::write(&path, content).unwrap();
        println!("{what}: {}", refused(&path).await);
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let error = Sqlite::open(&path).await.map(drop).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
    let files = fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(files, 1, "nothing was put beside it");
}

/// STO-08: whichever byte is flipped, what was stored is there, or the damage is told. Never is there less.
#[tokio::test]
async fn flipped_bytes_never_make_sessions_vanish_silently() {
    let (_folder, path) = closed().await;
    let whole = fs::read(&path).unwrap();
    let (mut told, mut harmless) = (0, 0);
    for place in (0..100).chain((100..whole.len()).step_by(whole.len() / 150)) {
        let mut damaged = whole.clone();
        damaged[place] ^= 0xff;
        fs::write(&path, &damaged).unwrap();
        let found = async {
            let store = Sqlite::open(&path).await?;
            let sessions = store.sessions(&all()).await?;
            for session in &sessions {
                let key = key("a", &session.id);
                store.last_run(&key).await?;
                if store.entries(&key, 0, 10).await?.len() != 2 {
                    return Err(StoreError::Invalid(format!("{key:?} lacks entries")));
                }
            }
            store.close().await?;
            Ok(sessions.len())
        };
        match found.await {
            Ok(sessions) => {
                assert_eq!(sessions, 20, "byte {place}");
                harmless += 1;
            }
            Err(StoreError::Corrupt(_) | StoreError::Unavailable(_)) => told += 1,
            Err(error) => panic!("byte {place}: {error}"),
        }
        for ending in ["-wal", "-shm"] {
            drop(fs::remove_file(beside(&path, ending)));
        }
    }
    println!("{told} told, {harmless} harmless");
    assert!(told > 0);
}

/// STO-08: what was stored last may be in the log alone.
#[tokio::test]
async fn a_lost_or_damaged_log_is_not_passed_over() {
    let (_folder, path) = killed().await;
    let log = beside(&path, "-wal");
    let whole = fs::read(&log).unwrap();

    fs::remove_file(&log).unwrap();
    println!("{}", refused(&path).await);
    for damage in [0, 3, 9, 17, 25, 40, 200, 5000] {
        let mut damaged = whole.clone();
        damaged[damage] ^= 0x55;
        fs::write(&log, &damaged).unwrap();
        println!("byte {damage}: {}", refused(&path).await);
        assert_eq!(fs::read(&log).unwrap(), damaged, "the log is as it was");
    }
    // The file is gone and the log is there: a new file would be filled with what is in the log.
    fs::write(&log, &whole).unwrap();
    let file = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    println!("{}", refused(&path).await);

    fs::write(&path, file).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let store = Sqlite::open(&path).await.unwrap();
    assert_eq!(store.sessions(&all()).await.unwrap().len(), 10);
}

/// STO-01: what a power cut leaves of a transaction that nobody was told of is no damage.
#[tokio::test]
async fn a_log_that_was_cut_off_loses_only_what_was_not_acknowledged() {
    let (_folder, path) = killed().await;
    let (log, shared) = (beside(&path, "-wal"), beside(&path, "-shm"));
    let (file, whole) = (fs::read(&path).unwrap(), fs::read(&log).unwrap());
    for cut in [0, 10, 32, 1000, whole.len() / 2, whole.len() - 1, whole.len() - 5000] {
        fs::write(&path, &file).unwrap();
        fs::write(&log, &whole[..cut]).unwrap();
        drop(fs::remove_file(&shared));
        let store = Sqlite::open(&path).await.unwrap();
        let sessions = store.sessions(&all()).await.unwrap();
        let expected: Vec<String> = (0..sessions.len()).rev().map(|id| format!("s{id}")).collect();
        let found: Vec<String> = sessions.into_iter().map(|session| session.id).collect();
        assert_eq!(found, expected, "cut at {cut}: those that came first");
        store.create(session("a", "another")).await.unwrap();
        store.close().await.unwrap();
    }
}

/// STO-08, STO-09
#[tokio::test]
async fn a_database_of_another_program_or_of_a_newer_version_is_refused() {
    let (_folder, path) = closed().await;
    let mut connection = SqliteConnection::connect(&format!("sqlite:{}", path.display())).await.unwrap();
    connection.execute("UPDATE palisade_version SET version = 99").await.unwrap();
    connection.close().await.unwrap();
    let error = Sqlite::open(&path).await.map(drop).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");

    let mut connection = SqliteConnection::connect(&format!("sqlite:{}", path.display())).await.unwrap();
    connection.execute("UPDATE palisade_version SET version = 4").await.unwrap();
    connection.close().await.unwrap();
    let store = Sqlite::open(&path).await.unwrap();
    assert_eq!(numbers(&store, &key("a", "s3")).await, [1, 2]);
    store.close().await.unwrap();

    let mut connection = SqliteConnection::connect(&format!("sqlite:{}", path.display())).await.unwrap();
    connection.execute("PRAGMA application_id = 7").await.unwrap();
    connection.close().await.unwrap();
    println!("{}", refused(&path).await);
}

/// STO-06
#[tokio::test]
async fn a_full_disk_is_told_and_nothing_is_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Sqlite::open(&path).await.unwrap();
    let lease = begun(&store, "a", "s").await;
    let key = key("a", "s");
    let much = || batch(vec![user(&"x".repeat(20_000))]);
    store.limit(400_000).await.unwrap();
    let mut acknowledged = 1;
    let error = loop {
        match store.record(&lease, &much()).await {
            Ok(()) => acknowledged += 1,
            Err(error) => break error,
        }
        assert!(acknowledged < 1000, "it never became full");
    };
    assert!(matches!(error, StoreError::Full(_)) && error.is_passing(), "{error}");
    assert!(acknowledged > 2);
    for _ in 0..3 {
        let again = store.record(&lease, &much()).await;
        assert!(matches!(again, Err(StoreError::Full(_))), "{again:?}");
        assert_eq!(numbers(&store, &key).await.len(), acknowledged, "what was refused is not there");
    }
    store.limit(4_000_000).await.unwrap();
    store.record(&lease, &much()).await.unwrap();
    store.end(&lease, &answered(1)).await.unwrap();
    store.close().await.unwrap();
    let store = Sqlite::open(&path).await.unwrap();
    assert_eq!(numbers(&store, &key).await.len(), acknowledged + 1);
}

/// STO-07
#[tokio::test]
async fn two_that_have_the_same_file_open_share_it() {
    let (_folder, path) = closed().await;
    let (one, other) = (Sqlite::open(&path).await.unwrap(), Sqlite::open(&path).await.unwrap());
    let lease = begun(&one, "a", "shared").await;
    assert_eq!(numbers(&other, &key("a", "shared")).await, [1]);
    let (first, second) = tokio::join!(
        async {
            for _ in 0..20 {
                one.record(&lease, &batch(vec![user("more")])).await.unwrap();
            }
        },
        async {
            for id in 0..20 {
                other.create(session("a", &format!("n{id}"))).await.unwrap();
            }
        }
    );
    let ((), ()) = (first, second);
    assert_eq!(numbers(&other, &key("a", "shared")).await.len(), 21);
    assert_eq!(one.sessions(&all()).await.unwrap().len(), 41);
}

/// STO-16
#[tokio::test]
async fn adding_to_a_long_session_costs_what_adding_to_a_short_one_costs() {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(folder.path().join("store.db")).await.unwrap();
    let entry = |number| palisade_agent::Numbered { number, at: jiff::Timestamp::UNIX_EPOCH, entry: user("words") };
    let long: Vec<_> = (1..=100_000).map(entry).collect();
    store.import(session("a", "long"), &long).await.unwrap();
    store.create(session("a", "short")).await.unwrap();
    let mut times = [Vec::new(), Vec::new()];
    let leases = [
        store.begin(crate::said::run(&key("a", "long"), "x", vec![])).await.unwrap(),
        store.begin(crate::said::run(&key("a", "short"), "x", vec![])).await.unwrap(),
    ];
    for _ in 0..60 {
        for (lease, times) in leases.iter().zip(&mut times) {
            let start = std::time::Instant::now();
            store.record(lease, &batch(vec![user("more")])).await.unwrap();
            times.push(start.elapsed());
        }
    }
    let [long, short] = times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    });
    println!("long {long:?}, short {short:?}");
    assert!(long < short * 3, "{long:?} against {short:?}");
    let last = store.entries(&key("a", "long"), 100_000, 1000).await.unwrap();
    assert_eq!(last.len(), 60);
}
