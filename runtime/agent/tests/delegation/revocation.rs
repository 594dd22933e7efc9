//! What is taken back from agents at work.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use palisade_agent::{
    Ceiling, FailureKind, Progress, Store as _, Tool, ToolCall, ToolOutcome, ToolResult, ToolSpec, Toolbox, Warrant,
};
use palisade_grants::{Access, Grants};
use serde_json::json;

use super::stage::{Stage, TENANT, echo};

/// What is left, as the test says.
#[derive(Clone, Default)]
struct Left(Arc<Mutex<Option<Result<Ceiling, String>>>>);

impl Left {
    fn set(&self, left: Result<Ceiling, String>) {
        *self.0.lock().unwrap() = Some(left);
    }
}

impl Warrant for Left {
    fn ceiling(&self) -> Result<Ceiling, String> {
        self.0.lock().unwrap().clone().unwrap_or_else(|| Ok(Ceiling::open()))
    }

    /// With less than everything, only `one` is left.
    fn tools(&self) -> Result<Option<Arc<Toolbox>>, String> {
        let one: Arc<dyn Tool> = Arc::new(Named::new("one", "lowered"));
        let two: Arc<dyn Tool> = Arc::new(Named::new("three", "lowered"));
        let lowered = || Some(Arc::new(Toolbox::new(vec![one, two]).unwrap()));
        Ok(if self.ceiling()? == Ceiling::open() { None } else { lowered() })
    }
}

struct Named(ToolSpec, &'static str);

impl Named {
    fn new(name: &str, says: &'static str) -> Self {
        let spec = ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            input_schema: json!({ "type": "object" }),
            capabilities: Vec::new(),
            read_only: true,
            idempotent: true,
        };
        Self(spec, says)
    }
}

#[async_trait]
impl Tool for Named {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _: &str, _: &Progress) -> ToolResult {
        ToolResult::done(self.1)
    }
}

fn reads() -> Ceiling {
    Ceiling {
        grants: Grants { files: Grants::workspace(Access::Read).files, ..Grants::everything() },
        ..Ceiling::open()
    }
}

/// DEL-11. What was taken back is gone from the next call on; nothing that came meanwhile is there.
#[tokio::test]
async fn each_call_is_made_with_what_is_left() {
    let left = Left::default();
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(Named::new("one", "whole")), Arc::new(Named::new("two", "whole"))];
    let mut toolbox = Toolbox::new(tools).unwrap();
    toolbox.hold(Arc::new(left.clone()));
    let call = async |tool: &str| {
        let call = ToolCall { id: "c".into(), tool: tool.into(), input: json!({}) };
        toolbox.call(&call, &Progress::unheard()).await
    };
    assert_eq!((call("one").await.text(), call("two").await.text()), ("whole", "whole"));
    left.set(Ok(reads()));
    assert_eq!(call("one").await.text(), "lowered");
    for (tool, expected) in [("two", FailureKind::Denied), ("three", FailureKind::UnknownTool)] {
        let ToolOutcome::Failed { kind, text } = call(tool).await.outcome else { panic!("{tool} was called") };
        assert_eq!(kind, expected, "{text}");
    }
    left.set(Err("nobody trusts it".to_owned()));
    for tool in ["one", "two"] {
        let ToolOutcome::Failed { kind, text } = call(tool).await.outcome else { panic!("{tool} was called") };
        assert!(kind == FailureKind::Denied && text.contains("nobody trusts it"), "{text}");
    }
}

/// DEL-11. What is handed down is what is left.
#[tokio::test]
async fn nobody_hands_down_what_was_taken_back() {
    let left = Left::default();
    let stage = Stage::usual().await;
    stage.with("worker", echo);
    let stage = stage.reseated(|seat| seat.warrant = Some(Arc::new(left.clone()))).await;
    let ask = || stage.ask("task", json!({ "prompt": "x", "agent": "worker" }));
    assert_eq!(ask().await["success"], true);
    assert_eq!(stage.crew.last_recruit("worker").ceiling, Ceiling::open());
    left.set(Ok(reads()));
    assert_eq!(ask().await["success"], true);
    assert_eq!(stage.crew.last_recruit("worker").ceiling, reads());
    left.set(Err("nobody trusts it".to_owned()));
    let refused = ask().await;
    assert_eq!((&refused["error_type"], &refused["error"]), (&json!("revoked"), &json!("nobody trusts it")));
}

/// S6. An agent whose start cannot be written down is not started.
#[tokio::test]
async fn no_agent_works_that_nobody_would_know_of() {
    let stage = Stage::usual().await;
    // More than a record of the audit holds.
    let agent = palisade_agent::Agent { prompt: Some("x".repeat(65 << 20)), ..palisade_agent::Agent::new("big", "") };
    stage.with_agent(agent, Ceiling::open(), |_| panic!("it was started"));
    let refused = stage.ask("agents_message", json!({ "agentId": "big", "content": "go" })).await;
    let text = refused["error"]["message"].as_str().unwrap();
    assert!(text.starts_with("agent `big` was not started, because that cannot be written down"), "{refused}");
    let listing = palisade_agent::Listing { tenant: TENANT.into(), agent: Some("big".into()), ..Default::default() };
    let sessions = stage.store.sessions(&listing).await.unwrap();
    for session in sessions {
        let last = stage.store.last_run(&palisade_agent::SessionKey::new(TENANT, &session.id)).await.unwrap();
        assert!(matches!(last.unwrap().state, palisade_agent::RunState::Ended { .. }));
    }
    assert!(stage.events().is_empty(), "{:?}", stage.events());
}
