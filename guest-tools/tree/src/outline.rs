//! What was found below a directory, and which part of it is shown.
//!
//! When not everything fits, the upper levels come first, and within a level each directory gets
//! the same share; so one large directory never crowds out the others.

use palisade_tool::{files::Kind, text};

/// The tree of what was found. The root is the first node.
pub(crate) struct Outline {
    nodes: Vec<Node>,
    /// The nodes from the root to the one that was added last.
    branch: Vec<usize>,
    /// The length of the start's path; a node's depth is seen from what follows it.
    start: usize,
    max_depth: usize,
    stopped: bool,
}

struct Node {
    label: String,
    is_directory: bool,
    children: Vec<usize>,
    /// How many of the children are shown.
    shown: usize,
    /// What lies below, at any depth that was looked at.
    below: Counts,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    directories: usize,
    files: usize,
}

impl Outline {
    pub(crate) fn new(start: &str, max_depth: usize) -> Self {
        let label = if start.is_empty() { "." } else { start };
        Self { nodes: vec![Node::new(label, true)], branch: vec![0], start: start.len(), max_depth, stopped: false }
    }

    /// Adds what a walk found; a directory comes before what lies in it.
    pub(crate) fn add(&mut self, path: &str, kind: Kind) {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        let sign = match kind {
            Kind::Directory => "/",
            Kind::Symlink => "@",
            Kind::File | Kind::Other => "",
        };
        self.insert(path, Node::new(&format!("{name}{sign}"), kind == Kind::Directory));
    }

    /// Adds a directory that could not be listed.
    pub(crate) fn add_unreadable(&mut self, path: &str) {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        self.insert(path, Node::new(&format!("{name}/ (cannot be listed)"), true));
    }

    /// Says that the walk did not go on to the end.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }

    fn insert(&mut self, path: &str, node: Node) {
        let depth = path[self.start..].trim_start_matches('/').matches('/').count() + 1;
        self.branch.truncate(depth);
        let index = self.nodes.len();
        for &above in &self.branch {
            self.nodes[above].below.add(node.is_directory);
        }
        if let Some(&parent) = self.branch.last() {
            self.nodes[parent].children.push(index);
        }
        self.branch.push(index);
        self.nodes.push(node);
    }

    /// Draws at most `limit` entries.
    pub(crate) fn show(mut self, limit: usize) -> String {
        for index in 0..self.nodes.len() {
            let mut children = std::mem::take(&mut self.nodes[index].children);
            children.sort_by_key(|&child| !self.nodes[child].is_directory);
            self.nodes[index].children = children;
        }
        let left = self.share(limit);
        let mut text = format!("{}\n", self.nodes[0].label);
        let mut prefix = String::new();
        let is_deep = self.draw(0, &mut prefix, 1, &mut text);
        let mut notes = vec![self.nodes[0].below.to_string()];
        if left == 0 && self.nodes.len() - 1 > limit {
            let shown = text::count(limit, "entry is", "entries are");
            notes.push(format!("{shown} shown, raise `limit` or give a `path` to see more"));
        }
        if self.stopped {
            notes.push("there is more that was not counted".to_owned());
        }
        if is_deep {
            notes.push("deeper levels need a larger `depth`".to_owned());
        }
        format!("{text}({})", notes.join("; "))
    }

    /// Gives out the limit level by level; returns what is left of it.
    fn share(&mut self, limit: usize) -> usize {
        let mut left = limit;
        let mut level = vec![0];
        while !level.is_empty() && left > 0 {
            let wanted: Vec<usize> = level.iter().map(|&index| self.nodes[index].children.len()).collect();
            let shares = fair_shares(&wanted, left);
            let mut next = Vec::new();
            for (&index, share) in level.iter().zip(shares) {
                left -= share;
                self.nodes[index].shown = share;
                next.extend_from_slice(&self.nodes[index].children[..share]);
            }
            level = next;
        }
        left
    }

    /// Draws what lies below a node; tells whether directories at the last level are among it.
    fn draw(&self, index: usize, prefix: &mut String, depth: usize, text: &mut String) -> bool {
        let node = &self.nodes[index];
        let hidden = &node.children[node.shown..];
        let mut is_deep = false;
        for (position, &child) in node.children[..node.shown].iter().enumerate() {
            let is_last = position + 1 == node.shown && hidden.is_empty();
            let child_node = &self.nodes[child];
            let summary = if child_node.shown == 0 && !child_node.children.is_empty() {
                format!(" … ({})", child_node.below)
            } else {
                String::new()
            };
            let branch = if is_last { "`-- " } else { "|-- " };
            text.push_str(&format!("{prefix}{branch}{}{summary}\n", child_node.label));
            is_deep |= child_node.is_directory && depth == self.max_depth;
            if child_node.shown > 0 {
                let length = prefix.len();
                prefix.push_str(if is_last { "    " } else { "|   " });
                is_deep |= self.draw(child, prefix, depth + 1, text);
                prefix.truncate(length);
            }
        }
        if !hidden.is_empty() && (node.shown > 0 || index == 0) {
            let mut counts = Counts::default();
            for &child in hidden {
                counts.add(self.nodes[child].is_directory);
                counts.directories += self.nodes[child].below.directories;
                counts.files += self.nodes[child].below.files;
            }
            text.push_str(&format!("{prefix}`-- … {} more ({counts})\n", hidden.len()));
        }
        is_deep
    }
}

/// Divides `available` so that nobody gets more than wanted and nobody less than another who
/// wanted more; what cannot be divided goes to the first.
fn fair_shares(wanted: &[usize], available: usize) -> Vec<usize> {
    let mut by_size: Vec<usize> = wanted.to_vec();
    by_size.sort_unstable();
    let mut left = available;
    let mut share = usize::MAX;
    for (position, &size) in by_size.iter().enumerate() {
        let takers = by_size.len() - position;
        if size > left / takers {
            share = left / takers;
            left -= share * takers;
            break;
        }
        left -= size;
    }
    let mut extra = if share == usize::MAX { 0 } else { left };
    let give = |&size: &usize| {
        let more = usize::from(size > share && extra > 0);
        extra -= more;
        size.min(share) + more
    };
    wanted.iter().map(give).collect()
}

impl Node {
    fn new(label: &str, is_directory: bool) -> Self {
        Self { label: label.to_owned(), is_directory, children: Vec::new(), shown: 0, below: Counts::default() }
    }
}

impl Counts {
    fn add(&mut self, is_directory: bool) {
        if is_directory {
            self.directories += 1;
        } else {
            self.files += 1;
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let directories = text::count(self.directories, "directory", "directories");
        write!(formatter, "{directories}, {}", text::count(self.files, "file", "files"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_fair() {
        assert_eq!(fair_shares(&[30, 2, 5], 10), [4, 2, 4]);
        assert_eq!(fair_shares(&[30, 30, 30], 10), [4, 3, 3]);
        assert_eq!(fair_shares(&[3, 0, 2], 10), [3, 0, 2]);
        assert_eq!(fair_shares(&[3, 3], 1), [1, 0]);
        assert_eq!(fair_shares(&[], 1), [0; 0]);
    }
}
