//! The power is cut: what SQLite did to its files is watched, and whatever a disk may hold at any moment of it is
//! looked at. What was acknowledged is there, and of the step that was under way all or nothing.
//!
//! That a new database is whole before it has its name is taken for granted here: that is done without SQLite, and
//! waited for.

mod disk;
mod watch;

use std::{
    collections::hash_map::DefaultHasher,
    fmt::Write as _,
    hash::{Hash as _, Hasher as _},
    path::Path,
};

use palisade_agent::{AuditRecord, Batch, Change, Lease, Listing, NewRun, Store, StoreError, ToolResult};
use palisade_store::{OpenRuns, RunEvents, Sqlite, TenantChange, Tenants};
use serde_json::json;
use tempfile::TempDir;

use crate::conformance::tenants::{new_key, tenant};
use crate::said::{answered, batch, intent, key, message, reply, result, run, session, spending, user};
use disk::{Dice, Disk, Moment};
use watch::{Happened, What};

/// Things that are done to a database, one after the other, each acknowledged.
struct Story {
    folder: TempDir,
    store: Sqlite,
    /// All that the store says after each step.
    told: Vec<String>,
    dice: Dice,
}

impl Story {
    async fn new() -> Self {
        let folder = watch::watched();
        let store = Sqlite::open(folder.path().join("store.db")).await.unwrap();
        let mut story = Self { folder, store, told: Vec::new(), dice: Dice::of(1) };
        story.acknowledged().await;
        story
    }

    async fn acknowledged(&mut self) {
        watch::acknowledged(&self.folder, self.told.len());
        self.told.push(all(&self.store).await.unwrap());
    }

    /// Words of about so many bytes.
    fn words(&mut self, about: usize) -> String {
        let length = about / 2 + self.dice.below(about);
        (0..length).map(|_| char::from(b'a' + self.dice.below(26) as u8)).collect()
    }

    async fn begin(&mut self, id: &str, queued: Option<&str>) -> Lease {
        let new = NewRun { queued: queued.map(str::to_owned), ..run(&key("a", id), "x", vec![user("hello")]) };
        let lease = self.store.begin(new).await.unwrap();
        self.acknowledged().await;
        lease
    }

    async fn record(&mut self, lease: &Lease, batch: Batch) {
        self.store.record(lease, &batch).await.unwrap();
        self.acknowledged().await;
    }

    async fn end(&mut self, lease: &Lease) {
        self.store.end(lease, &answered(3)).await.unwrap();
        self.acknowledged().await;
    }

    async fn create(&mut self, id: &str) {
        self.store.create(session("a", id)).await.unwrap();
        self.acknowledged().await;
    }

    /// One run with a call.
    async fn work(&mut self, id: &str, queued: Option<&str>, about: usize) {
        let lease = self.begin(id, queued).await;
        let said = self.words(about);
        // Calls of one session have ids of their own.
        let call = format!("{}-{}", id, self.told.len());
        let intents = vec![intent(&call)];
        self.record(&lease, Batch { intents, ..batch(vec![reply(&said, &[&call])]) }).await;
        let results = vec![(call.clone(), ToolResult::done("done"))];
        self.record(&lease, Batch { results, spending: Some(spending(7)), ..Batch::default() }).await;
        self.record(&lease, batch(vec![result(&call)])).await;
        self.end(&lease).await;
    }

    /// Closes the database, which empties its log, and opens it again.
    async fn reopen(self) -> Self {
        let Self { folder, store, told, dice } = self;
        store.close().await.unwrap();
        let store = Sqlite::open(folder.path().join("store.db")).await.unwrap();
        let mut story = Self { folder, store, told, dice };
        story.acknowledged().await;
        story
    }
}

/// All that a store says, in one text.
async fn all(store: &Sqlite) -> Result<String, StoreError> {
    let mut text = String::new();
    let listing = Listing { tenant: "a".into(), delegated: true, ..Listing::default() };
    for session in store.sessions(&listing).await? {
        let key = key("a", &session.id);
        let entries = store.entries(&key, 0, usize::MAX).await?;
        let last = store.last_run(&key).await?;
        let calls = match &last {
            Some(run) => store.calls("a", &run.id).await?,
            None => Vec::new(),
        };
        let queued = store.next_queued(&key).await?;
        let events = match &last {
            Some(run) => store.events("a", &run.id, 0, usize::MAX).await?,
            None => Vec::new(),
        };
        let mut hash = DefaultHasher::new();
        format!("{session:?} {entries:?} {last:?} {calls:?} {queued:?} {events:?}").hash(&mut hash);
        writeln!(text, "{} {} entries {:x}", session.id, entries.len(), hash.finish()).unwrap();
    }
    for tenant in store.tenants(None, usize::MAX).await? {
        let (keys, open) = (store.keys(&tenant.id).await?, store.open_runs(Some(&tenant.id), None, 99).await);
        let mut hash = DefaultHasher::new();
        format!("{tenant:?} {keys:?} {open:?}").hash(&mut hash);
        writeln!(text, "{} {} keys {:x}", tenant.id, keys.len(), hash.finish()).unwrap();
    }
    writeln!(text, "{} audits", store.audits("a", None, 99).await?.len()).unwrap();
    Ok(text)
}

/// What a power cut left, as somebody finds it who starts again.
async fn look(folder: &Path) -> Result<String, StoreError> {
    all(&Sqlite::open(folder.join("store.db")).await?).await
}

/// Whether somebody can go on with what a power cut left.
async fn goes_on(folder: &Path) -> Result<(), StoreError> {
    let store = Sqlite::open(folder.join("store.db")).await?;
    store.create(session("b", "next")).await?;
    store.close().await?;
    Sqlite::open(folder.join("store.db")).await?.session(&key("b", "next")).await.map(drop)
}

/// Cuts the power so often, at any moment of a story from when there is a database; says what was lost.
async fn cut(story: &Story, happened: &[Happened], disk: Disk, cuts: usize) -> Vec<String> {
    let is_there =
        |happened: &Happened| happened.path.ends_with("/store.db") && matches!(happened.what, What::Found(_));
    let first = happened.iter().position(is_there).unwrap() + 1;
    let mut dice = Dice::of(2);
    let mut moments: Vec<usize> = (0..cuts).map(|_| first + dice.below(happened.len() + 1 - first)).collect();
    moments.sort_unstable();
    let (mut moment, mut passed, mut step, mut lost) = (Moment::new(disk), 0, 0, Vec::new());
    for (number, until) in moments.into_iter().enumerate() {
        for happened in &happened[passed..until] {
            moment.pass(happened);
            if let What::Acknowledged(acknowledged) = happened.what {
                step = acknowledged;
            }
        }
        passed = until;
        let folder = watch::hasty();
        moment.cut(folder.path(), &mut Dice::of(number as u64));
        let mut found = look(folder.path()).await;
        let is_whole = |text: &String| story.told[step..].iter().take(2).any(|told| told == text);
        if number % 8 == 0 && found.is_ok() {
            found = goes_on(folder.path()).await.and(found);
        }
        if !found.as_ref().is_ok_and(is_whole) {
            lost.push(format!("cut {number} after {until}, step {step}: {found:?}, not {:?}", story.told[step]));
        }
    }
    lost
}

/// A story with everything that is done to sessions, in a small database.
async fn small() -> Story {
    let mut story = Story::new().await;
    for id in ["s0", "s1"] {
        story.create(id).await;
        story.work(id, None, 300).await;
    }
    story.store.enqueue(&message(&key("a", "s1"), "m")).await.unwrap();
    story.acknowledged().await;
    story.work("s1", Some("m"), 9000).await;
    story = story.reopen().await;
    story.store.change(&key("a", "s0"), Change::Name(Some("river".into()))).await.unwrap();
    story.acknowledged().await;
    story.work("s0", None, 30_000).await;
    story.store.clear(&key("a", "s0")).await.unwrap();
    story.acknowledged().await;
    story = story.reopen().await.reopen().await;
    story.create("s2").await;
    story.store.delete(&key("a", "s1")).await.unwrap();
    story.acknowledged().await;
    let record = AuditRecord {
        tenant: "a".into(),
        at: None,
        session: None,
        run: None,
        kind: "denial".into(),
        detail: json!({}),
    };
    story.store.audit(&record).await.unwrap();
    story.acknowledged().await;
    story.work("s2", None, 3000).await;
    serve(&mut story).await;
    story
}

/// What is done for a server.
async fn serve(story: &mut Story) {
    for id in ["a", "gone"] {
        story.store.create_tenant(tenant(id)).await.unwrap();
        story.acknowledged().await;
    }
    for (id, secret) in [("k1", 1), ("k2", 2)] {
        story.store.add_key("a", new_key(id, secret)).await.unwrap();
        story.acknowledged().await;
    }
    story.store.add_key("gone", new_key("k", 3)).await.unwrap();
    story.acknowledged().await;
    story.store.used_key("a", "k1").await.unwrap();
    story.acknowledged().await;
    let lease = story.begin("s2", None).await;
    for first in [1, 3, 5] {
        let events = [story.words(200), story.words(9000)].map(|words| format!("\"{words}\""));
        story.store.append(&lease, first, &events).await.unwrap();
        story.acknowledged().await;
    }
    story.end(&lease).await;
    story.store.revoke_key("a", "k1").await.unwrap();
    story.acknowledged().await;
    let change = TenantChange { suspended: Some(true), ..TenantChange::default() };
    story.store.change_tenant("a", change).await.unwrap();
    story.acknowledged().await;
    story.store.delete_tenant("gone").await.unwrap();
    story.acknowledged().await;
}

/// A story that is long enough for the log to be emptied, and begun anew, while it is told.
async fn large() -> Story {
    let mut story = Story::new().await;
    story.create("s").await;
    let lease = story.begin("s", None).await;
    for _ in 0..9 {
        let words = story.words(500_000);
        story.record(&lease, batch(vec![reply(&words, &[])])).await;
    }
    for _ in 0..6 {
        story.record(&lease, batch(vec![user("and more")])).await;
    }
    story
}

/// How often the beginning of a log was written.
fn beginnings(happened: &[Happened]) -> usize {
    let begins =
        |happened: &&Happened| happened.path.ends_with("-wal") && matches!(happened.what, What::Written { at: 0, .. });
    happened.iter().filter(begins).count()
}

fn changes_of_the_file(happened: &[Happened]) -> usize {
    let changes =
        |happened: &&Happened| happened.path.ends_with("store.db") && matches!(happened.what, What::Written { .. });
    happened.iter().filter(changes).count()
}

/// STO-04
#[tokio::test]
async fn what_was_acknowledged_survives_a_power_cut_at_any_moment() {
    let story = small().await;
    let happened = watch::happened(&story.folder);
    assert!(beginnings(&happened) >= 3 && changes_of_the_file(&happened) > 10, "it was closed and opened");
    let lost = cut(&story, &happened, Disk::Honest, 1000).await;
    assert_eq!(lost, Vec::<String>::new());
}

/// STO-04
#[tokio::test]
async fn a_power_cut_while_the_log_is_emptied_loses_nothing() {
    let story = large().await;
    let happened = watch::happened(&story.folder);
    assert!(beginnings(&happened) >= 2 && changes_of_the_file(&happened) > 500, "the log was emptied and begun anew");
    let lost = cut(&story, &happened, Disk::Honest, 100).await;
    assert_eq!(lost, Vec::<String>::new());
}

/// STO-04: this way of looking finds what is lost.
#[tokio::test]
async fn a_disk_that_lies_is_found_out() {
    let story = small().await;
    let happened = watch::happened(&story.folder);
    let lost = cut(&story, &happened, Disk::Lying, 100).await;
    assert!(lost.len() > 20, "{} of 100", lost.len());
}
