//! What is loaded from files and becomes an agent that can act.
//!
//! The only crate that knows both agents and sandboxes. A [`definition`] is read, the [`Registry`]
//! decides which one is meant, [`effective`] works out what it may do, and [`equip`] gives it its
//! tools, each a component linked to what it may touch.

mod builtin;
mod crew;
pub mod definition;
mod effective;
mod equip;
mod explain;
mod fingerprint;
mod plugin_tools;
pub mod prove;
mod registry;
mod servers;
mod shell_commands;
mod skill_tool;
mod skills;
mod surroundings;
mod tool;
mod warrant;

pub use blake3::Hash as FileDigest;
pub use builtin::BuiltIn;
pub use crew::{Chosen, LocalCrew, Outfitter};
pub use definition::{Notice, Severity};
pub use effective::{Available, Effective, EffectiveTool, Under, available, effective, effective_under};
pub use equip::{EquipError, Equipped, LeftOut, Missing, equip};
pub use explain::{ExplainedCall, Explanation};
pub use plugin_tools::{NativeCommand, PluginComponent, choose_offer, pin_told, told_words};
pub use registry::{
    AskError, BadWord, COMPAT_DIRS, CheckError, Checked, CheckedSkills, ConfiguredServer, Entry, FileCache, FindError,
    FoundSkill, Granted, HeldLock, KeptError, LoadError, Located, Locked, LockedPlugins, PROJECT_SERVERS, PinnedServer,
    PinnedTool, Places, Plugin, PluginTool, ProjectFile, RegisterError, Registry, Server, ServerPins, ServerSettings,
    ServerVariables, ServersFile, Shadowed, SharedRegistry, SkillError, SkillFile, SkillPlaces, Skills, Status, Trust,
    TrustError, check_paths, check_skills, real_path, roster, tool_pin, write_new,
};
pub use servers::{Met, ServerTool, meet};
pub use skill_tool::skill_tool;
pub use skills::{OwnSkill, OwnSkills, skills_of};
pub use surroundings::surroundings;
pub use warrant::Standing;
