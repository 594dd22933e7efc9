//! Processes that are killed, and processes that want the same. Each is this program again, told what to do by a
//! word in its environment.

mod serving;

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Mutex,
};

use palisade_agent::{Change, Listing, Span, Store, StoreError, UsageQuery, at_instants};
use palisade_store::{INSTANTS, Kept, SERVER_INSTANTS, SPACE_INSTANTS, Space, Spaces as _, Sqlite, this_process};

use crate::said::{LASTS, answered, batch, begun, key, message, numbers, run, session, user};

/// Starts this program again as somebody who plays `part` with the database at `path`.
fn start(part: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::a_part_in_another_test", "--ignored", "--nocapture"])
        .env("PALISADE_STORE_PART", part)
        .env("PALISADE_STORE_PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The next line that a child says with the mark of this file.
fn hear(lines: &mut impl BufRead) -> Option<String> {
    lines.lines().map_while(Result::ok).find_map(|line| line.split_once("said: ").map(|(_, said)| said.to_owned()))
}

#[tokio::test]
#[ignore = "it is started by other tests"]
async fn a_part_in_another_test() {
    let [part, path] =
        ["PALISADE_STORE_PART", "PALISADE_STORE_PATH"].map(|name| std::env::var(name).unwrap_or_default());
    match part.split_once(' ') {
        None if part == "hold" => hold(Path::new(&path)).await,
        Some(("claim", run)) => claim(Path::new(&path), run).await,
        Some(("keep", name)) => keep(Path::new(&path), name).await,
        Some(("die", instant)) => {
            *DIES_AT.lock().unwrap() = instants().find(|known| *known == instant);
            at_instants(|instant| {
                if *DIES_AT.lock().unwrap() == Some(instant) {
                    Command::new("kill").args(["-9", &std::process::id().to_string()]).status().unwrap();
                }
            });
            do_everything(Path::new(&path), |said| println!("said: {said}")).await;
        }
        _ => {}
    }
}

/// All instants.
fn instants() -> impl Iterator<Item = &'static str> {
    INSTANTS.iter().chain(SPACE_INSTANTS).chain(SERVER_INSTANTS).copied()
}

static DIES_AT: Mutex<Option<&str>> = Mutex::new(None);

/// Begins a run and waits.
async fn hold(path: &Path) {
    let store = Sqlite::open(path).await.unwrap();
    store.create(session("a", "s")).await.unwrap();
    let lease = store.begin(run(&key("a", "s"), this_process(), vec![user("hello")])).await.unwrap();
    println!("said: {}", lease.run);
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// Claims a run when it is told to, and says how that went.
async fn claim(path: &Path, run: &str) {
    let store = Sqlite::open(path).await.unwrap();
    println!("said: ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    match store.claim("a", run, this_process(), LASTS).await {
        Ok(lease) => {
            store.record(&lease, &batch(vec![user(this_process())])).await.unwrap();
            println!("said: won");
        }
        Err(StoreError::Busy { .. }) => println!("said: busy"),
        Err(error) => println!("said: {error}"),
    }
    // A process that is gone loses what it won.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn space() -> Space {
    Space { tenant: "a".into(), name: "plugin".into() }
}

/// What each value of [`keep`] counts for, and how many all together may be kept.
const SIZE: usize = 10;
const ROOM: u64 = 300;

/// Keeps as many values as there is room for when it is told to, and says how many that were.
async fn keep(path: &Path, name: &str) {
    let store = Sqlite::open(path).await.unwrap();
    println!("said: ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let mut kept = 0;
    loop {
        let key = format!("{name}{kept:03}");
        match store.keep(&space(), &key, &vec![7; SIZE - key.len()], ROOM).await.unwrap() {
            Kept::Yes => kept += 1,
            Kept::Full => break,
        }
    }
    println!("said: {kept}");
    // What was said to be kept is, however this ends.
    Command::new("kill").args(["-9", &std::process::id().to_string()]).status().unwrap();
}

#[tokio::test]
async fn two_processes_that_keep_values_at_once_lose_nothing_and_stay_within_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    Sqlite::open(&path).await.unwrap().close().await.unwrap();
    let mut keepers: Vec<_> = ["x", "y"].iter().map(|name| start(&format!("keep {name}"), &path)).collect();
    let mut voices: Vec<_> = keepers.iter_mut().map(|keeper| BufReader::new(keeper.stdout.take().unwrap())).collect();
    for voice in &mut voices {
        assert_eq!(hear(voice).as_deref(), Some("ready"));
    }
    for keeper in &mut keepers {
        use std::io::Write;
        keeper.stdin.as_mut().unwrap().write_all(b"now\n").unwrap();
    }
    let said: Vec<usize> = voices.iter_mut().map(|voice| hear(voice).unwrap().parse().unwrap()).collect();
    for keeper in &mut keepers {
        keeper.wait().unwrap();
    }
    let store = Sqlite::open(&path).await.unwrap();
    let counted = [store.keys(&space(), "x").await.unwrap().len(), store.keys(&space(), "y").await.unwrap().len()];
    assert_eq!(counted[..], said[..]);
    assert_eq!(said.iter().sum::<usize>() * SIZE, usize::try_from(ROOM).unwrap());
}

/// STO-12
#[tokio::test]
async fn of_two_processes_that_take_over_a_run_one_wins() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut holder = start("hold", &path);
    let run = hear(&mut BufReader::new(holder.stdout.take().unwrap())).unwrap();
    let store = Sqlite::open(&path).await.unwrap();
    let busy = store.claim("a", &run, this_process(), LASTS).await;
    assert!(matches!(busy, Err(StoreError::Busy { .. })), "its process lives: {busy:?}");

    holder.kill().unwrap();
    holder.wait().unwrap();
    let mut claimers: Vec<_> = (0..2).map(|_| start(&format!("claim {run}"), &path)).collect();
    let mut voices: Vec<_> =
        claimers.iter_mut().map(|claimer| BufReader::new(claimer.stdout.take().unwrap())).collect();
    for voice in &mut voices {
        assert_eq!(hear(voice).as_deref(), Some("ready"));
    }
    for claimer in &mut claimers {
        use std::io::Write;
        claimer.stdin.as_mut().unwrap().write_all(b"now\n").unwrap();
    }
    // The lease would have lasted for minutes: that its process is gone is known without waiting for that.
    let mut said: Vec<_> = voices.iter_mut().map(|voice| hear(voice).unwrap()).collect();
    said.sort();
    assert_eq!(said, ["busy", "won"]);
    assert_eq!(numbers(&store, &key("a", "s")).await, [1, 2]);
    for claimer in &mut claimers {
        claimer.kill().unwrap();
        claimer.wait().unwrap();
    }
    store.claim("a", &run, this_process(), LASTS).await.unwrap();
}

/// Does everything that can be done, and tells what was acknowledged.
async fn do_everything(path: &Path, tell: impl Fn(&str)) {
    let store = Sqlite::open(path).await.unwrap();
    let key = key("a", "s");
    store.create(session("a", "s")).await.unwrap();
    tell("created");
    store.change(&key, Change::Name(Some("name".into()))).await.unwrap();
    tell("renamed");
    store.enqueue(&message(&key, "m")).await.unwrap();
    tell("enqueued");
    let answering = palisade_agent::NewRun { queued: Some("m".into()), ..run(&key, "gone", vec![user("words of m")]) };
    let lease = store.begin(palisade_agent::NewRun { lasts: std::time::Duration::ZERO, ..answering }).await.unwrap();
    tell("begun");
    store.renew(&lease).await.unwrap();
    let lease = store.claim("a", &lease.run, this_process(), LASTS).await.unwrap();
    tell("claimed");
    let mut whole = batch(vec![crate::said::reply("look", &["1"]), crate::said::result("1")]);
    whole.intents = vec![crate::said::intent("1")];
    whole.results = vec![("1".into(), palisade_agent::ToolResult::done("done"))];
    whole.spending = Some(crate::said::spending(3));
    store.record(&lease, &whole).await.unwrap();
    tell("recorded");
    store.end(&lease, &answered(4)).await.unwrap();
    tell("ended");
    let record = palisade_agent::AuditRecord {
        tenant: "a".into(),
        at: None,
        session: None,
        run: None,
        kind: "denial".into(),
        detail: serde_json::json!({}),
    };
    store.audit(&record).await.unwrap();
    tell("audited");
    let kept = store.keep(&space(), "key", b"value", 8).await.unwrap();
    assert_eq!(kept, Kept::Yes);
    tell("kept");
    let other = begun(&store, "a", "other").await;
    store.end(&other, &answered(50)).await.unwrap();
    tell("worked");
    store.clear(&self::key("a", "other")).await.unwrap();
    store.delete(&self::key("a", "other")).await.unwrap();
    tell("deleted");
    serving::do_everything(&store, tell).await;
}

/// STO-02
#[tokio::test]
async fn every_instant_is_passed() {
    static PASSED: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    at_instants(|instant| PASSED.lock().unwrap().extend([instant]));
    let folder = tempfile::tempdir().unwrap();
    do_everything(&folder.path().join("store.db"), |_| ()).await;
    assert_eq!(*PASSED.lock().unwrap(), instants().collect());
}

/// STO-02, STO-09: what was acknowledged is there once, and what was not is there whole or not at all.
#[tokio::test]
async fn a_process_that_is_killed_at_any_instant_loses_nothing_that_was_acknowledged() {
    for instant in instants() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let mut child = start(&format!("die {instant}"), &path);
        let output = BufReader::new(child.stdout.take().unwrap());
        let lines: Vec<String> = output.lines().map_while(Result::ok).collect();
        let said: Vec<&str> = lines.iter().filter_map(|line| line.split_once("said: ").map(|(_, said)| said)).collect();
        assert!(!child.wait().unwrap().success(), "{instant}: it was not killed");
        let store = Sqlite::open(&path).await.unwrap();
        check(&store, &said, instant).await;
        store.close().await.unwrap();
        let left = std::fs::read_dir(&folder).unwrap().count();
        assert!(left <= 3, "{instant}: {left} files");
    }
}

async fn check(store: &Sqlite, said: &[&str], instant: &str) {
    let key = key("a", "s");
    let was = |word: &str| said.contains(&word);
    serving::check(store, was, instant).await;
    let kept = store.value(&space(), "key").await.unwrap();
    assert!(!was("kept") || kept.as_deref() == Some(b"value"), "{instant}");
    // What it is counted for is what is there.
    assert_eq!(store.keep(&space(), "k", &[0; 7], 8).await.unwrap() == Kept::Yes, kept.is_none(), "{instant}");
    let listing = Listing { tenant: "a".into(), ..Listing::default() };
    let sessions = store.sessions(&listing).await.unwrap();
    let Some(session) = sessions.iter().find(|session| session.id == "s") else {
        assert!(!was("created"), "{instant}");
        return;
    };
    assert!(!was("renamed") || session.name.as_deref() == Some("name"), "{instant}");
    let entries = numbers(store, &key).await;
    assert_eq!(entries, (1..=session.entries).collect::<Vec<_>>(), "{instant}");
    assert!(matches!(entries.len(), 0 | 1 | 3), "{instant}: half a batch");
    assert!(!was("begun") || !entries.is_empty(), "{instant}");
    assert!(!was("recorded") || entries.len() == 3, "{instant}");
    // A message waits, or it was said; it is never both and never neither.
    let waits = store.next_queued(&key).await.unwrap().is_some();
    assert!(!waits || entries.is_empty(), "{instant}");
    assert!(!was("enqueued") || waits || !entries.is_empty(), "{instant}");
    if let Some(last) = store.last_run(&key).await.unwrap() {
        let calls = store.calls("a", &last.id).await.unwrap();
        assert_eq!(calls.len(), usize::from(entries.len() == 3), "{instant}");
        let is_over = matches!(last.state, palisade_agent::RunState::Ended { .. });
        assert!(!was("ended") || is_over, "{instant}");
        if !is_over {
            // Whoever held it is gone, so it goes on.
            let lease = store.claim("a", &last.id, this_process(), LASTS).await.unwrap();
            store.record(&lease, &batch(vec![user("on")])).await.unwrap();
        }
    }
    let audits = store.audits("a", None, 9).await.unwrap().len();
    assert!(audits <= 1 && (!was("audited") || audits == 1), "{instant}");
    assert!(!was("deleted") || sessions.len() == 1, "{instant}");
    // What was used up is counted once, before and after what used it is gone.
    let query = UsageQuery { tenant: "a".into(), by: Span::Day, since: None, agent: None };
    let used: u64 = store.usage(&query).await.unwrap().iter().map(|row| row.spending.usage.input_tokens).sum();
    let own = store.last_run(&key).await.unwrap().map_or(0, |last| last.spending.usage.input_tokens);
    assert!(used - own == 50 || (used == own && !was("worked")), "{instant}: {used} of which {own}");
}
