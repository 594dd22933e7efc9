//! Which words in a definition mean which field.
//!
//! One table for all formats. Every name may be written as `max_steps`, `maxSteps` or `max-steps`.

/// A field of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Field {
    Name,
    DisplayName,
    Description,
    Prompt,
    Model,
    Temperature,
    ReasoningEffort,
    MaxTokens,
    Tools,
    DisallowedTools,
    Permissions,
    PermissionMode,
    ToolAllowlist,
    ToolDenylist,
    CapabilityAllowlist,
    CapabilityDenylist,
    SkillAllowlist,
    SkillDenylist,
    AgentAllowlist,
    AgentDenylist,
    Skills,
    ToolExposure,
    MaxSteps,
    Timeout,
    Grants,
    Limits,
    Budget,
    Hidden,
    UiVisible,
    ApiExposed,
    Type,
    Chat,
    External,
    CreatedAt,
    UpdatedAt,
}

/// Each field with its own name first and then the names other programs have for it.
const FIELDS: &[(Field, &[&str])] = &[
    (Field::Name, &["name", "agent_id"]),
    (Field::DisplayName, &["display_name"]),
    (Field::Description, &["description"]),
    (Field::Prompt, &["prompt", "system_prompt"]),
    (Field::Model, &["model"]),
    (Field::Temperature, &["temperature"]),
    (Field::ReasoningEffort, &["reasoning_effort", "effort"]),
    (Field::MaxTokens, &["max_tokens"]),
    (Field::Tools, &["tools", "allowed_tools"]),
    (Field::DisallowedTools, &["disallowed_tools"]),
    (Field::Permissions, &["permissions"]),
    (Field::PermissionMode, &["permission_mode"]),
    (Field::ToolAllowlist, &["tool_allowlist"]),
    (Field::ToolDenylist, &["tool_denylist"]),
    (Field::CapabilityAllowlist, &["capability_allowlist"]),
    (Field::CapabilityDenylist, &["capability_denylist"]),
    (Field::SkillAllowlist, &["skill_allowlist"]),
    (Field::SkillDenylist, &["skill_denylist"]),
    (Field::AgentAllowlist, &["agent_allowlist"]),
    (Field::AgentDenylist, &["agent_denylist"]),
    (Field::Skills, &["skills"]),
    (Field::ToolExposure, &["tool_exposure"]),
    (Field::MaxSteps, &["max_steps", "max_turns", "steps"]),
    (Field::Timeout, &["timeout"]),
    (Field::Grants, &["grants"]),
    (Field::Limits, &["limits"]),
    (Field::Budget, &["budget"]),
    (Field::Hidden, &["hidden"]),
    (Field::UiVisible, &["ui_visible"]),
    (Field::ApiExposed, &["api_exposed"]),
    (Field::Type, &["type"]),
    (Field::Chat, &["chat"]),
    (Field::External, &["external"]),
    (Field::CreatedAt, &["created_at"]),
    (Field::UpdatedAt, &["updated_at"]),
];

/// What only loading sets: a file that says so is not believed.
const RUNTIME_ONLY: &[&str] = &["native", "plugin", "_plugin_name", "plugin_name", "source", "path", "file_path"];

/// Fields of other programs that have no effect here.
const FOREIGN: &[&str] = &[
    "argument_hint",
    "auto_compact_window",
    "background",
    "color",
    "hooks",
    "icon",
    "initial_prompt",
    "isolation",
    "kind",
    "license",
    "mcp_servers",
    "memory",
    "metadata",
    "mode",
    "observer",
    "observer_message",
    "omit_claude_md",
    "requirements",
    "tags",
    "target",
    "top_p",
    "usage_guidelines",
    "version",
];

/// Fields of other programs that take something away. To go on without them would give the agent
/// more than its author meant.
const FOREIGN_RESTRICTIONS: &[(&str, &str)] = &[
    ("permission", "write it as `permissions` with lists `allow`, `ask` and `deny`"),
    ("disable", "remove the file instead"),
    ("disabled", "remove the file instead"),
    ("extends", "write out what it would inherit"),
    ("sandbox_mode", "say what it may touch in `grants`"),
    ("timeout_mins", "write it as `timeout`, for example `5m`"),
];

/// Words that only restrictions are made of.
const RESTRICTING_WORDS: &[&str] = &[
    "allow",
    "allowed",
    "allowlist",
    "block",
    "blocked",
    "blocklist",
    "denied",
    "deny",
    "denylist",
    "disallow",
    "disallowed",
    "forbid",
    "forbidden",
    "grant",
    "grants",
    "permission",
    "permissions",
    "restrict",
    "sandbox",
];

/// The shortest of them that a slip does not make another common word of.
const MISSPELLABLE: usize = 5;

/// What a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A field of ours.
    Field(Field),
    /// Something only loading sets.
    RuntimeOnly,
    /// Something of another program, without effect here.
    Foreign,
    /// Something that is meant to restrict and that we do not know; what would help, if we know.
    UnknownRestriction(Option<&'static str>),
    /// Nothing we know.
    Unknown,
}

/// Finds out what a key of a definition means.
pub(super) fn meaning(key: &str) -> Meaning {
    let key = plain(key);
    let known = FIELDS.iter().find(|(_, names)| names.contains(&key.as_str()));
    if let Some((field, _)) = known {
        return Meaning::Field(*field);
    }
    if RUNTIME_ONLY.contains(&key.as_str()) {
        return Meaning::RuntimeOnly;
    }
    if FOREIGN.contains(&key.as_str()) {
        return Meaning::Foreign;
    }
    if let Some((_, fix)) = FOREIGN_RESTRICTIONS.iter().find(|(name, _)| *name == key) {
        return Meaning::UnknownRestriction(Some(fix));
    }
    let restricts = |name| matches!(meaning(name), Meaning::Field(field) if field.restricts());
    if nearest(&key).is_some_and(restricts) || sounds_restricting(&key) {
        return Meaning::UnknownRestriction(None);
    }
    Meaning::Unknown
}

/// The name of ours that a key is nearest to.
pub(super) fn nearest(key: &str) -> Option<&'static str> {
    let names = FIELDS.iter().flat_map(|(_, names)| names.iter().copied());
    super::suggest::nearest(&plain(key).to_ascii_lowercase(), names)
}

/// Whether a key has a word in it that only restrictions are made of, or nearly so.
pub(super) fn sounds_restricting(key: &str) -> bool {
    let is_one = |word: &str, known: &str| {
        let is_misspellable = known.len() >= MISSPELLABLE && known != "block" && known.len().abs_diff(word.len()) <= 1;
        word == known || is_misspellable && super::suggest::slips(word, known) <= 1
    };
    let words = plain(key).to_ascii_lowercase();
    words
        .split('_')
        .filter(|word| word.len() < 32)
        .any(|word| RESTRICTING_WORDS.iter().any(|known| is_one(word, known)))
}

/// `maxSteps` and `max-steps` as `max_steps`.
pub(super) fn plain(key: &str) -> String {
    let mut plain = String::with_capacity(key.len() + 4);
    for (at, character) in key.char_indices() {
        match character {
            '-' => plain.push('_'),
            'A'..='Z' if at > 0 => {
                plain.push('_');
                plain.push(character.to_ascii_lowercase());
            }
            _ => plain.push(character),
        }
    }
    plain
}

impl Field {
    /// Its own name, in which it is written.
    pub(super) fn name(self) -> &'static str {
        let names = FIELDS.iter().find(|(field, _)| *field == self).map(|(_, names)| *names);
        names.and_then(|names| names.first().copied()).unwrap_or_default()
    }

    /// Whether leaving it out would give the agent more than its author meant.
    pub(super) fn restricts(self) -> bool {
        match self {
            Self::Tools
            | Self::DisallowedTools
            | Self::Permissions
            | Self::PermissionMode
            | Self::ToolAllowlist
            | Self::ToolDenylist
            | Self::CapabilityAllowlist
            | Self::CapabilityDenylist
            | Self::SkillAllowlist
            | Self::SkillDenylist
            | Self::AgentAllowlist
            | Self::AgentDenylist
            | Self::Grants
            | Self::Limits
            | Self::Budget
            | Self::UiVisible => true,
            // A misspelt limit of steps or time falls back to the usual one, which is one, too.
            Self::MaxSteps
            | Self::Timeout
            | Self::Name
            | Self::DisplayName
            | Self::Description
            | Self::Prompt
            | Self::Model
            | Self::Temperature
            | Self::ReasoningEffort
            | Self::MaxTokens
            | Self::Skills
            | Self::ToolExposure
            | Self::Hidden
            | Self::ApiExposed
            | Self::Type
            | Self::Chat
            | Self::External
            | Self::CreatedAt
            | Self::UpdatedAt => false,
        }
    }
}
