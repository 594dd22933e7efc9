//! Which files a search looks into: by glob and by file type, as ripgrep understands them.

use ignore::{
    overrides::{Override, OverrideBuilder},
    types::{Types, TypesBuilder},
};
use palisade_tool::{Failure, text};

/// Which files a search looks into.
pub(crate) struct Filter {
    globs: Override,
    types: Types,
}

impl Filter {
    pub(crate) fn new(globs: &[String], types: &[String]) -> Result<Self, Failure> {
        Ok(Self { globs: overrides(globs)?, types: select(types)? })
    }

    pub(crate) fn accepts_file(&self, path: &str) -> bool {
        (self.globs.is_empty() || !self.globs.matched(path, false).is_ignore())
            && (self.types.is_empty() || !self.types.matched(path, false).is_ignore())
    }

    /// Whether anything below a directory may be accepted.
    pub(crate) fn accepts_directory(&self, path: &str) -> bool {
        self.globs.is_empty() || !self.globs.matched(path, true).is_ignore()
    }
}

fn overrides(globs: &[String]) -> Result<Override, Failure> {
    let mut builder = OverrideBuilder::new("");
    for glob in globs {
        let bare = glob.strip_prefix("./").unwrap_or(glob);
        if bare.is_empty() || bare == "!" {
            return Err(Failure::InvalidInput("`glob` is empty; leave it out to search all files".to_owned()));
        }
        builder.add(bare).map_err(|error| Failure::InvalidInput(format!("`glob` is not valid: {error}")))?;
    }
    builder.build().map_err(|error| Failure::InvalidInput(format!("`glob` is not valid: {error}")))
}

fn select(types: &[String]) -> Result<Types, Failure> {
    if types.is_empty() {
        return Ok(Types::empty());
    }
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let known = builder.definitions();
    for name in types {
        if !known.iter().any(|definition| definition.name() == name) {
            return Err(unknown(name, known.iter().map(|definition| definition.name())));
        }
        builder.select(name);
    }
    builder.build().map_err(|error| Failure::InvalidInput(format!("`type` is not valid: {error}")))
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let similar = text::similar(name, known, 3);
    let meant =
        if similar.is_empty() { String::new() } else { format!("did you mean `{}`? or ", similar.join("`, `")) };
    Failure::InvalidInput(format!("there is no file type `{name}`; {meant}use `glob`, such as `*.{name}`"))
}
