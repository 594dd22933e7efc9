//! Names with `*`: the globs of the tool, capability, skill and agent lists.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::{canonical, canonical_tool};

/// A name in which `*` stands for any characters, `.` and `/` among them. There is no other
/// wildcard and no escape: everything else means itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    text: String,
    plain: Stars,
    /// The same, as the name of a tool.
    tool: Stars,
}

/// A pattern taken apart at its `*`, for those that are asked about thousands of names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Stars {
    first: String,
    /// What stands between stars, and after the last; none if there is no star.
    rest: Option<(Vec<String>, String)>,
}

impl Stars {
    pub(crate) fn new(pattern: &str) -> Self {
        let mut parts = pattern.split('*').map(str::to_owned);
        let first = parts.next().unwrap_or_default();
        let mut middle: Vec<String> = parts.collect();
        let last = middle.pop();
        Self { first, rest: last.map(|last| (middle, last)) }
    }

    /// Whether a text fits.
    ///
    /// The first part must begin the text and the last must end it; each one between is looked for from
    /// where the one before ended. The earliest place is always good enough, so nothing is tried twice.
    pub(crate) fn fits(&self, text: &str) -> bool {
        let Some((middle, last)) = &self.rest else { return self.first == text };
        let Some(mut text) = text.strip_prefix(self.first.as_str()) else { return false };
        // Most texts fail here, before anything is searched for.
        if !text.ends_with(last.as_str()) {
            return false;
        }
        for part in middle {
            match text.find(part.as_str()) {
                Some(start) => text = &text[start + part.len()..],
                None => return false,
            }
        }
        text.ends_with(last.as_str())
    }
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// There is nothing in it.
    #[error("a pattern is empty; write a name, or `*` for all")]
    Empty,
    /// It is longer than any name.
    #[error("a pattern has {0} bytes; at most {MAX_LENGTH} are possible")]
    TooLong(usize),
    /// It holds a character that no name can hold.
    #[error("a pattern holds a control character; write a name, or `*` for all")]
    Control,
}

/// Longer than any name; keeps a hostile definition from costing time at every call.
const MAX_LENGTH: usize = 1024;

impl Pattern {
    /// Parses a pattern; only empty, overlong and unprintable ones are refused.
    pub fn parse(text: &str) -> Result<Self, BadPattern> {
        if text.is_empty() {
            return Err(BadPattern::Empty);
        }
        if text.len() > MAX_LENGTH {
            return Err(BadPattern::TooLong(text.len()));
        }
        if text.chars().any(char::is_control) {
            return Err(BadPattern::Control);
        }
        Ok(Self { text: text.to_owned(), plain: Stars::new(text), tool: Stars::new(&canonical_tool(text)) })
    }

    /// Whether the whole of a text fits, upper and lower case being different.
    pub fn matches(&self, text: &str) -> bool {
        self.plain.fits(text)
    }

    /// Whether a tool's name fits, whichever vocabulary each side is written in.
    pub fn matches_tool(&self, tool: &str) -> bool {
        self.matches_canonical(&canonical(tool))
    }

    /// The same for a name in its one form.
    pub(crate) fn matches_canonical(&self, tool: &str) -> bool {
        self.tool.fits(tool)
    }

    /// Whether any text fits.
    pub fn is_universal(&self) -> bool {
        self.text.bytes().all(|byte| byte == b'*')
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Whether a text fits a pattern of literal parts with `*` between them.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    Stars::new(pattern).fits(text)
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for Pattern {
    type Error = BadPattern;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).unwrap()
    }

    #[test]
    fn a_star_is_the_only_wildcard_and_crosses_everything() {
        let check = |text: &str, name: &str, expected: bool| {
            assert_eq!(pattern(text).matches(name), expected, "`{text}` and `{name}`");
        };
        check("*", "", true);
        check("*", "a.b/c", true);
        check("fs_*", "fs_", true);
        check("fs_*", "fs", false);
        check("lists.*", "lists.write.all", true);
        check("a*b*c", "a__b__b__c", true);
        check("a*b*c", "acb", false);
        check("xy*yx", "xyx", false);
        check("xy*yx", "xyyx", true);
        check("a?c", "abc", false);
        check("[a]", "a", false);
        check("a\\*", "a\\xyz", true);
        check("Read", "read", false);
    }

    #[test]
    fn tools_are_compared_by_their_canonical_names() {
        assert!(pattern("DirectoryTree").matches_tool("tree"));
        assert!(pattern("reading_list_*").matches_tool("Reading_List_add"));
        assert!(pattern("WEB_*").matches_tool("WebFetch"));
        assert!(!pattern("fs_*").matches_tool("fs"));
    }

    #[test]
    fn patterns_that_no_name_can_fit_are_refused() {
        assert_eq!(Pattern::parse(""), Err(BadPattern::Empty));
        assert_eq!(Pattern::parse("a\nb"), Err(BadPattern::Control));
        assert_eq!(Pattern::parse(&"x".repeat(1025)), Err(BadPattern::TooLong(1025)));
    }

    #[test]
    fn a_hostile_pattern_costs_no_more_than_a_plain_one() {
        let hostile = pattern(&"a*".repeat(500));
        assert!(!hostile.matches(&("a".repeat(499) + &"b".repeat(1_000_000))));
    }

    proptest! {
        #[test]
        fn matching_agrees_with_trying_everything(text in "[ab*]{1,7}", name in "[ab]{0,7}") {
            fn slow(pattern: &[u8], name: &[u8]) -> bool {
                match (pattern.split_first(), name.split_first()) {
                    (None, None) => true,
                    (Some((b'*', rest)), _) => {
                        (0..=name.len()).any(|skipped| slow(rest, &name[skipped..]))
                    }
                    (Some((a, pattern)), Some((b, name))) => a == b && slow(pattern, name),
                    _ => false,
                }
            }
            prop_assert_eq!(pattern(&text).matches(&name), slow(text.as_bytes(), name.as_bytes()));
        }
    }
}
