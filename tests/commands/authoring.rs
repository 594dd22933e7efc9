//! Writing a plugin: from nothing to a tool that was called, in every language.
#![expect(clippy::unwrap_used, reason = "a value that is not there fails the test")]
#![expect(clippy::disallowed_methods, reason = "tests make their own folders and start the program")]

mod guide;
mod languages;
mod mistakes;
mod powers;
mod watching;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::world::{Ended, World};

/// Somebody who writes plugins in one language.
struct Author {
    world: World,
    variables: Vec<(String, String)>,
}

/// What a language needs beside what the tests need themselves, by the folder that `just` installs it into.
fn compiler(language: &str) -> Option<&'static str> {
    match language {
        "python" => Some("componentize-py-0.25.1"),
        "javascript" => Some("componentize-qjs-0.4.5"),
        "c" => Some("ziglang-0.17.0"),
        _ => None,
    }
}

fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")
}

impl Author {
    /// None where the compiler is not installed, which is said, and is an error where everything has to be.
    fn of(language: &str) -> Option<Self> {
        let toolchains = target().join("toolchains");
        if let Some(compiler) = compiler(language).filter(|name| !toolchains.join(name).join("installed").is_file()) {
            let why = format!("SKIPPED: {compiler} is not here; `tests/prepare compilers` installs it");
            assert!(env::var_os("CI").is_none_or(|ci| ci != "true"), "{why}");
            #[expect(clippy::print_stderr, reason = "what is not tested must not go unseen")]
            {
                eprintln!("{why}");
            }
            return None;
        }
        let home = PathBuf::from(env::var_os("HOME").unwrap());
        let place = |variable: &str, folder: &str| env::var_os(variable).map_or(home.join(folder), PathBuf::from);
        let shown = |path: PathBuf| path.display().to_string();
        let variables = [
            ("PATH", env::var("PATH").unwrap()),
            ("CARGO_HOME", shown(place("CARGO_HOME", ".cargo"))),
            ("RUSTUP_HOME", shown(place("RUSTUP_HOME", ".rustup"))),
            // Whatever is built of the registry's crates is the same for every project.
            ("CARGO_TARGET_DIR", shown(fs::canonicalize(target()).unwrap_or_else(|_| target()).join("authoring"))),
            ("CARGO_NET_OFFLINE", "true".to_owned()),
            ("PALISADE_TOOLCHAINS", shown(fs::canonicalize(&toolchains).unwrap_or(toolchains))),
        ];
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Some(Self { world: World::empty(), variables })
    }

    fn palisade(&self, arguments: &[&str]) -> Ended {
        let variables: Vec<(&str, &str)> =
            self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.world.palisade_with(&variables, arguments)
    }

    /// Writes a new project. Its crates are those that are here already: a test fetches nothing.
    fn new_project(&self, name: &str, language: &str) {
        self.palisade(&["plugins", "new", name, "--lang", language]).with_code(0);
        self.lock(name);
    }

    fn lock(&self, project: &str) {
        let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
        if self.world.read(&format!("{project}/Cargo.toml")).is_some() {
            self.world.add(&format!("{project}/Cargo.lock"), fs::read(lock).unwrap());
        }
    }

    /// Replaces a part of a file that must be there.
    #[track_caller]
    fn change(&self, file: &str, from: &str, to: &str) {
        let text = self.world.read(file).unwrap();
        assert!(text.contains(from), "no {from} in\n{text}");
        self.world.add(file, text.replace(from, to));
    }
}

/// The recipes install what the program asks for.
#[test]
fn the_recipes_install_the_compilers_that_are_asked_for() {
    let prepare = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/prepare")).unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/authoring/languages");
    for language in ["python", "javascript", "c"] {
        let (name, version) = compiler(language).unwrap().rsplit_once('-').unwrap();
        let source = fs::read_to_string(sources.join(format!("{language}.rs"))).unwrap();
        assert!(source.contains(&format!("name: \"{name}\", version: \"{version}\"")), "{source}");
        assert!(prepare.contains(&format!("{name} {version}")), "{language}");
    }
}
