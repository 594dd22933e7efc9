//! What was read before and need not be read again.
//!
//! Definitions are looked at anew on each load, so that an edited file counts at once; but a file
//! whose size and times are as they were is not opened.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use palisade_agent::{Agent, Layer};

use super::read::Stamp;
use crate::definition::{Notice, Rejected};

/// What became of the files of earlier loads. Keep one between loads and they cost a look at each
/// file's size and times.
#[derive(Clone, Debug)]
pub struct FileCache {
    trees: HashMap<TreeKey, TreeCache>,
    now: fn() -> SystemTime,
    reads: u64,
}

/// A folder, and what its files are read as: the same file is another agent in another layer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TreeKey {
    pub(super) at: PathBuf,
    pub(super) layer: Layer,
    pub(super) plugin: Option<String>,
}

/// The files of one folder by their paths below it.
pub(super) type TreeCache = HashMap<String, Cached>;

#[derive(Clone, Debug)]
pub(super) struct Cached {
    stamp: Stamp,
    settled: bool,
    /// Whether the load that goes on has met the file.
    is_met: bool,
    reading: Arc<Reading>,
}

/// What became of one file. The digest is that of the bytes the outcome was made from.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) name: Option<String>,
    pub(super) digest: Option<blake3::Hash>,
    pub(super) outcome: Result<Arc<Agent>, Arc<Rejected>>,
    pub(super) warnings: Vec<Notice>,
}

/// How long after its last change a file's times are believed. File systems count time in steps of
/// up to two seconds, so two changes within one step leave the same times: whoever read the file
/// between them would never notice the second. A file that was this young *when it was read* is
/// therefore read and compared once more. (Its age when it is looked at again says nothing: by then
/// the second change is old, too.)
const SETTLED: Duration = Duration::from_secs(2);

impl FileCache {
    /// How many files were opened so far.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.trees.clear();
    }

    #[cfg(test)]
    pub(super) fn with_clock(now: fn() -> SystemTime) -> Self {
        Self { now, ..Self::default() }
    }

    /// Takes out what is known of a folder.
    pub(super) fn take(&mut self, key: &TreeKey) -> TreeCache {
        self.trees.remove(key).unwrap_or_default()
    }

    /// Puts back what is known of a folder. Files that the load has not met are gone.
    pub(super) fn put(&mut self, key: TreeKey, mut tree: TreeCache) {
        tree.retain(|_, cached| std::mem::take(&mut cached.is_met));
        if !tree.is_empty() {
            self.trees.insert(key, tree);
        }
    }

    /// The time before a file is opened.
    pub(super) fn before_reading(&mut self) -> SystemTime {
        self.reads += 1;
        (self.now)()
    }
}

impl Default for FileCache {
    fn default() -> Self {
        Self { trees: HashMap::new(), now: SystemTime::now, reads: 0 }
    }
}

impl Cached {
    pub(super) fn new(stamp: Stamp, read_at: SystemTime, reading: Arc<Reading>) -> Self {
        let settles = u64::try_from(stamp.last_change()).ok().and_then(|seconds| {
            // The fraction of the second that is left out here.
            SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds) + Duration::from_secs(1) + SETTLED)
        });
        Self { stamp, settled: settles.is_some_and(|settles| settles <= read_at), is_met: true, reading }
    }

    /// What became of the file, which is still there.
    pub(super) fn keep(&mut self) -> Arc<Reading> {
        self.is_met = true;
        Arc::clone(&self.reading)
    }

    /// Whether the file is the one that was read, as far as its size and times can tell.
    pub(super) fn is_current(&self, stamp: &Stamp) -> bool {
        self.settled && self.stamp == *stamp
    }
}
