//! How a word is found in a text, in code as well as in prose, and as a pattern for `grep` that finds
//! the same.

/// Words shorter than this are inside many others (`run` in `runtime`, `rm` in `permit`), so they only
/// count as words of their own.
const LONG: usize = 5;

/// The endings that make another form of a short word, not another word.
const ENDINGS: &[&str] = &["", "s", "es", "e", "ed", "d", "er", "ers", "r", "ing", "y", "ies", "ion", "or"];

/// Whether a word is long enough to be looked for inside of others.
pub(super) fn is_long(word: &str) -> bool {
    word.len() >= LONG || !word.is_ascii()
}

/// Whether a text has a word that begins with `word` (lower case).
pub(super) fn contains(text: &str, word: &str) -> bool {
    if is_long(word) {
        return contains_as_written(text, word);
    }
    let (bytes, wanted) = (text.as_bytes(), word.as_bytes());
    (0..(bytes.len() + 1).saturating_sub(wanted.len())).any(|at| {
        bytes[at..at + wanted.len()].eq_ignore_ascii_case(wanted)
            && begins(bytes, at)
            && is_form(&bytes[at + wanted.len()..])
    })
}

/// Whether a text contains another (lower case) anywhere.
pub(super) fn contains_as_written(text: &str, part: &str) -> bool {
    if !part.is_ascii() {
        return text.to_lowercase().contains(part);
    }
    let (bytes, wanted) = (text.as_bytes(), part.as_bytes());
    !wanted.is_empty() && bytes.windows(wanted.len()).any(|window| window.eq_ignore_ascii_case(wanted))
}

/// Whether a word begins here: after something that is no letter, or with a hump.
fn begins(bytes: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| bytes[before]) else { return true };
    !before.is_ascii_alphabetic() || before.is_ascii_lowercase() && bytes[at].is_ascii_uppercase()
}

/// Whether what follows a word only makes another form of it.
fn is_form(rest: &[u8]) -> bool {
    let letters = rest.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
    let ending = &rest[..letters];
    let is_ending = |ending: &[u8]| ENDINGS.iter().any(|other| other.as_bytes() == ending);
    // The letter that is doubled in `running`.
    is_ending(ending) || ending.len() > 2 && is_ending(&ending[1..])
}

/// A regular expression for what [`contains`] finds.
pub(super) fn pattern(word: &str) -> String {
    let escaped = escape(word);
    if is_long(word) {
        return format!("(?i:{escaped})");
    }
    let mut capital = escaped.clone();
    let hump = match capital.get_mut(..1) {
        Some(first) if first.as_bytes()[0].is_ascii_alphabetic() => {
            first.make_ascii_uppercase();
            format!("|{capital}")
        }
        _ => String::new(),
    };
    // Only bytes: a word boundary of Unicode is slow.
    format!(
        r"(?-u:(?:\b|_|[0-9])(?i:{escaped}){hump})(?-u:[a-z]?(?:s|es|ed|er|ers|ing|ion|ies)|[eydr]|or)?(?-u:\b|[A-Z_0-9])"
    )
}

/// A text as a regular expression that matches it.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        // Not all punctuation: `\<` and `\>` have a meaning of their own.
        if r"\.+*?()|[]{}^$#&-~".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use grep_matcher::Matcher as _;
    use grep_regex::RegexMatcherBuilder;

    use super::*;

    #[test]
    fn a_pattern_finds_what_is_contained() {
        let check = |text: &str, word: &str, expected: bool| {
            assert_eq!(contains(text, word), expected, "{word} in {text}");
            let matcher =
                RegexMatcherBuilder::new().multi_line(true).line_terminator(Some(b'\n')).build(&pattern(word));
            assert_eq!(matcher.unwrap().is_match(text.as_bytes()).unwrap(), expected, "{} in {text}", pattern(word));
        };
        check("a runner runs, running", "run", true);
        check("the runtime", "run", false);
        check("RunError", "run", true);
        check("let dryRun = 1", "run", true);
        check("dry_run", "run", true);
        check("prune", "run", false);
        check("permit", "rm", false);
        check("rm -rf", "rm", true);
        check("context", "text", false);
        check("TEXT", "text", true);
        check("sandboxed", "sandbox", true);
        check("unsandboxed", "sandbox", true);
        check("toolbox", "tool", false);
        check("die Größe", "größe", true);
        check("", "a", false);
        check("v2 call2", "call", true);
        check("a+b (c)", "a+b", true);
    }

    #[test]
    fn text_that_was_quoted_is_found_as_it_was_written() {
        assert!(contains_as_written("let x = Foo::Bar;", "foo::bar"));
        assert!(!contains_as_written("anything", ""));
    }
}
