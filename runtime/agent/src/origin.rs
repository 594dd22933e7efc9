//! Where a definition was read from.

use std::fmt;

/// Where a definition was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Which of the layers.
    pub layer: Layer,
    /// The plugin that brought it; only loading a plugin sets this.
    pub plugin: Option<String>,
    /// The file, if it was one.
    pub path: Option<String>,
}

/// Who put a definition there, from the weakest to the strongest: of two agents with one name the
/// stronger is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Part of this program, or made in code.
    #[default]
    Builtin,
    /// A plugin.
    Plugin,
    /// The operator's configuration.
    Configured,
    /// The user.
    User,
    /// The repository that is worked on; it is trusted only after somebody said so.
    Project,
}

impl Layer {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Plugin => "plugin",
            Self::Configured => "configured",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Origin {
    /// Something of this program.
    pub fn builtin() -> Self {
        Self::default()
    }

    /// A file in a layer.
    pub fn file(layer: Layer, path: impl Into<String>) -> Self {
        Self { layer, plugin: None, path: Some(path.into()) }
    }

    /// Something a plugin brought.
    pub fn plugin(plugin: impl Into<String>, path: impl Into<String>) -> Self {
        Self { layer: Layer::Plugin, plugin: Some(plugin.into()), path: Some(path.into()) }
    }
}

/// `user`, or `plugin:database`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.plugin {
            Some(plugin) => write!(f, "{}:{plugin}", self.layer),
            None => self.layer.fmt(f),
        }
    }
}
