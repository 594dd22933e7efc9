//! How much a package may hold.

/// How much a package may hold. Whoever makes a package is a stranger, so every number has an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Files.
    pub files: usize,
    /// Entries of an archive, files or not.
    pub entries: usize,
    /// Bytes of one file.
    pub file: u64,
    /// Bytes of all files together.
    pub total: u64,
    /// Folders in one another.
    pub depth: usize,
    /// Bytes of a path.
    pub path: usize,
    /// How much larger than packed it may be, once it is larger than what nobody asks about.
    pub ratio: u64,
}

impl Limits {
    /// Up to here nobody asks how well it was packed.
    pub(crate) const FREE: u64 = 4 << 20;

    /// What is accepted of plugins.
    pub const PLUGIN: Self = Self {
        files: 2_000,
        entries: 4_000,
        // The largest component that is compiled.
        file: 64 << 20,
        total: 256 << 20,
        depth: 12,
        path: 240,
        ratio: 100,
    };
}
