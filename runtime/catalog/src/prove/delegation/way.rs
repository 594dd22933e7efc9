//! The ways in which one agent gets to be asked by another, and asked again.

use std::sync::Arc;

use palisade_agent::{Delegation, Seat, ToolResult};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Axis,
    world::{ASKED, BETWEEN, PLUGIN, World, ask},
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
    /// In a session that somebody with other rights began.
    SessionReuse,
    /// By an answer that it did not wait for.
    AsyncCallback,
    /// Through a tool of it that calls another.
    ToolCallsTool,
    /// After its plugin was loaded again and wants more, or is gone.
    PluginReload,
    /// After its definition, the one of whoever asks, or the operator's ceiling were changed.
    ConfigChange,
}

/// One of the paths that a way has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// By `task`.
    Task,
    /// By `parallel_task`.
    InParallel,
    /// By `agents_message`.
    Message,
    /// By one that has everything now, in a session of an earlier process.
    Resume,
    Retry,
    FollowUp,
    /// By one that has everything now.
    FollowUpByWider,
    PoolReuse,
    /// In a session that one with everything began.
    SessionOfWider,
    /// By one with everything, in a session that began with little.
    SessionOfNarrower,
    Callback,
    /// For one with everything, in a session that began with little.
    CallbackForWider,
    Relay,
    Reload,
    /// While the agent works.
    ReloadMidway,
    /// The plugin is gone while the agent works.
    UnloadMidway,
    /// The plugin of the one between is gone while the agent works that it has asked.
    UnloadAbove,
    Change,
    /// While the agent works.
    ChangeMidway,
    /// While the agent works, the operator leaves to everybody what the one at the top is to have.
    LowerMidway,
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

    /// The paths that it has.
    pub(super) fn paths(self) -> &'static [Path] {
        match self {
            Self::Spawn => &[Path::Task, Path::InParallel, Path::Message],
            Self::Resume => &[Path::Resume],
            Self::Retry => &[Path::Retry],
            Self::FollowUp => &[Path::FollowUp, Path::FollowUpByWider],
            Self::PoolReuse => &[Path::PoolReuse],
            Self::SessionReuse => &[Path::SessionOfWider, Path::SessionOfNarrower],
            Self::AsyncCallback => &[Path::Callback, Path::CallbackForWider],
            Self::ToolCallsTool => &[Path::Relay],
            Self::PluginReload => &[Path::Reload, Path::ReloadMidway, Path::UnloadMidway, Path::UnloadAbove],
            Self::ConfigChange => &[Path::Change, Path::ChangeMidway, Path::LowerMidway],
        }
    }
}

impl Path {
    /// Whether the one at the top is granted everything at first, so that something can be taken back.
    pub(super) fn begins_with_everything(self) -> bool {
        matches!(self, Self::UnloadMidway | Self::UnloadAbove | Self::LowerMidway)
    }

    /// Whether the agent may do nothing any more when it tries.
    pub(super) fn ends_with_nothing(self) -> bool {
        matches!(self, Self::UnloadMidway | Self::UnloadAbove)
    }

    /// Goes it, and has the agent try at its end. Says why the agent was not even asked, if it was not; fails if
    /// the path itself cannot be gone.
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
            Self::Task => walk.try_task().await,
            Self::InParallel => walk.try_it(&walk.seat, "parallel_task", &json!({ "tasks": [task()] })).await,
            Self::Message => walk.try_it(&walk.seat, "agents_message", &message("create")).await,
            Self::Resume => walk.resume().await?,
            Self::Retry => walk.retry().await?,
            Self::FollowUp => walk.follow_up(&walk.seat).await?,
            Self::FollowUpByWider => walk.follow_up(&walk.world.seat_with_everything()).await?,
            Self::PoolReuse => walk.pool_reuse().await?,
            Self::SessionOfWider => walk.session_of_wider().await?,
            Self::SessionOfNarrower => walk.session_of_narrower().await?,
            Self::Callback => {
                walk.world.notes.lock().orders.in_callback = true;
                walk.try_task().await
            }
            Self::CallbackForWider => {
                walk.world.notes.lock().orders.in_callback = true;
                walk.follow_up(&walk.world.seat_with_everything()).await?
            }
            Self::Relay => {
                walk.world.notes.lock().orders.through_relay = true;
                walk.try_task().await
            }
            Self::Reload => walk.reload().await,
            Self::ReloadMidway => {
                walk.world.load_plugin(false);
                walk.world.notes.midway(walk.world.loading_plugin(true));
                walk.try_task().await
            }
            Self::UnloadMidway => {
                walk.world.load_plugin(true);
                walk.world.notes.midway(walk.world.unloading(ASKED));
                walk.try_task().await
            }
            Self::UnloadAbove => {
                walk.world.notes.midway(walk.world.unloading(BETWEEN));
                walk.try_it(&walk.seat, "task", &json!({ "agent": BETWEEN, "prompt": "have it done" })).await
            }
            Self::Change => walk.change().await,
            Self::ChangeMidway => {
                walk.world.notes.midway(walk.world.widening(true));
                walk.try_task().await
            }
            Self::LowerMidway => {
                walk.world.notes.midway(walk.world.lowering());
                walk.try_task().await
            }
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

fn message(session: &str) -> Value {
    json!({ "agentId": ASKED, "content": "do it", "session": session })
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

    async fn try_task(&self) -> ToolResult {
        self.try_it(&self.seat, "task", &task()).await
    }

    /// The agent is asked and answers. Below one that may ask nobody there is nothing to go on with.
    async fn warm_up(&self, seat: &Arc<Seat>, tool: &str, input: &Value) -> Result<ToolResult, ToolResult> {
        let result = ask(&self.hub, seat, tool, input).await;
        if result.is_done() { Ok(result) } else { Err(result) }
    }

    /// Another one sits at the top, with an account of its own.
    fn reseat(&self) {
        self.world.notes.lock().steps = 0;
    }

    async fn follow_up(&self, again_by: &Arc<Seat>) -> Result<ToolResult, String> {
        let first = match self.warm_up(&self.seat, "task", &task()).await {
            Ok(first) => first,
            Err(refused) => return Ok(refused),
        };
        let again = json!({ "agent_id": said(&first, "agent_id")?, "message": "and now?" });
        if !Arc::ptr_eq(again_by, &self.seat) {
            self.reseat();
        }
        Ok(self.try_it(again_by, "agent_ask", &again).await)
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
        later.reseat();
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
        Ok(self.try_task().await)
    }

    /// It worked for the same session when that had everything, and once since. What it heard then is nobody's who
    /// has less.
    async fn pool_reuse(&self) -> Result<ToolResult, String> {
        let everything = self.world.seat_with_everything();
        let wider = self.warm_up(&everything, "task", &task()).await.map_err(|refused| refused.text().to_owned())?;
        let wider = said(&wider, "session_id")?;
        self.reseat();
        let idle = match self.warm_up(&self.seat, "task", &task()).await {
            Ok(idle) => said(&idle, "session_id")?,
            Err(refused) => return Ok(refused),
        };
        let result = self.try_task().await;
        match said(&result, "session_id") {
            Ok(session) if idle == wider || session == wider => {
                let text = "an agent that had worked with everything was asked again by one that has little";
                self.world.notes.lock().mixed_up = Some(text.to_owned());
                Ok(result)
            }
            Ok(session) if session != idle => Err("another agent was asked than the one that was idle".to_owned()),
            _ => Ok(result),
        }
    }

    async fn session_of_wider(&self) -> Result<ToolResult, String> {
        let everything = self.world.seat_with_everything();
        let begun = self.warm_up(&everything, "agents_message", &message("create")).await;
        let session = said(&begun.map_err(|refused| refused.text().to_owned())?, "sessionId")?;
        self.reseat();
        Ok(self.try_it(&self.seat, "agents_message", &message(&session)).await)
    }

    async fn session_of_narrower(&self) -> Result<ToolResult, String> {
        let session = match self.warm_up(&self.seat, "agents_message", &message("create")).await {
            Ok(begun) => said(&begun, "sessionId")?,
            Err(refused) => return Ok(refused),
        };
        self.reseat();
        let everything = self.world.seat_with_everything();
        Ok(self.try_it(&everything, "agents_message", &message(&session)).await)
    }

    async fn reload(&self) -> ToolResult {
        self.world.load_plugin(false);
        if let Err(refused) = self.warm_up(&self.seat, "task", &task()).await {
            return refused;
        }
        self.world.load_plugin(true);
        self.hub.pool().evict_plugin(PLUGIN);
        self.try_task().await
    }

    async fn change(&self) -> ToolResult {
        if let Err(refused) = self.warm_up(&self.seat, "task", &task()).await {
            return refused;
        }
        // Which tools it has is its own definition's business.
        self.world.widening(false)();
        self.try_task().await
    }
}
