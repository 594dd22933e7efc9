//! Walking a tree the way people see it: sorted, without what `.gitignore` and `.ignore` leave
//! out, without hidden files unless asked for, and never through a symbolic link.

use std::{iter, rc::Rc};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::files::{self, Entry, FileError, Kind};
pub use crate::text::clean;

/// What a walk includes beside ordinary files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Names that begin with a dot (never `.git`).
    pub hidden: bool,
    /// What the ignore files leave out, and `.git`.
    pub ignored: bool,
    /// How many levels below the start to go; `None` for all.
    pub max_depth: Option<usize>,
}

/// Something a walk came across.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Path relative to the workspace, such as `src/main.rs`.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// 1 for what lies in the start directory itself.
    pub depth: usize,
}

/// A depth-first walk in name order. A directory that cannot be listed gives an error in its
/// place, and the walk goes on.
pub struct Walk {
    options: Options,
    /// What is left to visit, last first.
    stack: Vec<Visit>,
}

struct Visit {
    found: Found,
    rules: Option<Rc<Rules>>,
    list: bool,
}

/// The ignore files of one directory, and those of the directories above it.
struct Rules {
    gitignore: Gitignore,
    above: Option<Rc<Rules>>,
}

/// The rule files, the stronger one last.
const RULE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// A rule file larger than this is not one that somebody wrote.
const MAX_RULES: u32 = 1 << 20;

impl Walk {
    /// Starts at a directory (`""` is the workspace). The ignore files above it count too.
    pub fn new(start: &str, options: Options) -> Self {
        let start = clean(start);
        let mut rules = None;
        if !options.ignored {
            for directory in ancestors(&start) {
                rules = Rules::read(directory, &RULE_FILES, rules);
            }
        }
        let found = Found { path: start, kind: Kind::Directory, depth: 0 };
        Self { options, stack: vec![Visit { found, rules, list: true }] }
    }

    /// Leaves out what lies below the directory that was found last.
    pub fn leave(&mut self, directory: &Found) {
        while self.stack.last().is_some_and(|visit| visit.found.depth > directory.depth) {
            self.stack.pop();
        }
    }

    /// Puts the children of a directory on the stack.
    fn enter(&mut self, directory: &Found, above: Option<Rc<Rules>>) -> Result<(), FileError> {
        let listing = files::list(&directory.path)?;
        let rules = if self.options.ignored {
            None
        } else {
            let present: Vec<&str> = RULE_FILES
                .into_iter()
                .filter(|rule_file| {
                    listing.entries.iter().any(|entry| entry.name == *rule_file && entry.kind == Kind::File)
                })
                .collect();
            Rules::read(&directory.path, &present, above)
        };
        for Entry { name, kind } in listing.entries.into_iter().rev() {
            if self.leaves_out(&name) {
                continue;
            }
            let path = if directory.path.is_empty() { name } else { format!("{}/{name}", directory.path) };
            if rules.as_ref().is_some_and(|rules| rules.ignores(&path, kind == Kind::Directory)) {
                continue;
            }
            let depth = directory.depth + 1;
            let list = kind == Kind::Directory && self.options.max_depth.is_none_or(|most| depth < most);
            self.stack.push(Visit { found: Found { path, kind, depth }, rules: rules.clone(), list });
        }
        Ok(())
    }

    fn leaves_out(&self, name: &str) -> bool {
        match name {
            ".git" => !self.options.ignored,
            _ => name.starts_with('.') && !self.options.hidden,
        }
    }
}

impl Iterator for Walk {
    type Item = Result<Found, (String, FileError)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Visit { found, rules, list } = self.stack.pop()?;
            if list && let Err(error) = self.enter(&found, rules) {
                return Some(Err((found.path, error)));
            }
            if found.depth > 0 {
                return Some(Ok(found));
            }
        }
    }
}

impl Rules {
    /// Reads a directory's ignore files; without any, the rules above it stand alone.
    fn read(directory: &str, names: &[&str], above: Option<Rc<Self>>) -> Option<Rc<Self>> {
        if names.is_empty() {
            return above;
        }
        let mut builder = GitignoreBuilder::new(directory);
        let mut found = false;
        for name in names {
            let path = if directory.is_empty() { (*name).to_owned() } else { format!("{directory}/{name}") };
            let Ok(chunk) = files::read(&path, 0, MAX_RULES) else { continue };
            found = true;
            for line in String::from_utf8_lossy(&chunk.bytes).lines() {
                // A line that is no valid glob ignores nothing, as in git.
                drop(builder.add_line(None, line));
            }
        }
        match builder.build() {
            Ok(gitignore) if found && !gitignore.is_empty() => Some(Rc::new(Self { gitignore, above })),
            _ => above,
        }
    }

    /// The nearest rule that speaks of the path decides.
    fn ignores(&self, path: &str, is_directory: bool) -> bool {
        iter::successors(Some(self), |rules| rules.above.as_deref())
            .map(|rules| rules.gitignore.matched(path, is_directory))
            .find(|verdict| !verdict.is_none())
            .is_some_and(|verdict| verdict.is_ignore())
    }
}

/// Whether a glob asks for names that begin with a dot, so that a walk for it includes them.
pub fn asks_for_hidden(glob: &str) -> bool {
    glob.split(['/', '{', ',']).any(|part| part.starts_with('.') && part != "." && part != "..")
}

/// The directories above a path, from the workspace down, without the path itself.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let above = path.match_indices('/').map(|(end, _)| &path[..end]);
    iter::once("").filter(move |_| !path.is_empty()).chain(above)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "builds trees to walk")]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    fn walk(dir: &Path, below: &str, options: Options) -> Vec<String> {
        let root = dir.to_str().unwrap();
        let start = if below.is_empty() { root.to_owned() } else { format!("{root}/{below}") };
        Walk::new(&start, options)
            .map(|found| found.unwrap())
            .filter(|found| found.kind != Kind::Directory)
            .map(|found| found.path.strip_prefix(root).unwrap().trim_start_matches('/').to_owned())
            .collect()
    }

    #[test]
    fn files_come_in_name_order_depth_first() {
        let dir = tree(&[("b/y", ""), ("b/x", ""), ("a", ""), ("c", "")]);
        assert_eq!(walk(dir.path(), "", Options::default()), ["a", "b/x", "b/y", "c"]);
    }

    #[test]
    fn ignore_files_and_hidden_names_are_left_out() {
        let dir = tree(&[
            (".gitignore", "*.log\n/target\n!keep.log\n"),
            ("a.log", ""),
            ("keep.log", ""),
            ("target/x", ""),
            ("sub/target/x", ""),
            ("sub/.gitignore", "*.tmp\n"),
            ("sub/b.tmp", ""),
            (".hidden", ""),
            (".git/config", ""),
        ]);
        assert_eq!(walk(dir.path(), "", Options::default()), ["keep.log", "sub/target/x"]);
        assert_eq!(
            walk(dir.path(), "", Options { hidden: true, ..Options::default() }),
            [".gitignore", ".hidden", "keep.log", "sub/.gitignore", "sub/target/x"]
        );
        assert_eq!(walk(dir.path(), "", Options { ignored: true, hidden: true, max_depth: Some(1) }).len(), 4);
    }

    #[test]
    fn a_directory_that_was_left_is_not_walked() {
        let dir = tree(&[("a/b/x", ""), ("a/y", ""), ("z", "")]);
        let mut walk = Walk::new(dir.path().to_str().unwrap(), Options::default());
        let found = walk.next().unwrap().unwrap();
        assert!(found.path.ends_with("/a"));
        walk.leave(&found);
        assert!(walk.next().unwrap().unwrap().path.ends_with("/z"));
        assert_eq!(walk.next(), None);
    }

    #[test]
    fn globs_with_dotted_names_ask_for_hidden_files() {
        for (glob, expected) in [(".env*", true), (".github/**", true), ("**/{.a,b}", true), ("./src/*.rs", false)] {
            assert_eq!(asks_for_hidden(glob), expected, "{glob}");
        }
    }

    #[test]
    fn rules_above_the_start_count() {
        let dir = tree(&[(".gitignore", "*.log\n"), ("sub/a.log", ""), ("sub/b", "")]);
        assert_eq!(walk(dir.path(), "sub", Options::default()), ["sub/b"]);
    }
}
