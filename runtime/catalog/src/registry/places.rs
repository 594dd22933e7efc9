//! Where definitions are looked for, from the weakest place to the strongest.

use std::path::{Path, PathBuf};

use palisade_agent::Layer;

use super::read;
use crate::definition::{ConfigSettings, Notice};

/// Where definitions, plugins and decisions about them are looked for. What is absent is not looked
/// for; the default is nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The operator's configuration. Named, it must be there.
    pub config: Option<PathBuf>,
    /// The user's folders, the weakest first: usually `agents` and `subagents` in `.palisade` of the
    /// home folder, and `palisade/agents` where programs keep their settings.
    pub user: Vec<PathBuf>,
    /// The user's home, below which folders of other programs are looked for.
    pub home: Option<PathBuf>,
    /// What is worked on. Its `.palisade/agents`, `.palisade/subagents` and the folders of other
    /// programs below it are the project's.
    pub workspace: Option<PathBuf>,
    /// Folders from the command line; they go before those of the configuration.
    pub agent_dirs: Vec<PathBuf>,
    /// Where plugins are, instead of where the configuration says.
    pub plugins_dir: Option<PathBuf>,
    /// Where plugins are if nobody says where.
    pub own_plugins: Option<PathBuf>,
    /// The file that says what was installed there, and what the operator let it have; without it nobody has anything.
    pub plugin_lock: Option<PathBuf>,
    /// The file that says what MCP servers said of their tools when they were met; without it nothing of that is kept.
    pub server_pins: Option<PathBuf>,
    /// The file of decisions about trust; without it no project is trusted.
    pub trust: Option<PathBuf>,
    /// Folders of this program itself: settings, keys, decisions, compiled code. Where they lie in the
    /// workspace, they are not there for any agent.
    pub private: Vec<PathBuf>,
    /// Further files that decide over agents. Where they lie in the workspace, no agent changes them.
    pub deciding: Vec<PathBuf>,
}

/// Folders of other programs that are looked at unless the configuration lists `compat_dirs`; an
/// empty list there means none.
pub const COMPAT_DIRS: [&str; 2] = [".claude/agents", ".acai/subagents"];

/// The project's own folders, the weakest first.
const PROJECT_DIRS: [&str; 2] = [".palisade/agents", ".palisade/subagents"];

/// What a folder of skills is called.
const SKILLS: &str = super::skills::FOLDER;

/// A folder of definitions that might be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folder {
    pub(super) layer: Layer,
    pub(super) at: PathBuf,
    /// Its path below the workspace, if it is reached from there.
    pub(super) below_workspace: Option<String>,
    /// Somebody named it, so that it should be there.
    pub(super) is_named: bool,
}

impl Places {
    /// The folders of definitions, the weakest first.
    pub(super) fn folders(
        &self,
        settings: &ConfigSettings,
        compat: &[String],
        notices: &mut Vec<Notice>,
    ) -> Vec<Folder> {
        let named = |at| Folder { layer: Layer::Configured, at, below_workspace: None, is_named: true };
        let configured = settings.agent_dirs.iter().map(|dir| self.configured(dir));
        let mut folders: Vec<Folder> = configured.chain(self.agent_dirs.iter().cloned()).map(named).collect();

        let compat: Vec<String> = compat.iter().filter_map(|dir| self.compat(dir, notices)).collect();
        let theirs = self.home.iter().flat_map(|home| compat.iter().map(move |dir| home.join(dir)));
        folders.extend(theirs.chain(self.user.iter().cloned()).map(|at| Folder {
            layer: Layer::User,
            at,
            below_workspace: None,
            is_named: false,
        }));

        let own = PROJECT_DIRS.into_iter().map(str::to_owned);
        folders.extend(self.workspace.iter().flat_map(|workspace| {
            compat.iter().cloned().chain(own.clone()).map(|dir| Folder {
                layer: Layer::Project,
                at: workspace.join(&dir),
                below_workspace: Some(dir),
                is_named: false,
            })
        }));
        folders
    }

    /// The folders of skills, the weakest first: each lies beside a folder of agents.
    pub(super) fn skill_folders(&self, compat: &[String]) -> Vec<Folder> {
        let beside = |dir: &Path| dir.parent().filter(|dir| !dir.as_os_str().is_empty()).map(|dir| dir.join(SKILLS));
        let compat = compat.iter().filter_map(|dir| read::inside(dir).ok());
        let mut theirs: Vec<PathBuf> = compat.filter_map(|dir| beside(Path::new(&dir))).collect();
        theirs.dedup();
        let of_home = self.home.iter().flat_map(|home| theirs.iter().map(move |dir| home.join(dir)));
        let mut of_user: Vec<PathBuf> = of_home.chain(self.user.iter().filter_map(|dir| beside(dir))).collect();
        of_user.dedup();
        let user = |at| Folder { layer: Layer::User, at, below_workspace: None, is_named: false };
        let mut folders: Vec<Folder> = of_user.into_iter().map(user).collect();
        let own = PROJECT_DIRS.into_iter().filter_map(|dir| beside(Path::new(dir)));
        let mut of_project: Vec<PathBuf> = theirs.iter().cloned().chain(own).collect();
        of_project.dedup();
        folders.extend(self.workspace.iter().flat_map(|workspace| {
            of_project.iter().filter_map(|dir| dir.to_str()).map(|dir| Folder {
                layer: Layer::Project,
                at: workspace.join(dir),
                below_workspace: Some(dir.to_owned()),
                is_named: false,
            })
        }));
        folders
    }

    /// Where plugins are.
    pub(super) fn plugins(&self, settings: &ConfigSettings) -> Option<PathBuf> {
        let configured = || settings.plugins_dir.as_deref().map(|dir| self.configured(dir));
        self.plugins_dir.clone().or_else(configured).or_else(|| self.own_plugins.clone())
    }

    /// A path as the configuration writes it: `~` is the user's home, and what is relative is meant
    /// from the folder of the configuration.
    pub(super) fn configured(&self, path: &str) -> PathBuf {
        match (path.strip_prefix('~'), &self.home) {
            (Some(""), Some(home)) => home.clone(),
            (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            _ => self.config.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).join(path),
        }
    }

    fn compat(&self, dir: &str, notices: &mut Vec<Notice>) -> Option<String> {
        let inside = read::inside(dir).ok();
        if inside.is_none() {
            let file = self.config.as_deref().unwrap_or(Path::new("")).display().to_string();
            notices.push(Notice {
                field: Some("compat_dirs".to_owned()),
                fix: Some("write it relative to the workspace, or list it in `agent_dirs`".to_owned()),
                ..Notice::warning(file, format!("`{dir}` is not looked for: it is no folder below another"))
            });
        }
        inside
    }
}
