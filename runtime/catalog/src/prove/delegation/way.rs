//! The ways in which one agent gets to be asked by another, and asked again.

use std::sync::Arc;

use palisade_agent::{Delegation, Seat, ToolResult};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Axis,
    world::{ASKED, PLUGIN, World, ask},
};

/// How an agent gets to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// For the first time.
    Spawn,
    /// By another process, in a session that an earlier one began.
    Resume,
    /// Again, after it failed.
    Retry,
    /// Again, with a question about its answer.
    FollowUp,
    /// Again, when it waits idle for another task.
    PoolReuse,
    /// In a session that somebody with more rights began.
    SessionReuse,
    /// By an answer that it did not wait for.
    AsyncCallback,
    /// Through a tool of it that calls another.
    ToolCallsTool,
    /// After its plugin was loaded again and wants more.
    PluginReload,
    /// After its definition and the one of whoever asks were changed.
    ConfigChange,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Spawn,
        Self::Resume,
        Self::Retry,
        Self::FollowUp,
        Self::PoolReuse,
        Self::SessionReuse,
        Self::AsyncCallback,
        Self::ToolCallsTool,
        Self::PluginReload,
        Self::ConfigChange,
    ];

    /// The words for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Spawn => "spawn",
            Self::Resume => "resume",
            Self::Retry => "retry",
            Self::FollowUp => "follow-up",
            Self::PoolReuse => "pool-reuse",
            Self::SessionReuse => "session-reuse",
            Self::AsyncCallback => "async-callback",
            Self::ToolCallsTool => "tool-calls-tool",
            Self::PluginReload => "plugin-reload",
            Self::ConfigChange => "config-change",
        }
    }

    /// Goes it, and has the agent try at its end. Says why the agent was not even asked, if it was not; fails if
    /// the way itself cannot be gone.
    pub(super) async fn go(self, world: &mut World<'_>, axis: Axis) -> Result<Option<String>, String> {
        let store = match self {
            Self::Resume => world.lasting().await,
            _ => world.store().await,
        };
        let store = store.map_err(|error| error.to_string())?;
        let hub = world.hub(&store);
        let seat = world.seat();
        let walk = Walk { world, hub, seat, axis };
        let last = match self {
            Self::Spawn => walk.try_it(&walk.seat, "task", &task()).await,
            Self::Resume => walk.resume().await?,
            Self::Retry => walk.retry().await?,
            Self::FollowUp => walk.follow_up().await?,
            Self::PoolReuse => walk.pool_reuse().await?,
            Self::SessionReuse => walk.session_reuse().await?,
            Self::AsyncCallback => walk.callback().await,
            Self::ToolCallsTool => {
                walk.world.notes.lock().orders.through_relay = true;
                walk.try_it(&walk.seat, "task", &task()).await
            }
            Self::PluginReload => walk.plugin_reload().await?,
            Self::ConfigChange => walk.config_change().await?,
        };
        walk.hub.settled().await;
        Ok((!walk.world.seen().tried).then(|| said(&last, "error").unwrap_or_else(|text| text)))
    }
}

/// One case under way.
struct Walk<'w, 'a> {
    world: &'w World<'a>,
    hub: Arc<Delegation>,
    seat: Arc<Seat>,
    axis: Axis,
}

fn task() -> Value {
    json!({ "agent": ASKED, "prompt": "do it" })
}

/// What a result says under a name.
fn said(result: &ToolResult, name: &str) -> Result<String, String> {
    let value: Value = serde_json::from_str(result.text()).unwrap_or_default();
    value.get(name).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| result.text().to_owned())
}

impl Walk<'_, '_> {
    /// From now on the agent tries, and it is asked.
    async fn try_it(&self, seat: &Arc<Seat>, tool: &str, input: &Value) -> ToolResult {
        self.world.notes.lock().orders.axis = Some(self.axis);
        ask(&self.hub, seat, tool, input).await
    }

    /// The agent is asked and answers. Below one that may ask nobody there is nothing to go on with.
    async fn warm_up(&self, seat: &Arc<Seat>, tool: &str, input: &Value) -> Result<ToolResult, ToolResult> {
        let result = ask(&self.hub, seat, tool, input).await;
        if result.is_done() { Ok(result) } else { Err(result) }
    }

    async fn follow_up(&self) -> Result<ToolResult, String> {
        let first = match self.warm_up(&self.seat, "task", &task()).await {
            Ok(first) => first,
            Err(refused) => return Ok(refused),
        };
        let again = json!({ "agent_id": said(&first, "agent_id")?, "message": "and now?" });
        Ok(self.try_it(&self.seat, "agent_ask", &again).await)
    }

    /// Another process finds the session and asks again, with everything, as if its own definition had changed.
    async fn resume(&self) -> Result<ToolResult, String> {
        let first = match self.warm_up(&self.seat, "task", &task()).await {
            Ok(first) => first,
            Err(refused) => return Ok(refused),
        };
        let again = json!({ "agent_id": said(&first, "agent_id")?, "message": "and now?" });
        let store = self.world.lasting().await.map_err(|error| error.to_string())?;
        let later = Walk { hub: self.world.hub(&store), seat: self.world.seat_with_everything(), ..*self };
        let result = later.try_it(&later.seat, "agent_ask", &again).await;
        later.hub.settled().await;
        Ok(result)
    }

    async fn retry(&self) -> Result<ToolResult, String> {
        self.world.notes.lock().orders.fail = true;
        let failed = ask(&self.hub, &self.seat, "task", &task()).await;
        if std::mem::take(&mut self.world.notes.lock().orders.fail) {
            return Ok(failed);
        }
        if failed.is_done() {
            return Err("it was to fail and did not".to_owned());
        }
        Ok(self.try_it(&self.seat, "task", &task()).await)
    }

    /// It worked for the same session when that had everything, and once since.
    async fn pool_reuse(&self) -> Result<ToolResult, String> {
        let everything = self.world.seat_with_everything();
        if let Err(refused) = self.warm_up(&everything, "task", &task()).await {
            return Err(refused.text().to_owned());
        }
        let idle = match self.warm_up(&self.seat, "task", &task()).await {
            Ok(idle) => said(&idle, "session_id")?,
            Err(refused) => return Ok(refused),
        };
        let result = self.try_it(&self.seat, "task", &task()).await;
        match said(&result, "session_id") {
            Ok(session) if session != idle => Err("another agent was asked than the one that was idle".to_owned()),
            _ => Ok(result),
        }
    }

    async fn session_reuse(&self) -> Result<ToolResult, String> {
        let everything = self.world.seat_with_everything();
        let message = |session: &str| json!({ "agentId": ASKED, "content": "do it", "session": session });
        let begun = self.warm_up(&everything, "agents_message", &message("create")).await;
        let session = said(&begun.map_err(|refused| refused.text().to_owned())?, "sessionId")?;
        Ok(self.try_it(&self.seat, "agents_message", &message(&session)).await)
    }

    async fn callback(&self) -> ToolResult {
        self.world.notes.lock().orders.in_callback = true;
        let result = self.try_it(&self.seat, "task", &task()).await;
        self.hub.settled().await;
        result
    }

    async fn plugin_reload(&self) -> Result<ToolResult, String> {
        self.world.load_plugin(false);
        if let Err(refused) = self.warm_up(&self.seat, "task", &task()).await {
            return Ok(refused);
        }
        self.world.load_plugin(true);
        self.hub.pool().evict_plugin(PLUGIN);
        Ok(self.try_it(&self.seat, "task", &task()).await)
    }

    async fn config_change(&self) -> Result<ToolResult, String> {
        if let Err(refused) = self.warm_up(&self.seat, "task", &task()).await {
            return Ok(refused);
        }
        self.world.widen_definitions();
        Ok(self.try_it(&self.seat, "task", &task()).await)
    }
}
