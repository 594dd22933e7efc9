//! How a request becomes an answer.
//!
//! [`Run`] is the file to read first: it spends a step, asks the [`Provider`], calls the tools of the
//! [`Toolbox`], and repeats. This crate has never heard of WebAssembly or of a model vendor and does no
//! I/O of its own; both are handed to it behind the two traits [`Provider`] and [`Tool`].

mod account;
mod agent;
mod artifact;
mod ask;
mod budget;
mod cancel;
mod ceiling;
mod circles;
mod clip;
mod compact;
mod delegation;
mod event;
mod gate;
mod hearing;
mod instant;
mod journal;
mod key;
mod model_name;
mod origin;
mod panels;
mod prompt;
mod provider;
mod purse;
mod run;
mod schema;
mod seen;
mod store;
mod strict;
mod tool;
mod toolbox;
mod transcript;
mod warrant;

pub use account::{Account, Admitted};
pub use agent::{Agent, CallLimits, Exposure, PermissionMode, ReasoningEffort, RunLimits, Runtime};
pub use artifact::Artifacts;
pub use ask::{Answer, Asker};
pub(crate) use budget::Remaining;
pub use budget::{Budget, Spent};
pub use cancel::{Cancellation, Canceller, cancellation};
pub use ceiling::Ceiling;
pub use clip::clip;
pub use delegation::{
    Client, Conclusion, Crew, DELEGATION_TOOLS, Delegation, DelegationLimits, Equipment, HOST_ATTRIBUTES, Handle,
    Inquiry, Peer, Piece, Pool, PoolKey, PoolStatistics, Recruit, RecruitError, Refusal, Reserve, Seat, Visit, Which,
};
pub use event::{Ending, Event, Quiet, Watcher};
pub use gate::Gate;
pub use instant::{at_instants, passing};
pub use journal::{Journal, Leased, Unwritten};
pub use model_name::{ModelName, PROVIDERS};
pub use origin::{Layer, Origin};
pub use panels::{PANEL_TOOLS, Panel, Panels, PanelsError, panel_tools};
pub use prompt::{Item, Skill, Surroundings, instructions};
pub use provider::{
    Kept, Listener, Part, Prompt, Provider, ProviderError, ProviderFailure, Reply, ReplyEnd, ReplySettings, Usage,
};
pub use purse::Purse;
pub use run::{CALLS_PER_REPLY, Outcome, Run, RunError};
pub use schema::{Schema, SchemaError};
pub use seen::misleads;
pub use store::{
    AuditRecord, Batch, CallRecord, CallState, Change, Intent, LOCAL_TENANT, Lease, Listing, NewRun, NewSession,
    Numbered, Queued, RunEnd, RunRecord, RunState, Session, SessionKey, SessionOrigin, Span, Spending, Store,
    StoreError, UsageQuery, UsageRow,
};
pub use strict::strict_json;
pub use tool::{Cost, FailureKind, Progress, Tool, ToolCall, ToolOutcome, ToolResult, ToolSpec};
pub use toolbox::{DuplicateTool, OUTPUT_LIMIT, Toolbox};
pub use transcript::{ENTRY_LIMIT, Entry, Transcript};
pub use warrant::Warrant;
