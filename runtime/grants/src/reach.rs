//! A set of patterns that can be narrowed exactly.
//!
//! What two patterns both cover must again be one pattern, or two grants could not be combined
//! without losing or gaining something. So patterns have one open end and no other wildcard.

use std::{collections::BTreeSet, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// One pattern of a [`Reach`].
pub trait Span: Clone + Ord + fmt::Display + FromStr<Err = BadSpan> {
    /// What both cover.
    fn meet(&self, other: &Self) -> Option<Self>;
}

/// A text that is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` {problem}")]
pub struct BadSpan {
    /// The text.
    pub text: String,
    /// What is wrong with it and what would be right.
    pub problem: &'static str,
}

/// A set of patterns, none of which covers another. The default covers nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach<S>(BTreeSet<S>);

impl<S: Span> Reach<S> {
    /// What any of the patterns covers.
    pub fn new(spans: impl IntoIterator<Item = S>) -> Self {
        let spans: BTreeSet<S> = spans.into_iter().collect();
        let covered = |span: &S| spans.iter().any(|other| other != span && other.meet(span).as_ref() == Some(span));
        Self(spans.iter().filter(|span| !covered(span)).cloned().collect())
    }

    /// What both cover.
    pub fn narrow(&self, other: &Self) -> Self {
        Self::new(self.0.iter().flat_map(|span| other.0.iter().filter_map(|theirs| span.meet(theirs))))
    }

    /// The patterns, in order.
    pub fn iter(&self) -> impl Iterator<Item = &S> {
        self.0.iter()
    }

    /// Whether nothing is covered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether everything that a pattern covers is covered.
    pub fn covers(&self, span: &S) -> bool {
        self.0.iter().any(|own| own.meet(span).as_ref() == Some(span))
    }
}

impl<S: Span> FromIterator<S> for Reach<S> {
    fn from_iter<T: IntoIterator<Item = S>>(spans: T) -> Self {
        Self::new(spans)
    }
}

impl<S> Default for Reach<S> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<S: Span> Serialize for Reach<S> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        serializer.collect_seq(self.0.iter().map(ToString::to_string))
    }
}

impl<'de, S: Span> Deserialize<'de> for Reach<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let spans: Result<Vec<S>, BadSpan> = texts.iter().map(|text| text.parse()).collect();
        spans.map(Self::new).map_err(de::Error::custom)
    }
}
