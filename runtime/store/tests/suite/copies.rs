//! Sessions that leave as documents and come back.

use std::collections::BTreeMap;

use palisade_agent::{Ceiling, NewSession, SessionOrigin, Store, StoreError};
use palisade_grants::{Access, Grants};
use palisade_store::{
    Memory, Sqlite,
    export::{self, Imported},
};
use serde_json::{Value, json};

use crate::said::{answered, batch, key, numbers, reply, result, run, session, user};

/// A session that may do little, with a call and its result, and one call that was left open.
async fn told(store: &dyn Store) {
    let new = NewSession {
        name: Some("Tidy up".into()),
        attributes: BTreeMap::from([("a".into(), json!({ "b": 1 }))]),
        origin: SessionOrigin {
            workspace: Some("/work".into()),
            parent: Some("above".into()),
            chain: vec!["general".into()],
            ceiling: Some(Ceiling { grants: Grants::workspace(Access::Read), ..Ceiling::open() }),
        },
        ..session("a", "s")
    };
    store.create(new).await.unwrap();
    let lease = store.begin(run(&key("a", "s"), "x", vec![user("look at ```this```")])).await.unwrap();
    store.record(&lease, &batch(vec![reply("I look", &["1"]), result("1"), reply("And now", &["2"])])).await.unwrap();
    store.end(&lease, &answered(1)).await.unwrap();
}

#[tokio::test]
async fn a_session_comes_back_as_it_left_and_may_do_no_more() {
    let (here, folder) = (Memory::new(), tempfile::tempdir().unwrap());
    told(&here).await;
    let there = Sqlite::open(folder.path().join("store.db")).await.unwrap();
    let document = export::json(&here, &key("a", "s")).await.unwrap();
    let Imported { session: copy, name_taken } = export::import(&there, "b", &document, None).await.unwrap();
    assert_eq!((copy.name.as_deref(), name_taken), (Some("Tidy up"), None));
    let original = here.session(&key("a", "s")).await.unwrap();
    assert_eq!((copy.tenant.as_str(), copy.id.as_str()), ("b", "s"));
    assert_eq!(
        (&copy.origin, &copy.attributes, &copy.agent),
        (&original.origin, &original.attributes, &original.agent)
    );
    assert!(copy.origin.ceiling.is_some());
    let [before, after] =
        [here.entries(&key("a", "s"), 0, 9).await.unwrap(), there.entries(&key("b", "s"), 0, 9).await.unwrap()];
    assert_eq!(after[..4], before[..], "with the moments at which it was said");
    assert_eq!(after.len(), 5, "the call that was left open has a result");
    let again = export::import(&there, "b", &document, None).await.unwrap();
    assert_ne!(again.session.id, "s", "the id was taken");
    assert_eq!((again.session.name, again.name_taken.as_deref()), (None, Some("Tidy up")), "and so was the name");
    let document: Value = serde_json::from_str(&export::json(&there, &key("b", "s")).await.unwrap()).unwrap();
    assert_eq!((document["version"].as_u64(), document["entries"].as_array().unwrap().len()), (Some(1), 5));
}

#[tokio::test]
async fn a_document_that_is_none_is_refused() {
    let store = Memory::new();
    told(&store).await;
    let document: Value = serde_json::from_str(&export::json(&store, &key("a", "s")).await.unwrap()).unwrap();
    let changed = |change: fn(&mut Value)| {
        let mut document = document.clone();
        change(&mut document);
        document.to_string()
    };
    let refused = [
        ("no JSON", "hello".to_owned()),
        ("nothing", "{}".to_owned()),
        ("another version", changed(|document| document["version"] = json!(2))),
        ("a member that is not known", changed(|document| document["session"]["roof"] = json!({}))),
        ("a ceiling that is none", changed(|document| document["session"]["ceiling"] = json!("all"))),
        ("a gap", changed(|document| document["entries"][1]["number"] = json!(7))),
        ("a result without a call", changed(|document| document["entries"][2]["entry"]["id"] = json!("7"))),
        ("a member of an entry", changed(|document| document["entries"][2]["more"] = json!("7"))),
        ("no agent", changed(|document| document["session"]["agentId"] = json!(""))),
        ("an entry of no kind", changed(|document| document["entries"][0]["entry"]["entry"] = json!("system"))),
    ];
    for (what, document) in refused {
        let outcome = export::import(&store, "b", &document, None).await;
        assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{what}: {outcome:?}");
    }
    assert_eq!(export::json(&store, &key("b", "s")).await, Err(StoreError::NoSession("s".into())));
}

#[tokio::test]
async fn a_session_forks_where_every_call_has_its_result() {
    let store = Memory::new();
    told(&store).await;
    let s = key("a", "s");
    let whole = export::fork(&store, &s, None, Some("fork".into())).await.unwrap();
    assert_eq!((whole.entries, whole.name.as_deref()), (5, Some("fork")));
    assert_eq!(whole.origin, store.session(&s).await.unwrap().origin, "it may do no more");
    let part = export::fork(&store, &s, Some(3), None).await.unwrap();
    assert_eq!(numbers(&store, &key("a", &part.id)).await, [1, 2, 3]);
    for upto in [2, 4, 9] {
        let outcome = export::fork(&store, &s, Some(upto), None).await;
        assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{upto}: {outcome:?}");
    }
    assert_eq!(export::fork(&store, &s, Some(0), None).await.unwrap().entries, 0);
    assert!(matches!(export::fork(&store, &s, None, Some("FORK".into())).await, Err(StoreError::NameTaken(_))));
}
