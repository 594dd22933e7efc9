//! Where outputs are kept that are too long for a model: files of the user's own, for a week.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Mutex,
    time::{Duration, SystemTime},
};

use palisade_agent::{Artifacts, ToolCall};

/// How long outputs are kept.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The most bytes that one run may keep: a model chooses how often it asks for much.
const MOST: usize = 64 << 20;

/// Keeps the outputs of one run in a folder of its own, made with the first of them.
pub(crate) struct Shelf {
    /// Below it every run has a folder.
    all: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    folder: Option<PathBuf>,
    count: usize,
    bytes: usize,
}

impl Shelf {
    /// Keeps outputs below a folder, and forgets what lies there for too long.
    pub(crate) fn below(data: &Path) -> Self {
        let all = data.join("artifacts");
        forget_old(&all);
        Self { all, state: Mutex::default() }
    }
}

impl Artifacts for Shelf {
    fn keep(&self, call: &ToolCall, output: &str) -> Option<String> {
        let mut state = self.state.lock().ok()?;
        if state.bytes.saturating_add(output.len()) > MOST {
            return None;
        }
        let folder = match &state.folder {
            Some(folder) => folder.clone(),
            None => make_folder(&self.all)?,
        };
        state.folder = Some(folder.clone());
        state.count += 1;
        let tool: String = call.tool.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
        let path = folder.join(format!("{:03}-{tool}.txt", state.count));
        write_private(&path, output)?;
        state.bytes += output.len();
        Some(path.display().to_string())
    }
}

/// A folder that only its owner can look into, named after the time and something nobody guesses.
fn make_folder(all: &Path) -> Option<PathBuf> {
    let mut random = [0; 4];
    getrandom::fill(&mut random).ok()?;
    let folder = all.join(format!("{}-{:08x}", seconds(SystemTime::now())?, u32::from_le_bytes(random)));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
    Some(folder)
}

#[expect(clippy::disallowed_methods, reason = "writes into the user's own data folder")]
fn write_private(path: &Path, text: &str) -> Option<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).ok()?;
    file.write_all(text.as_bytes()).ok()
}

/// When a folder was made, if its name is one that we give.
fn made(name: &str) -> Option<u64> {
    let (seconds, random) = name.split_once('-')?;
    let is_ours = random.len() == 8 && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    seconds.parse().ok().filter(|_| is_ours)
}

fn seconds(time: SystemTime) -> Option<u64> {
    Some(time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs())
}

/// Removes what we made and is too old. What somebody else put there is not ours to remove, wherever the
/// data folder is; what cannot be removed stays: it is in nobody's way.
#[expect(clippy::disallowed_methods, reason = "tidies the user's own data folder")]
fn forget_old(all: &Path) {
    let Some(oldest) = SystemTime::now().checked_sub(KEPT).and_then(seconds) else { return };
    let Ok(folders) = fs::read_dir(all) else { return };
    for folder in folders.flatten() {
        let is_old = folder.file_name().to_str().and_then(made).is_some_and(|made| made < oldest);
        if is_old && folder.file_type().is_ok_and(|kind| kind.is_dir()) {
            drop(fs::remove_dir_all(folder.path()));
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "looks at a folder of its own")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use serde_json::json;

    use super::*;

    fn call(tool: &str) -> ToolCall {
        ToolCall { id: "../../x".into(), tool: tool.into(), input: json!({}) }
    }

    /// SEC-04
    #[test]
    fn outputs_are_kept_for_their_owner_alone() {
        let data = tempfile::tempdir().unwrap();
        let shelf = Shelf::below(data.path());
        let paths = ["grep", "../../etc/x"].map(|tool| PathBuf::from(shelf.keep(&call(tool), "whole").unwrap()));
        for path in &paths {
            assert!(path.starts_with(data.path().join("artifacts")), "{}", path.display());
            assert_eq!(fs::read_to_string(path).unwrap(), "whole");
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        }
        assert_ne!(paths[0], paths[1]);
    }

    #[test]
    fn one_run_cannot_fill_the_disk() {
        let data = tempfile::tempdir().unwrap();
        let shelf = Shelf::below(data.path());
        let large = "x".repeat(MOST / 2);
        assert!(shelf.keep(&call("a"), &large).is_some() && shelf.keep(&call("a"), &large).is_some());
        assert_eq!(shelf.keep(&call("a"), "x"), None);
    }

    #[test]
    fn what_is_older_than_a_week_is_forgotten_and_nothing_of_others() {
        let data = tempfile::tempdir().unwrap();
        let past = SystemTime::now() - KEPT - Duration::from_secs(60);
        let add = |name: &str| {
            let folder = data.path().join("artifacts").join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::File::open(&folder).unwrap().set_modified(past).unwrap();
            folder
        };
        let (now, then) = (seconds(SystemTime::now()).unwrap(), seconds(past).unwrap());
        let old = add(&format!("{then}-0123abcd"));
        // A data folder may be anywhere, also where somebody else keeps artifacts.
        let kept = [format!("{now}-0123abcd"), "release".to_owned(), format!("{then}-notes"), "1".to_owned()];
        let kept = kept.map(|name| add(&name));
        drop(Shelf::below(data.path()));
        assert!(!old.exists());
        kept.iter().for_each(|folder| assert!(folder.exists(), "{}", folder.display()));
    }
}
