//! A new project, written from the templates in this program.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use palisade_catalog::definition::is_valid_name;

use super::{Language, files};

/// Templates, what tools in Rust import, and the contract between host and tools, by their names.
const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// A project to be written.
pub(crate) struct NewProject {
    pub(crate) folder: PathBuf,
    /// The plugin's name.
    pub(crate) name: String,
    /// Its first tool's name.
    pub(crate) tool: String,
    pub(crate) language: Language,
}

/// The names of a plugin and its first tool that go with the last part of a path.
pub(crate) fn names_for(folder: &Path, language: Language) -> anyhow::Result<(String, String)> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let tool = name.replace('-', "_").to_lowercase();
    if !is_valid_name(&name) || !tool.starts_with(|first: char| first.is_ascii_lowercase()) || !tool.is_ascii() {
        bail!("`{name}` is no name for a plugin; it begins with a letter and has letters, digits, `-` and `_`");
    }
    if language.reserves(&tool) || tool.starts_with("system_") {
        bail!("`{tool}` means something else in {language}; choose another name, such as `my-{name}`");
    }
    Ok((name, tool))
}

impl NewProject {
    /// Writes the project into a folder that is not there or empty; gives its files.
    pub(crate) fn write(&self) -> anyhow::Result<Vec<String>> {
        if files::is_taken(&self.folder) {
            bail!("{} is there already; a new project wants a folder of its own", self.folder.display());
        }
        let written = self.files();
        for (name, content) in &written {
            let path = self.folder.join(name);
            files::write_new(&path, content.as_bytes())
                .with_context(|| format!("{} cannot be written", path.display()))?;
        }
        Ok(written.into_iter().map(|(name, _)| name).collect())
    }

    fn files(&self) -> Vec<(String, String)> {
        let own = format!("templates/{}/", self.language.word());
        let mut written = Vec::new();
        for (name, content) in EMBEDDED {
            let place = match name.strip_prefix(&own).or_else(|| name.strip_prefix("templates/shared/")) {
                Some(rest) => self.place(rest),
                None if self.language == Language::Rust && name.starts_with("sdk/") => (*name).to_owned(),
                None if self.language == Language::Rust && name.starts_with("wit/") => format!("sdk/{name}"),
                None => continue,
            };
            let content = match place.as_str() {
                // Beside its own manifest here, two folders up where it is kept.
                "sdk/src/bindings.rs" => content.replace("\"../../wit\"", "\"wit\""),
                _ => self.filled(content),
            };
            written.push((place, content));
        }
        written.sort();
        written
    }

    /// Where a file of a template goes. Some have names there that nobody mistakes for the real ones.
    fn place(&self, name: &str) -> String {
        match name {
            "Cargo.toml.in" => "Cargo.toml".to_owned(),
            "sdk.toml.in" => "sdk/Cargo.toml".to_owned(),
            "gitignore" => ".gitignore".to_owned(),
            _ => name.replace("tools/tool.", &format!("tools/{}.", self.tool)),
        }
    }

    fn filled(&self, template: &str) -> String {
        template
            .replace("{{name}}", &self.name)
            .replace("{{tool}}", &self.tool)
            .replace("{{language}}", &self.language.to_string())
            .replace("{{version}}", env!("CARGO_PKG_VERSION"))
            .replace("{{files}}", &self.rows())
    }

    /// What the read-me says of the files that only this language has.
    fn rows(&self) -> String {
        let tool = &self.tool;
        match self.language {
            Language::Rust => {
                "| `src/lib.rs` | the tool |\n| `sdk/` | what it imports; a newer `palisade` brings a newer one |"
                    .to_owned()
            }
            Language::Python => format!(
                "| `tools/{tool}.py` | the tool; each file there is one |\n| `palisade.py` | what makes a function a tool |\n| `requirements.txt` | packages that the tools import, if there are any; pure Python only |"
            ),
            Language::Javascript => format!(
                "| `tools/{tool}.js` | the tool; each file there is one |\n| `palisade.js` | what makes a function a tool |"
            ),
            Language::C => format!(
                "| `tools/{tool}.c` | the tool; each file there is one |\n| `palisade.h`, `palisade.c` | what makes a function a tool |\n| `wasi.c` | what the C library finds in the sandbox |"
            ),
        }
    }
}

/// The contract with tools: the file whose package they export from.
pub(super) fn contract() -> &'static str {
    EMBEDDED.iter().find(|(name, _)| *name == "wit/tool.wit").map_or("", |(_, text)| text)
}

/// One of the interfaces that the host offers.
pub(super) fn interface(name: &str) -> Option<&'static str> {
    let file = format!("wit/deps/host/{name}.wit");
    EMBEDDED.iter().find(|(name, _)| *name == file).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(language: Language) -> NewProject {
        NewProject { folder: PathBuf::new(), name: "word-count".into(), tool: "word_count".into(), language }
    }

    #[test]
    fn every_language_has_the_files_of_a_project() {
        for (language, source) in [
            (Language::Rust, "src/lib.rs"),
            (Language::Python, "tools/word_count.py"),
            (Language::Javascript, "tools/word_count.js"),
            (Language::C, "tools/word_count.c"),
        ] {
            let files = project(language).files();
            for name in ["plugin.json", "README.md", ".gitignore", "tests/greets.json", source] {
                let (_, content) = files.iter().find(|(file, _)| file == name).unwrap_or_else(|| panic!("{name}"));
                assert!(!content.contains("{{"), "{name}: {content}");
            }
            let manifest = files.iter().find(|(file, _)| file == "plugin.json").unwrap();
            let manifest = palisade_catalog::definition::parse_manifest(manifest.1.as_bytes(), "plugin.json").unwrap();
            assert_eq!((manifest.name.as_str(), manifest.warnings.as_slice()), ("word-count", &[][..]));
        }
    }

    #[test]
    fn what_tools_in_rust_import_comes_along() {
        let files = project(Language::Rust).files();
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        for name in ["sdk/Cargo.toml", "sdk/src/lib.rs", "sdk/wit/tool.wit", "sdk/wit/deps/host/files.wit"] {
            assert!(names.contains(&name), "{names:?}");
        }
        let bindings = files.iter().find(|(name, _)| name == "sdk/src/bindings.rs").unwrap();
        assert!(!bindings.1.contains("../.."), "{}", bindings.1);
    }

    /// The copy in a project and the crate here must not want different versions.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "reads this workspace's manifest")]
    fn the_imports_of_a_project_are_those_of_this_workspace() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
        let root: toml::Table = std::fs::read_to_string(root).unwrap().parse().unwrap();
        let files = project(Language::Rust).files();
        let own: toml::Table = files.iter().find(|(name, _)| name == "sdk/Cargo.toml").unwrap().1.parse().unwrap();
        let targets = own["target"].as_table().unwrap().values().map(|target| &target["dependencies"]);
        let mut count = 0;
        for (name, wanted) in targets.chain([&own["dependencies"]]).flat_map(|table| table.as_table().unwrap()) {
            let mut wanted = wanted.clone();
            wanted.as_table_mut().map(|table| table.remove("optional"));
            let version = |value: &toml::Value| value.get("version").unwrap_or(value).clone();
            let here = &root["workspace"]["dependencies"][name];
            assert_eq!(version(&wanted), version(here), "{name}");
            assert_eq!(wanted.get("features"), here.get("features"), "{name}");
            count += 1;
        }
        assert_eq!(count, 6);
    }

    #[test]
    fn a_name_that_the_language_has_already_is_refused() {
        let names = |name: &str, language| names_for(Path::new(name), language);
        assert_eq!(names("some/Word-Count", Language::Rust).unwrap(), ("Word-Count".into(), "word_count".into()));
        for (name, language) in [
            ("match", Language::Rust),
            ("class", Language::Python),
            ("2fast", Language::C),
            ("a b", Language::C),
            ("..", Language::C),
        ] {
            assert!(names(name, language).is_err(), "{name}");
        }
        assert!(names("match", Language::C).is_ok());
    }
}
