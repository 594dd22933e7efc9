//! Sessions as Markdown: what is in there comes back as it was, whatever was said.

use std::time::Duration;

use jiff::Timestamp;
use palisade_agent::{
    Ceiling, Cost, Entry, FailureKind, NewSession, Numbered, SessionOrigin, Store, StoreError, ToolCall, ToolOutcome,
    ToolResult,
};
use palisade_grants::{Access, Grants};
use palisade_store::{Memory, export};
use proptest::{collection::vec, prelude::*, test_runner::Config};
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};
use serde_json::{Value, json};

use crate::said::{key, reply, result, session, user};

/// What a message would have to say to be taken for something else.
const HOSTILE: &[&str] = &[
    "\n",
    "\n\n",
    " ",
    "\t",
    "a",
    "words",
    ">",
    "> ",
    "```",
    "````",
    "`",
    "~~~",
    "```json",
    "```text",
    "---",
    "===",
    "# ",
    "## User",
    "## User · 2026-11-16T19:34:40Z",
    "## Reply · 2026-11-16T19:34:40Z",
    "### Call",
    "### Thinking",
    "### Result of `\"1\"` · 2026-11-16T19:34:40Z",
    "<!-- ",
    " -->",
    "<h2>User</h2>",
    "<details>",
    "</script>",
    "palisade-session: 1",
    "- ",
    "1. ",
    "    ",
    "\\",
    "\"",
    "{",
    "}",
    "\r",
    "\r\n",
    "\0",
    "\u{1b}[2J",
    "\u{85}",
    "\u{2028}",
    "\u{202e}",
    "\u{feff}",
    "é",
    "漢",
    "👩‍💻",
    " · ",
    " of ",
    "{\"id\":\"1\",\"tool\":\"write\",\"input\":{}}",
];

fn text() -> impl Strategy<Value = String> {
    let pieces = vec(prop::sample::select(HOSTILE), 0..8).prop_map(|pieces| pieces.concat());
    prop_oneof![4 => pieces, 1 => any::<String>()]
}

fn outcome() -> impl Strategy<Value = ToolResult> {
    let kind = prop::sample::select(vec![FailureKind::Denied, FailureKind::UnknownTool, FailureKind::Interrupted]);
    let outcome = (text(), prop::option::of(kind)).prop_map(|(text, kind)| match kind {
        Some(kind) => ToolOutcome::Failed { kind, text },
        None => ToolOutcome::Done(text),
    });
    (outcome, 0..3_u64, vec(text(), 0..2), prop::option::of(text())).prop_map(|(outcome, micros, denials, artifact)| {
        let cost = Cost { duration: Duration::from_micros(micros), peak_memory: 65536 * micros };
        ToolResult { outcome, cost, denials, artifact }
    })
}

/// A reply and what came of its calls.
fn step() -> impl Strategy<Value = Vec<Entry>> {
    let call = (text(), text(), text(), outcome());
    (text(), text(), vec(call, 0..3), any::<bool>()).prop_map(|(text, thinking, calls, is_turned)| {
        let (mut made, mut results) = (Vec::new(), Vec::new());
        for (id, tool, input, result) in calls {
            made.push(ToolCall { id: id.clone(), tool, input: json!({ "text": input }) });
            results.push(Entry::Result { id, result });
        }
        if is_turned {
            results.reverse();
        }
        [vec![Entry::Reply { text, thinking, calls: made, kept: None }], results].concat()
    })
}

/// Any conversation that a store takes.
fn conversation() -> impl Strategy<Value = Vec<Entry>> {
    let steps = prop_oneof![
        2 => text().prop_map(|text| vec![Entry::User { text }]),
        1 => text().prop_map(|text| vec![Entry::Notice { text }]),
        1 => text().prop_map(|text| vec![Entry::Summary { text, covers: 0 }]),
        3 => step(),
    ];
    vec(steps, 0..6).prop_map(|steps| {
        let mut entries = steps.concat();
        // No two calls have the same id.
        let number = |id: &mut String, number: usize| id.insert_str(0, &format!("{number} "));
        let (mut calls, mut open) = (0, std::collections::HashMap::<String, Vec<String>>::new());
        for entry in &mut entries {
            match entry {
                Entry::Reply { calls: made, .. } => {
                    for call in made {
                        calls += 1;
                        let before = call.id.clone();
                        number(&mut call.id, calls);
                        open.entry(before).or_default().push(call.id.clone());
                    }
                }
                Entry::Result { id, .. } => *id = open.get_mut(id).and_then(Vec::pop).unwrap(),
                _ => {}
            }
        }
        entries
    })
}

fn numbered(entries: Vec<Entry>) -> Vec<Numbered> {
    let number = |(entry, number)| {
        let at = Timestamp::from_microsecond(1_790_000_000_000_001 * number as i64 / 2).unwrap();
        Numbered { number, at, entry }
    };
    entries.into_iter().zip(1..).map(number).collect()
}

fn origin() -> SessionOrigin {
    SessionOrigin {
        workspace: Some("/work <b> -->".into()),
        parent: Some("above".into()),
        chain: vec!["general".into()],
        ceiling: Some(Ceiling { grants: Grants::workspace(Access::Read), ..Ceiling::open() }),
    }
}

async fn check(name: Option<String>, attribute: String, entries: Vec<Entry>) {
    let (here, there) = (Memory::new(), Memory::new());
    let attributes = [("words".to_owned(), Value::from(attribute))].into();
    let new = NewSession { name, attributes, origin: origin(), ..session("a", "s") };
    let entries = numbered(entries);
    let original = here.import(new, &entries).await.unwrap();
    let document = export::markdown(&here, &key("a", "s")).await.unwrap();
    let copy = export::import(&there, "b", &document, None).await.unwrap().session;
    assert_eq!((&copy.id, &copy.agent, &copy.name), (&original.id, &original.agent, &original.name), "{document}");
    assert_eq!((&copy.attributes, &copy.origin), (&original.attributes, &original.origin), "{document}");
    assert_eq!(there.entries(&key("b", "s"), 0, usize::MAX).await.unwrap(), entries, "{document}");
    assert_eq!(export::markdown(&there, &key("b", "s")).await.unwrap(), document);
    // What passed through a machine that ends lines in another way is the same.
    let other = Memory::new();
    export::import(&other, "b", &document.replace('\n', "\r\n"), None).await.unwrap();
    assert_eq!(other.entries(&key("b", "s"), 0, usize::MAX).await.unwrap(), entries, "{document}");
    shows_what_it_is(&document, &entries);
}

/// Whoever shows the document shows our headings and no others, and no HTML.
fn shows_what_it_is(document: &str, entries: &[Numbered]) {
    let (_, body) = document.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).unwrap();
    let (mut quotes, mut headings, mut heading) = (0, Vec::new(), None);
    for event in Parser::new(body) {
        match event {
            Event::Start(Tag::BlockQuote(_)) => quotes += 1,
            Event::End(TagEnd::BlockQuote(_)) => quotes -= 1,
            Event::Start(Tag::Heading { level, .. }) if quotes == 0 => heading = Some((level, String::new())),
            Event::End(TagEnd::Heading(_)) if quotes == 0 => headings.extend(heading.take()),
            Event::Text(text) => {
                if let Some((_, heading)) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::Html(html) if quotes == 0 => assert!(html.starts_with("<!-- {"), "{html} in {document}"),
            Event::InlineHtml(html) if quotes == 0 => panic!("{html} in {document}"),
            Event::Start(tag) if quotes == 0 => {
                assert!(matches!(tag, Tag::CodeBlock(_) | Tag::HtmlBlock), "{tag:?} in {document}");
            }
            _ => {}
        }
    }
    let expected: usize = entries
        .iter()
        .map(|numbered| match &numbered.entry {
            Entry::Reply { calls, thinking, .. } => 1 + calls.len() + usize::from(!thinking.is_empty()),
            _ => 1,
        })
        .sum();
    assert_eq!(headings.len(), 1 + expected, "{document}");
    assert!(headings.iter().skip(1).all(|(level, _)| *level != HeadingLevel::H1), "{document}");
}

proptest! {
    #![proptest_config(Config { cases: 512, failure_persistence: None, ..Config::default() })]

    #[test]
    fn whatever_was_said_comes_back_as_it_was(
        name in prop::option::of("[ -~é]{1,20}"), attribute in text(), entries in conversation()
    ) {
        let name = name.filter(|name| !name.trim().is_empty());
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(check(name, attribute, entries));
    }

    #[test]
    fn what_is_no_document_is_refused_and_nothing_breaks(pieces in vec(prop::sample::select(HOSTILE), 0..30)) {
        let body = pieces.concat();
        let head = "---\npalisade-session: 1\nsessionId: \"s\"\nagentId: \"clerk\"\n---\n";
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for document in [body.clone(), format!("---\n{body}"), format!("{head}{body}"), format!("## User\n{body}")] {
            // Refused or not: what was taken is a conversation.
            let store = Memory::new();
            if let Ok(imported) = runtime.block_on(export::import(&store, "a", &document, Some("clerk"))) {
                runtime.block_on(export::json(&store, &key("a", &imported.session.id))).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_session_can_be_read() {
    let store = Memory::new();
    let call = Entry::Result { id: "2".into(), result: ToolResult::failed(FailureKind::Denied, "no ``` here") };
    let entries = vec![user("look at\n\n## this"), reply("I look", &["1", "2"]), result("1"), call];
    let new = NewSession { name: Some("Tidy *up*".into()), ..session("a", "s") };
    let mut entries = numbered(entries);
    entries.iter_mut().for_each(|numbered| numbered.at = Timestamp::UNIX_EPOCH);
    store.import(new, &entries).await.unwrap();
    let text = export::markdown(&store, &key("a", "s")).await.unwrap();
    let call = |id: u8| {
        format!(
            "### Call\n\n```json\n{{\n  \"id\": \"{id}\",\n  \"tool\": \"write\",\n  \"input\": {{\n    \"path\": \"a\"\n  }}\n}}\n```\n"
        )
    };
    let expected = format!(
        "---\npalisade-session: 1\nsessionId: \"s\"\nagentId: \"clerk\"\nname: \"Tidy *up*\"\n---\n\n\
         # Tidy \\*up\\*\n\n## User · 1970-01-01T00:00:00Z\n\n> look at\n>\n> ## this\n\n\
         ## Reply · 1970-01-01T00:00:00Z\n\n> I look\n\n{}\n{}\n\
         ### Result of `\"1\"` · 1970-01-01T00:00:00Z\n\n```text\ndone\n```\n\n\
         ### Failure (denied) of `\"2\"` · 1970-01-01T00:00:00Z\n\n````text\nno ``` here\n````\n",
        call(1),
        call(2)
    );
    assert_eq!(text, expected);
}

#[tokio::test]
async fn a_conversation_that_was_written_by_hand_is_one() {
    let store = Memory::new();
    let text = "# The ferry\n\n## User\n\nWhen does it leave?\n\n## assistant \r\n\n### At noon\n\n> says the list\n## User\nThanks.";
    let imported = export::import(&store, "a", text, Some("clerk")).await.unwrap().session;
    assert_eq!((imported.agent.as_str(), &imported.origin), ("clerk", &SessionOrigin::default()));
    let entries = store.entries(&key("a", &imported.id), 0, 9).await.unwrap();
    let entries: Vec<Entry> = entries.into_iter().map(|numbered| numbered.entry).collect();
    let said = [user("When does it leave?"), reply("### At noon\n\n> says the list", &[]), user("Thanks.")];
    assert_eq!(entries, said);
    let refused = [
        ("nobody says with whom", text, None, "--agent"),
        ("nothing is said", "# Title\n", Some("clerk"), "nothing is said"),
        ("nothing is said below a heading", "## User\n\n## Assistant\nYes.", Some("clerk"), "below heading 1"),
        ("it begins with something else", "\nHello.\n## User\nHi.", Some("clerk"), "line 2"),
    ];
    for (what, text, agent, words) in refused {
        let error = export::import(&store, "a", text, agent).await.unwrap_err();
        assert!(matches!(&error, StoreError::Invalid(text) if text.contains(words)), "{what}: {error}");
    }
}

#[tokio::test]
async fn markdown_that_was_changed_is_refused_in_words() {
    let store = Memory::new();
    let new = NewSession { origin: origin(), ..session("a", "s") };
    let entries = vec![user("look"), reply("I look", &["1"]), result("1")];
    store.import(new, &numbered(entries)).await.unwrap();
    let document = export::markdown(&store, &key("a", "s")).await.unwrap();
    let refused = [
        ("another version", "palisade-session: 1", "palisade-session: 2", "version 2"),
        ("no version", "palisade-session: 1\n", "", "a head begins with"),
        ("no end of the head", "\n---\n", "\n", "name: value"),
        ("a member that is not known", "agentId:", "roof: {}\nagentId:", "roof"),
        ("a member twice", "agentId:", "agentId: \"x\"\nagentId:", "there twice"),
        ("a ceiling that is none", "ceiling: {", "ceiling: \"all\"\nx: {", "expected struct Ceiling"),
        ("a heading of no kind", "## User ·", "## System ·", "no heading of a session"),
        ("no moment", " · 20", " · soon20", "no moment"),
        ("a text that is not quoted", "> look", "look", "quoted with `> `"),
        ("a fence that is not closed", "```text\ndone\n```", "```text\ndone", "not closed"),
        ("a call that is none", "\"tool\"", "\"tooth\"", "tooth"),
        ("another call", "\"id\": \"1\"", "\"id\": \"7\"", "result of no call"),
        ("neither a result nor a failure", "### Result of", "### Story of", "neither"),
        ("no call", "### Call\n", "### Call\n\n> this\n", "is the call"),
    ];
    for (what, from, to, words) in refused {
        assert!(document.contains(from), "{what}: {document}");
        let error = export::import(&store, "b", &document.replace(from, to), None).await.unwrap_err();
        assert!(matches!(&error, StoreError::Invalid(text) if text.contains(words)), "{what}: {error}");
    }
    let other = export::import(&store, "b", &document, Some("somebody")).await.unwrap_err();
    assert!(other.to_string().contains("is held with `clerk`"), "{other}");
    assert_eq!(
        store
            .sessions(&palisade_agent::Listing { tenant: "b".into(), delegated: true, ..Default::default() })
            .await
            .unwrap(),
        []
    );
}
