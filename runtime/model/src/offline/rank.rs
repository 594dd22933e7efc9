//! Which files matter most for some keywords. Rare words count more than common ones, many different
//! words more than one word many times, a short file that speaks of them more than a long one.

use std::collections::{BTreeMap, HashMap};

use super::keywords::{Keyword, Kind};
use super::paths;
use super::seen::Seen;

/// A file and how much it matters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct File {
    pub(super) path: String,
    pub(super) score: f64,
}

/// What is asked, with how much each keyword says here.
pub(super) struct Question<'a> {
    pub(super) keywords: &'a [Keyword],
    /// How much each keyword says: one that is in every file says little.
    pub(super) rarity: Vec<f64>,
    /// Whether the question is how to do something, which documents answer better than code.
    pub(super) is_how_to: bool,
}

impl<'a> Question<'a> {
    pub(super) fn new(keywords: &'a [Keyword], seen: &Seen) -> Self {
        let total = seen.files.len().max(seen.sizes.len()).max(1) as f64;
        let rarity = |keyword: &Keyword| {
            let pattern = keyword.pattern();
            let inside = seen.counts.iter().filter(|count| count.pattern == pattern.as_str()).count();
            let files = inside.max(seen.files.iter().filter(|path| keyword.is_in(path)).count());
            let rarity = (1.0 + total / files.max(1) as f64).ln();
            match (keyword.kind, files) {
                // A word that is nowhere must not weigh down what is somewhere.
                (_, 0) => 0.3,
                (Kind::Word, _) => rarity,
                (Kind::Joined, _) => rarity * 1.5,
                (Kind::Exact, _) => rarity * 2.5,
            }
        };
        let asks = seen.task.trim_start().to_lowercase();
        let is_how_to = ["how do i", "how do you", "how do we", "how can", "how to", "how should", "can i"]
            .iter()
            .any(|start| asks.starts_with(start));
        Self { keywords, rarity: keywords.iter().map(rarity).collect(), is_how_to }
    }

    /// What all keywords together say.
    pub(super) fn all(&self) -> f64 {
        self.rarity.iter().sum::<f64>().max(f64::MIN_POSITIVE)
    }

    /// How much what is found in a file is worth.
    pub(super) fn weight(&self, path: &str) -> f64 {
        match paths::kind(path) {
            // Who asks for tests wants to see them.
            paths::Kind::Test if self.keywords.iter().any(|keyword| keyword.text == "test") => 1.0,
            paths::Kind::Document if self.is_how_to => 1.15,
            kind => kind.weight(),
        }
    }

    /// What each keyword is worth anywhere in a file that is named after it: all of the file is about it.
    pub(super) fn topics(&self, path: &str) -> Vec<f64> {
        let (name, directory) = paths::speaking_name(path);
        let share = |keyword: &Keyword| (0.5 * keyword.strength(name)).max(0.2 * keyword.strength(directory));
        self.keywords.iter().zip(&self.rarity).map(|(keyword, rarity)| rarity * share(keyword)).collect()
    }

    /// What the path itself says: the file is named after a keyword, or its directory is.
    fn named(&self, path: &str) -> f64 {
        let (name, directory) = paths::speaking_name(path);
        let value = |(keyword, rarity): (&Keyword, &f64)| {
            let is_whole = |text: &str| name.eq_ignore_ascii_case(text);
            if is_whole(&keyword.text) || path.eq_ignore_ascii_case(&keyword.text) {
                return 2.5 * rarity;
            }
            let in_path = keyword.text.contains('/') && keyword.is_in(path);
            let in_name = if in_path { 1.0 } else { keyword.strength(name) };
            // A name of one word is about that word; of a longer one it is only a part.
            let share = if name.contains(['_', '-', '.']) { 1.2 } else { 1.8 };
            rarity * (share * in_name).max(0.5 * keyword.strength(directory))
        };
        self.keywords.iter().zip(&self.rarity).map(value).sum()
    }
}

/// Ranks files by how often the keywords occur in them and in their names.
pub(super) fn files(question: &Question<'_>, seen: &Seen) -> Vec<File> {
    let keywords = question.keywords;
    let mut patterns = HashMap::new();
    for (at, keyword) in keywords.iter().enumerate() {
        patterns.insert(keyword.pattern(), (at, true));
        patterns.extend(keyword.alternatives().map(|pattern| (pattern, (at, false))));
    }
    let patterns: HashMap<&str, (usize, bool)> = patterns.iter().map(|(pattern, of)| (pattern.as_str(), *of)).collect();
    let mut counts: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    let nothing = || vec![(0, 0); keywords.len()];
    for count in &seen.counts {
        let counts = counts.entry(&count.path).or_insert_with(nothing);
        match patterns.get(count.pattern.as_str()) {
            Some((at, true)) => counts[*at].0 += count.count,
            Some((at, false)) => counts[*at].1 += count.count,
            None => {}
        }
    }
    for path in &seen.files {
        if keywords.iter().any(|keyword| keyword.is_in(path)) {
            counts.entry(path).or_insert_with(nothing);
        }
    }
    let usual = seen.usual_size();
    let scored = counts.into_iter().map(|(path, counts)| {
        let size = seen.sizes.get(path).map_or(1.0, |lines| *lines as f64 / usual);
        let score = (counted(question, &counts, size) + question.named(path)) * question.weight(path);
        File { path: path.to_owned(), score }
    });
    sorted(scored)
}

/// What the counts of a file are worth: more of the same word soon adds nothing, another word does.
fn counted(question: &Question<'_>, counts: &[(u64, u64)], size: f64) -> f64 {
    // In a file ten times as long as usual a word is there ten times as often by chance.
    let chance = 1.2 * (0.6 + 0.4 * size.clamp(0.1, 8.0));
    let often = |count: u64| count as f64 * 2.2 / (count as f64 + chance);
    let (mut found, mut covered) = (0.0, 0.0);
    for ((keyword, rarity), (own, other)) in question.keywords.iter().zip(&question.rarity).zip(counts) {
        let alternative = keyword.alternative_strength();
        found += rarity * often(*own).max(alternative * often(*other));
        covered += match (own, other) {
            (0, 0) => 0.0,
            (0, _) => rarity * alternative,
            _ => *rarity,
        };
    }
    found * (0.4 + 0.6 * covered / question.all())
}

pub(super) fn sorted(files: impl Iterator<Item = File>) -> Vec<File> {
    let mut files: Vec<File> = files.filter(|file| file.score > 0.0).collect();
    files.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.path.cmp(&b.path)));
    files
}
