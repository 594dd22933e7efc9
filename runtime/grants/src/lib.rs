//! What may be done.
//!
//! This crate decides and does nothing else: no I/O, no async, no clock. A [`Grants`] value says
//! what one agent may touch; [`Grants::narrow`] is the only way to combine two of them and can only
//! shrink; a `permit` method turns a request into a `Permitted*` value that the code which acts
//! demands, or into a [`Denial`] that says what would allow it. A [`ToolScope`] says which tools an
//! agent has, and a [`Policy`] decides about one call of them.

mod call;
mod candidate;
mod capability;
mod command;
mod commands;
mod denial;
mod domain;
mod files;
mod grants;
mod http;
mod lists;
mod matching;
mod names;
mod path;
mod path_pattern;
mod pattern;
mod policy;
mod reach;
mod rule;
mod scope;
mod shell;
mod storage;
mod word;

pub use call::Call;
pub use candidate::{Binding, Candidate, Identity, ToolSource};
pub use capability::{Capability, UnknownCapability};
pub use command::CommandPattern;
pub use commands::{Command, CommandsGrant, PermittedCommand};
pub use denial::Denial;
pub use domain::{BadDomain, DomainPattern};
pub use files::{Access, FilesGrant, PermittedWrite};
pub use grants::Grants;
pub use http::{Host, HttpGrant, HttpRequest, Networks, PermittedAddress, PermittedRequest};
pub use lists::Lists;
pub use names::{DELEGATION, canonical_tool};
pub use path::{BadPath, WorkspacePath};
pub use path_pattern::{BadPathPattern, PathPattern};
pub use pattern::{BadPattern, Pattern};
pub use policy::{Decision, Policy, Verdict};
pub use reach::{BadSpan, Reach, Span};
pub use rule::{BadRule, Rule, Specifier, split_list};
pub use scope::{Excluded, Resolution, Surroundings, ToolScope};
pub use storage::{PermittedKey, StorageGrant};
pub use word::{NamesGrant, Word};
