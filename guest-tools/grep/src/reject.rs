//! A quick look that tells that a file has no match, where the pattern begins with one of several
//! texts: `TODO|FIXME`, or a word in either case.
//!
//! The regex crates do this with an algorithm (Teddy) that they do not have for WebAssembly, and
//! fall back to a much slower automaton there. What is here are plain loops over blocks of bytes,
//! which the compiler turns into vector instructions.

use memchr::arch::all::packedpair::Pair;
use regex_syntax::{
    ParserBuilder,
    hir::literal::{ExtractKind, Extractor},
};

use crate::Input;

/// The texts that every match begins with one of.
pub(crate) struct Beginnings {
    needles: Vec<Needle>,
    /// The bit in which a letter differs from the same letter in the other case; no bit if case matters.
    case: u8,
}

struct Needle {
    /// With the case bit set in all bytes.
    bytes: Vec<u8>,
    /// Two bytes of it that are rare in text: where they are, and what they are.
    first: (usize, u8),
    second: (usize, u8),
}

/// With more texts than this the automaton is as fast.
const MAX_NEEDLES: usize = 8;
/// What is looked at between two decisions.
const BLOCK: usize = 128;

impl Beginnings {
    /// Finds the texts that a pattern's matches begin with, if there are several but not many. One
    /// text alone is found by the regex crates as quickly.
    pub(crate) fn new(input: &Input) -> Option<Self> {
        let pattern = if input.fixed_strings { regex_syntax::escape(&input.pattern) } else { input.pattern.clone() };
        let case_insensitive = input.ignore_case || pattern.contains("(?");
        let hir = ParserBuilder::new()
            .utf8(false)
            .case_insensitive(input.ignore_case)
            .multi_line(true)
            .dot_matches_new_line(input.multiline)
            .build()
            .parse(&pattern)
            .ok()?;
        let texts = Extractor::new().kind(ExtractKind::Prefix).extract(&hir);
        let texts: Vec<&[u8]> = texts.literals()?.iter().map(|text| text.as_bytes()).collect();
        if texts.len() < 2 {
            return None;
        }
        let case = if case_insensitive { 0x20 } else { 0 };
        let needles = [16, 6, 4, 3, 2].into_iter().find_map(|length| needles(&texts, length, case))?;
        Some(Self { needles, case })
    }

    /// Whether one of the texts occurs; where none does, there is no match.
    pub(crate) fn occur_in(&self, bytes: &[u8]) -> bool {
        self.needles.iter().any(|needle| needle.occurs_in(bytes, self.case))
    }
}

/// The texts cut to a length, if that leaves few enough, none of them shorter than two bytes.
fn needles(texts: &[&[u8]], length: usize, case: u8) -> Option<Vec<Needle>> {
    let mut cut: Vec<Vec<u8>> =
        texts.iter().map(|text| text.iter().take(length).map(|byte| byte | case).collect()).collect();
    cut.sort_unstable();
    cut.dedup();
    if cut.len() > MAX_NEEDLES {
        return None;
    }
    cut.into_iter().map(Needle::new).collect()
}

impl Needle {
    fn new(bytes: Vec<u8>) -> Option<Self> {
        let pair = Pair::new(&bytes)?;
        let at = |index: u8| (usize::from(index), bytes[usize::from(index)]);
        Some(Self { first: at(pair.index1()), second: at(pair.index2()), bytes })
    }

    fn occurs_in(&self, text: &[u8], case: u8) -> bool {
        let Some(starts) = (text.len() + 1).checked_sub(self.bytes.len()) else { return false };
        let firsts = &text[self.first.0..][..starts];
        let seconds = &text[self.second.0..][..starts];
        let (first_blocks, first_rest) = firsts.as_chunks::<BLOCK>();
        let (second_blocks, second_rest) = seconds.as_chunks::<BLOCK>();
        let mut start = 0;
        for (first, second) in first_blocks.iter().zip(second_blocks) {
            if self.block_may_hold(first, second, case) && self.starts_in(&text[start..], BLOCK, case) {
                return true;
            }
            start += BLOCK;
        }
        debug_assert_eq!(first_rest.len(), second_rest.len());
        self.starts_in(&text[start..], first_rest.len(), case)
    }

    /// Whether both rare bytes stand where they should anywhere in a block. There is no branch in
    /// the loop, so that it becomes vector instructions.
    fn block_may_hold(&self, first: &[u8; BLOCK], second: &[u8; BLOCK], case: u8) -> bool {
        let mut hits = 0;
        for (a, b) in first.iter().zip(second) {
            hits |= u8::from(a | case == self.first.1) & u8::from(b | case == self.second.1);
        }
        hits != 0
    }

    /// Whether the text holds this one at one of the first `starts` places.
    fn starts_in(&self, text: &[u8], starts: usize, case: u8) -> bool {
        text.windows(self.bytes.len())
            .take(starts)
            .any(|window| window.iter().zip(&self.bytes).all(|(byte, wanted)| byte | case == *wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beginnings(input: &str) -> Option<Beginnings> {
        Beginnings::new(&palisade_tool::parse(input).unwrap())
    }

    #[test]
    fn texts_are_found_wherever_they_are() {
        let todo = beginnings(r#"{"pattern":"TODO|FIXME"}"#).unwrap();
        let session = beginnings(r#"{"pattern":"session","ignore_case":true}"#).unwrap();
        let inline = beginnings(r#"{"pattern":"(?i)session|x(?-i)Y"}"#).unwrap();
        for length in 0..400 {
            let mut text = ".".repeat(length);
            assert!(!todo.occur_in(text.as_bytes()) && !session.occur_in(text.as_bytes()));
            text.push_str("FIXME sEssion");
            assert!(todo.occur_in(text.as_bytes()) && session.occur_in(text.as_bytes()));
            text.push_str(&"z".repeat(400 - length));
            assert!(todo.occur_in(text.as_bytes()) && session.occur_in(text.as_bytes()));
            assert!(inline.occur_in(text.as_bytes()));
        }
        // The long s is an s without regard to case.
        assert!(session.occur_in("se\u{17f}\u{17f}ion".as_bytes()));
        assert!(inline.occur_in(b"XY") && !todo.occur_in(b"todo fixme TOD O"));
    }

    #[test]
    fn patterns_without_a_few_known_beginnings_are_left_to_the_regex() {
        for pattern in ["needle", "[a-z]+x", ".*a|b", "a|b", "abc|", "", "x*abc"] {
            assert!(beginnings(&format!(r#"{{"pattern":"{pattern}"}}"#)).is_none(), "{pattern}");
        }
    }
}
