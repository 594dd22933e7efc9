//! A glob, taken apart so that the walk need not visit what cannot match.

use globset::{GlobBuilder, GlobMatcher};
use palisade_tool::{Failure, files::Kind};

/// A glob that is ready to match paths below a directory.
pub(crate) struct Pattern {
    matcher: GlobMatcher,
    /// The directories in front that contain no wildcard; nothing elsewhere matches.
    directory: String,
    /// How many levels below that directory a match may lie.
    max_depth: Option<usize>,
    target: Target,
}

/// What a pattern is compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Name,
    Path,
    DirectoryName,
    DirectoryPath,
}

const WILD: [char; 5] = ['*', '?', '[', '{', '\\'];

impl Pattern {
    pub(crate) fn new(glob: &str) -> Result<Self, Failure> {
        let bare = glob.trim_start_matches("./");
        let wants_directory = bare.ends_with('/');
        let bare = bare.trim_end_matches('/');
        if bare.is_empty() {
            return Err(Failure::InvalidInput("`pattern` is empty; use `**` for all files".to_owned()));
        }
        if bare.starts_with('/') || bare.split('/').any(|part| part == "..") {
            return Err(Failure::InvalidInput(format!(
                "`{glob}` leaves the directory; globs are relative to `path`, without a leading `/` or `..`"
            )));
        }
        let matcher = GlobBuilder::new(bare)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(|error| Failure::InvalidInput(format!("`pattern` is not a valid glob: {}", error.kind())))?
            .compile_matcher();
        let target = match (bare.contains('/'), wants_directory) {
            (true, true) => Target::DirectoryPath,
            (true, false) => Target::Path,
            (false, true) => Target::DirectoryName,
            (false, false) => Target::Name,
        };
        let parts: Vec<&str> = bare.split('/').collect();
        let literal = parts[..parts.len() - 1].iter().take_while(|part| !part.contains(WILD)).count();
        let directory = parts[..literal].join("/");
        // Braces may hold separators, so that the parts do not tell the depth.
        let bounded = parts.len() > 1 && !bare.contains("**") && !bare.contains('{');
        let max_depth = bounded.then(|| parts.len() - literal);
        Ok(Self { matcher, directory, max_depth, target })
    }

    pub(crate) fn directory(&self) -> &str {
        &self.directory
    }

    pub(crate) fn max_depth(&self) -> Option<usize> {
        self.max_depth
    }

    /// Whether the pattern is about things of this kind.
    pub(crate) fn wants(&self, kind: Kind) -> bool {
        match self.target {
            Target::Name | Target::Path => kind != Kind::Directory,
            Target::DirectoryName | Target::DirectoryPath => kind == Kind::Directory,
        }
    }

    /// Whether a path relative to the directory that is searched matches.
    pub(crate) fn matches(&self, path: &str) -> bool {
        match self.target {
            Target::Name | Target::DirectoryName => {
                self.matcher.is_match(path.rsplit_once('/').map_or(path, |(_, name)| name))
            }
            Target::Path | Target::DirectoryPath => self.matcher.is_match(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_directories_that_can_match_are_visited() {
        let cases = [
            ("*.rs", "", None),
            ("src/*.rs", "src", Some(1)),
            ("a/b/*/c", "a/b", Some(2)),
            ("a/**/b", "a", None),
            ("{a/b,c}/d", "", None),
            ("a/b", "a", Some(1)),
        ];
        for (glob, directory, max_depth) in cases {
            let pattern = Pattern::new(glob).unwrap();
            assert_eq!((pattern.directory(), pattern.max_depth()), (directory, max_depth), "{glob}");
        }
    }
}
