//! A throw-away home and workspace, and the program in it. Nothing of the real user is seen or touched.
#![expect(clippy::disallowed_methods, reason = "tests make their own folders and start the program")]
#![expect(clippy::unwrap_used, reason = "a test that cannot set its stage has failed")]

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

pub(crate) struct World {
    folder: tempfile::TempDir,
}

/// What one start of the program came to.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    /// An empty workspace.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "workspace"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// A small code base.
    pub(crate) fn new() -> Self {
        let world = Self::empty();
        world.add("README.md", "# Ferry\n\nCarries parcels across the river.\n");
        world.add("Cargo.toml", "[package]\nname = \"ferry\"\nversion = \"0.1.0\"\n");
        world.add("src/main.rs", "//! The ferry.\n\nmod harbour;\n\nfn main() {\n    harbour::unload_parcels();\n}\n");
        world
            .add("src/harbour.rs", "//! Where parcels wait.\n\n/// Unloads all parcels.\npub fn unload_parcels() {}\n");
        world
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// Everything below this folder belongs to the program's user.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn add(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.workspace().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// A symbolic link in the workspace.
    pub(crate) fn link(&self, path: &str, target: &str) {
        std::os::unix::fs::symlink(target, self.workspace().join(path)).unwrap();
    }

    /// A file outside of the workspace.
    pub(crate) fn add_outside(&self, name: &str, content: &[u8]) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.workspace().join(path)).ok()
    }

    /// Every file below a folder.
    pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.flat_map(|path| if path.is_dir() { Self::files_below(&path) } else { vec![path] }).collect()
    }

    /// Makes a search of the workspace take longer than a call may: a large file, in many places.
    pub(crate) fn fill_for_a_long_search(&self) {
        let file = self.add("pages/0.txt", "All quiet on the river today.\n".repeat(1 << 20));
        for number in 1..2000 {
            fs::hard_link(&file, file.with_file_name(format!("{number}.txt"))).unwrap();
        }
    }

    /// Where sessions are kept.
    pub(crate) fn database(&self) -> PathBuf {
        self.home().join(".local/share/palisade/palisade.db")
    }

    /// A model that replies as a script says, to be named with `--model`.
    pub(crate) fn script(&self, name: &str, replies: &str) -> String {
        format!("scripted:{}", self.add_outside(name, replies.as_bytes()))
    }

    /// Changes one byte in the middle of a file.
    pub(crate) fn damage(path: &Path) {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x40;
        fs::write(path, bytes).unwrap();
    }

    /// A folder that everybody may write into.
    pub(crate) fn open_to_all(folder: &Path) {
        use std::os::unix::fs::PermissionsExt as _;
        fs::create_dir_all(folder).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    }

    /// The user's configuration; gives its path.
    pub(crate) fn configure(&self, text: &str) -> String {
        self.add_at_home(".config/palisade/config.toml", text)
    }

    /// The operator's.
    pub(crate) fn configure_operator(&self, text: &str) {
        fs::write(self.operator_config(), text).unwrap();
    }

    /// An agent of the user's.
    pub(crate) fn add_agent(&self, name: &str, text: &str) {
        self.add_at_home(&format!(".config/palisade/agents/{name}.md"), text);
    }

    /// A file below the user's home; gives its path.
    pub(crate) fn add_at_home(&self, path: &str, text: &str) -> String {
        let path = self.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    pub(crate) fn operator_config(&self) -> PathBuf {
        self.folder.path().join("operator.toml")
    }

    /// Starts the program in the workspace.
    pub(crate) fn palisade(&self, arguments: &[&str]) -> Ended {
        self.start(&[], arguments, "")
    }

    /// The same, with something on standard input.
    pub(crate) fn palisade_reading(&self, arguments: &[&str], input: &str) -> Ended {
        self.start(&[], arguments, input)
    }

    /// The same, with variables.
    pub(crate) fn palisade_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Ended {
        self.start(variables, arguments, "")
    }

    fn start(&self, variables: &[(&str, &str)], arguments: &[&str], input: &str) -> Ended {
        let mut child = Command::new(env!("CARGO_BIN_EXE_palisade"))
            .args(arguments)
            .current_dir(self.workspace())
            .env_clear()
            .env("HOME", self.home())
            // Programs that print keys are looked for there.
            .env("PATH", "/usr/bin:/bin")
            .env("PALISADE_OPERATOR_CONFIG", self.operator_config())
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that does not read its input may have closed it.
        drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
        let output = child.wait_with_output().unwrap();
        Ended {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ended {
    #[track_caller]
    pub(crate) fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}
