//! Claims about what was said and done.

use jiff::Timestamp;
use palisade_agent::{
    AuditRecord, Batch, CallState, Ending, Entry, Numbered, RunEnd, Span, Store, StoreError, ToolCall, ToolResult,
    UsageQuery, UsageRow,
};
use serde_json::json;

use crate::said::{answered, batch, begun, call, intent, key, numbers, reply, result, run, session, spending, user};

pub(super) async fn entries_are_numbered_without_a_gap(store: &dyn Store) {
    let lease = begun(store, "a", "s").await;
    let key = key("a", "s");
    store.record(&lease, &batch(vec![reply("look", &["1"]), result("1")])).await.unwrap();
    store.record(&lease, &batch(vec![reply("  there\n it   is ", &[])])).await.unwrap();
    assert_eq!(numbers(store, &key).await, [1, 2, 3, 4]);
    let some = store.entries(&key, 1, 2).await.unwrap();
    let found: Vec<_> = some.iter().map(|numbered| (numbered.number, numbered.entry.clone())).collect();
    assert_eq!(found, [(2, reply("look", &["1"])), (3, result("1"))]);
    assert!(store.entries(&key, 4, 2).await.unwrap().is_empty());
    assert!(store.entries(&key, 0, 0).await.unwrap().is_empty());
    assert!(store.entries(&key, u64::MAX, usize::MAX).await.unwrap().is_empty());
    let session = store.session(&key).await.unwrap();
    assert_eq!((session.entries, session.last_snippet.as_deref()), (4, Some("there it is")));
    let long = "wörter ".repeat(100);
    store.record(&lease, &batch(vec![user(&long), Entry::Notice { text: "cut".into() }])).await.unwrap();
    let snippet = store.session(&key).await.unwrap().last_snippet.unwrap();
    assert_eq!(snippet.chars().count(), 121);
    assert!(snippet.starts_with("wörter wörter") && snippet.ends_with('…'), "{snippet}");
}

pub(super) async fn a_batch_is_written_whole_or_not_at_all(store: &dyn Store) {
    let lease = begun(store, "a", "s").await;
    let key = key("a", "s");
    let before = store.session(&key).await.unwrap();
    let wrong = Batch {
        entries: vec![reply("look", &["1"])],
        intents: vec![intent("1")],
        results: vec![("nobody".into(), ToolResult::done("lost"))],
        spending: Some(spending(9)),
    };
    assert!(matches!(store.record(&lease, &wrong).await, Err(StoreError::Invalid(_))));
    assert_eq!(store.session(&key).await.unwrap(), before);
    assert!(store.calls("a", &lease.run).await.unwrap().is_empty());
    assert_eq!(store.run("a", &lease.run).await.unwrap().spending, palisade_agent::Spending::default());
    let right = Batch { results: vec![], ..wrong };
    store.record(&lease, &right).await.unwrap();
    assert_eq!(store.session(&key).await.unwrap().entries, 2);
    assert_eq!(store.run("a", &lease.run).await.unwrap().spending, spending(9));
}

pub(super) async fn a_call_is_meant_once_and_has_one_result(store: &dyn Store) {
    let lease = begun(store, "a", "s").await;
    let intents = |ids: &[&str]| Batch { intents: ids.iter().map(|id| intent(id)).collect(), ..Batch::default() };
    let results = |ids: &[&str]| Batch {
        results: ids.iter().map(|id| ((*id).to_owned(), ToolResult::done(*id))).collect(),
        ..Batch::default()
    };
    store.record(&lease, &intents(&["z", "aa"])).await.unwrap();
    store.record(&lease, &intents(&["b"])).await.unwrap();
    store.record(&lease, &results(&["aa"])).await.unwrap();
    for refused in [intents(&["z"]), intents(&["c", "c"]), results(&["aa"]), results(&["z", "z"]), results(&["c"])] {
        let outcome = store.record(&lease, &refused).await;
        assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{refused:?}");
    }
    let calls = store.calls("a", &lease.run).await.unwrap();
    let states: Vec<_> =
        calls.iter().map(|call| (call.intent.call.id.as_str(), call.intent.idempotent, &call.state)).collect();
    let finished = CallState::Finished(ToolResult::done("aa"));
    assert_eq!(
        states,
        [("z", false, &CallState::Unfinished), ("aa", true, &finished), ("b", false, &CallState::Unfinished)]
    );
    // A later run of the session has calls of its own.
    store.end(&lease, &answered(1)).await.unwrap();
    let next = store.begin(run(&lease.session, "x", vec![user("more")])).await.unwrap();
    assert!(matches!(store.record(&next, &results(&["z"])).await, Err(StoreError::Invalid(_))));
    store.record(&next, &intents(&["z"])).await.unwrap();
    assert_eq!(store.calls("a", &next.run).await.unwrap().len(), 1);
}

/// Zero bytes, emoji, quotes, what looks like SQL, and nesting: a model says all of it.
pub(super) async fn anything_a_model_can_say_is_kept(store: &dyn Store) {
    let lease = begun(store, "a", "s").await;
    let odd = "a\0b '; DROP TABLE sessions; -- \u{1F600}\u{FFFD}\r\n\u{202E}\\u0000\"";
    let deep = (0..100).fold(json!(odd), |inner, _| json!([inner]));
    let calls =
        vec![ToolCall { id: odd.into(), tool: odd.into(), input: json!({ odd: deep, "n": u64::MAX, "f": -1.5 }) }];
    let said = Entry::Reply { text: odd.into(), thinking: odd.into(), calls: calls.clone(), kept: None };
    let batch = Batch {
        entries: vec![said.clone(), user(&"x".repeat(300_000))],
        intents: vec![palisade_agent::Intent { call: calls[0].clone(), idempotent: false }],
        results: vec![(odd.to_owned(), ToolResult::done(odd))],
        spending: None,
    };
    store.record(&lease, &batch).await.unwrap();
    let entries = store.entries(&lease.session, 1, 10).await.unwrap();
    assert_eq!(entries.iter().map(|numbered| numbered.entry.clone()).collect::<Vec<_>>(), batch.entries);
    let kept = store.calls("a", &lease.run).await.unwrap();
    assert_eq!((&kept[0].intent, &kept[0].state), (&batch.intents[0], &CallState::Finished(ToolResult::done(odd))));
    let too_deep = (0..500).fold(json!(1), |inner, _| json!([inner]));
    let unreadable = Entry::Reply {
        text: String::new(),
        thinking: String::new(),
        calls: vec![ToolCall { input: too_deep, ..call("1") }],
        kept: None,
    };
    let refused = store.record(&lease, &crate::said::batch(vec![unreadable])).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "what could not be read again is not written");
    assert_eq!(numbers(store, &lease.session).await, [1, 2, 3]);
    let parent = palisade_agent::NewRun {
        parent: Some("r".into()),
        parent_call: Some(odd.into()),
        ..run(&lease.session, "x", vec![])
    };
    store.end(&lease, &RunEnd { ending: Ending::Failed(odd.into()), spending: spending(1) }).await.unwrap();
    let next = store.begin(parent).await.unwrap();
    assert_eq!(store.run("a", &next.run).await.unwrap().parent_call.as_deref(), Some(odd));
}

pub(super) async fn usage_adds_up(store: &dyn Store) {
    for (id, agent, tokens) in [("1", "clerk", 10), ("2", "clerk", 20), ("3", "Other", 40)] {
        let new = palisade_agent::NewSession { agent: agent.into(), ..session("a", id) };
        store.create(new).await.unwrap();
        let begun = palisade_agent::NewRun { agent: agent.into(), ..run(&key("a", id), "x", vec![user("u")]) };
        let lease = store.begin(begun).await.unwrap();
        let ending = if tokens == 20 { Ending::Cancelled } else { Ending::Answered };
        store.end(&lease, &RunEnd { ending, spending: spending(tokens) }).await.unwrap();
    }
    let lease = store.begin(run(&key("a", "1"), "x", vec![user("u")])).await.unwrap();
    store.record(&lease, &Batch { spending: Some(spending(1)), ..Batch::default() }).await.unwrap();
    begun(store, "b", "1").await;
    let query = |by| UsageQuery { tenant: "a".into(), by, since: None, agent: None };
    let row = |of: &str, runs, answered, tokens: u64| {
        let mut sum = spending(tokens);
        sum.steps = u32::try_from(runs).unwrap();
        sum.calls = 2 * runs;
        sum.usage.output_tokens = runs;
        UsageRow { of: of.into(), runs, answered, spending: sum }
    };
    assert_eq!(store.usage(&query(Span::Agent)).await.unwrap(), [row("Other", 1, 1, 40), row("clerk", 3, 1, 31)]);
    let sessions = [row("1", 2, 1, 11), row("2", 1, 0, 20), row("3", 1, 1, 40)];
    assert_eq!(store.usage(&query(Span::Session)).await.unwrap(), sessions);
    let clerk = UsageQuery { agent: Some("clerk".into()), ..query(Span::Session) };
    assert_eq!(store.usage(&clerk).await.unwrap(), sessions[..2]);
    let days = store.usage(&query(Span::Day)).await.unwrap();
    assert_eq!(days.iter().map(|day| day.runs).sum::<u64>(), 4);
    assert!(days[0].of.starts_with("20") && days[0].of.len() == 10, "{days:?}");
    let later = UsageQuery { since: Some(Timestamp::MAX), ..query(Span::Agent) };
    assert!(store.usage(&later).await.unwrap().is_empty());
    let huge = palisade_agent::Spending { calls: u64::MAX, ..spending(u64::MAX) };
    store.end(&lease, &RunEnd { ending: Ending::Answered, spending: huge }).await.unwrap();
    assert!(store.usage(&query(Span::Agent)).await.unwrap()[1].spending.calls > 1_000_000_000);
}

/// S9
pub(super) async fn what_was_used_up_stays_when_a_session_goes(store: &dyn Store) {
    for (id, agent, model, tokens) in [
        ("1", "clerk", "one", 10),
        ("2", "clerk", "two", 20),
        ("3", "Other", "one", 40),
        ("4", "clerk", "one", 80),
        ("5", "clerk", "one", 160),
    ] {
        store.create(palisade_agent::NewSession { agent: agent.into(), ..session("a", id) }).await.unwrap();
        let new = palisade_agent::NewRun {
            agent: agent.into(),
            model: model.into(),
            ..run(&key("a", id), "x", vec![user("u")])
        };
        let lease = store.begin(new).await.unwrap();
        let ending = if id == "2" { Ending::Cancelled } else { Ending::Answered };
        store.end(&lease, &RunEnd { ending, spending: spending(tokens) }).await.unwrap();
    }
    begun(store, "b", "1").await;
    let query = |by| UsageQuery { tenant: "a".into(), by, since: None, agent: None };
    let agents = store.usage(&query(Span::Agent)).await.unwrap();
    let days = store.usage(&query(Span::Day)).await.unwrap();
    let since = store.last_run(&key("a", "5")).await.unwrap().map(|last| last.started_at);
    for id in ["1", "2", "3", "4"] {
        store.delete(&key("a", id)).await.unwrap();
        assert_eq!(store.usage(&query(Span::Agent)).await.unwrap(), agents, "{id}");
        assert_eq!(store.usage(&query(Span::Day)).await.unwrap(), days, "{id}");
    }
    // Which session it was is not known any more.
    let sessions = store.usage(&query(Span::Session)).await.unwrap();
    let found: Vec<_> =
        sessions.iter().map(|row| (row.of.as_str(), row.runs, row.answered, row.spending.usage.input_tokens)).collect();
    assert_eq!(found, [("", 4, 3, 150), ("5", 1, 1, 160)]);
    // Nor when on a day: the others began earlier on it.
    let since = UsageQuery { since, ..query(Span::Agent) };
    assert_eq!(store.usage(&since).await.unwrap(), agents);
    let later = UsageQuery { since: Some(Timestamp::MAX), ..query(Span::Agent) };
    assert!(store.usage(&later).await.unwrap().is_empty());
    let other = UsageQuery { agent: Some("Other".into()), ..query(Span::Day) };
    assert_eq!(store.usage(&other).await.unwrap()[0].spending, spending(40));
    // A session of the same id begins anew.
    store.create(session("a", "1")).await.unwrap();
    assert_eq!(store.usage(&query(Span::Agent)).await.unwrap(), agents);
    let theirs = UsageQuery { tenant: "b".into(), ..query(Span::Agent) };
    assert_eq!(store.usage(&theirs).await.unwrap()[0].runs, 1, "another tenant's are its own");
    assert!(store.usage(&UsageQuery { tenant: "c".into(), ..query(Span::Day) }).await.unwrap().is_empty());
}

/// A provider may say that it took any number of tokens. Sessions go all the same.
pub(super) async fn a_sum_of_what_is_gone_never_runs_over(store: &dyn Store) {
    let huge = palisade_agent::Spending { steps: u32::MAX, calls: u64::MAX, ..spending(u64::MAX) };
    for id in ["1", "2", "3"] {
        let lease = begun(store, "a", id).await;
        store.end(&lease, &RunEnd { ending: Ending::Answered, spending: huge }).await.unwrap();
        store.delete(&lease.session).await.unwrap();
    }
    let query = UsageQuery { tenant: "a".into(), by: Span::Agent, since: None, agent: None };
    let row = &store.usage(&query).await.unwrap()[0];
    let usage = row.spending.usage;
    assert_eq!((row.runs, usage.input_tokens, usage.output_tokens), (3, 1_000_000_000_000_000, 3));
    assert_eq!((row.spending.steps, row.spending.calls), (u32::MAX, 1_000_000_000_000_000));
}

pub(super) async fn audit_records_come_newest_first(store: &dyn Store) {
    let record = |kind: &str, session: Option<&str>| AuditRecord {
        tenant: "a".into(),
        at: None,
        session: session.map(Into::into),
        run: session.map(|session| format!("run of {session}")),
        kind: kind.into(),
        detail: json!({ "cut": [kind, "\0"] }),
    };
    for (kind, session) in [("spawn", Some("1")), ("denial", None), ("take-over", Some("2")), ("denial", Some("1"))] {
        store.audit(&record(kind, session)).await.unwrap();
    }
    store.audit(&AuditRecord { tenant: "b".into(), ..record("other", Some("1")) }).await.unwrap();
    let all = store.audits("a", None, 3).await.unwrap();
    let kinds: Vec<_> = all.iter().map(|record| record.kind.as_str()).collect();
    assert_eq!(kinds, ["denial", "take-over", "denial"]);
    assert!(all.is_sorted_by(|newer, older| newer.at > older.at));
    assert_eq!(AuditRecord { at: None, ..all[1].clone() }, record("take-over", Some("2")));
    let kinds: Vec<_> = store.audits("a", Some("1"), 9).await.unwrap().into_iter().map(|record| record.kind).collect();
    assert_eq!(kinds, ["denial", "spawn"]);
    assert!(store.audits("c", None, 9).await.unwrap().is_empty());
    assert!(matches!(store.audit(&record("", None)).await, Err(StoreError::Invalid(_))));
}

pub(super) async fn a_session_begins_with_what_was_said_elsewhere(store: &dyn Store) {
    let numbered = |entries: Vec<Entry>| -> Vec<Numbered> {
        let at = Timestamp::from_second(1_000_000_000).unwrap();
        entries.into_iter().zip(1..).map(|(entry, number)| Numbered { number, at, entry }).collect()
    };
    let whole = numbered(vec![user("hello"), reply("look", &["1"]), result("1"), reply("there", &[])]);
    let made = store.import(session("a", "copy"), &whole).await.unwrap();
    assert_eq!((made.entries, made.last_snippet.as_deref()), (4, Some("there")));
    assert_eq!(store.session(&key("a", "copy")).await.unwrap(), made);
    assert_eq!(store.entries(&key("a", "copy"), 0, 9).await.unwrap(), whole);
    let lease = store.begin(run(&key("a", "copy"), "x", vec![user("go on")])).await.unwrap();
    store.record(&lease, &batch(vec![reply("ok", &[])])).await.unwrap();
    assert_eq!(numbers(store, &key("a", "copy")).await, [1, 2, 3, 4, 5, 6]);
    let broken = [vec![user("hello"), reply("look", &["1"])], vec![result("1")]];
    for entries in broken {
        let outcome = store.import(session("a", "broken"), &numbered(entries)).await;
        assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{outcome:?}");
    }
    let gap = vec![Numbered { number: 2, ..whole[0].clone() }];
    assert!(matches!(store.import(session("a", "broken"), &gap).await, Err(StoreError::Invalid(_))));
    assert!(matches!(store.import(session("a", "copy"), &whole).await, Err(StoreError::IdTaken(_))));
    assert_eq!(store.session(&key("a", "broken")).await, Err(StoreError::NoSession("broken".into())));
}
