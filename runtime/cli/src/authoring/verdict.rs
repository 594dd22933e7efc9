//! Whether a call came to what a case expects, and where it differs.

use palisade_sandbox::Failure;
use serde_json::Value;

use super::cases::{Expected, Kind, Parts};

/// What is wrong with an outcome, line by line; nothing if it is as expected.
pub(super) fn differences(expected: &Expected, outcome: &Result<String, Failure>) -> Vec<String> {
    let nothing = Parts::default();
    let (wanted, parts) = match expected {
        Expected::Text(text) => (Some(text), &nothing),
        Expected::Some(parts) => (None, parts),
    };
    match (parts.failure, outcome) {
        (None, Err(failure)) => with_text(format!("it failed ({})", word(failure)), &failure.to_string()),
        (Some(kind), Ok(output)) => with_text(format!("it should fail ({kind}), and gave"), output),
        (Some(kind), Err(failure)) if self::kind(failure) != kind => {
            with_text(format!("it should fail as {kind}, and did as {}", word(failure)), &failure.to_string())
        }
        (Some(_), Err(failure)) => contains(parts, &failure.to_string()),
        (None, Ok(output)) => match wanted {
            Some(wanted) if wanted.trim_end_matches('\n') != output.trim_end_matches('\n') => diff(wanted, output),
            Some(_) => Vec::new(),
            None => [contains(parts, output), json(parts, output)].concat(),
        },
    }
}

fn contains(parts: &Parts, text: &str) -> Vec<String> {
    match &parts.contains {
        Some(part) if !text.contains(part) => with_text(format!("it should contain {part:?}, and is"), text),
        _ => Vec::new(),
    }
}

fn json(parts: &Parts, output: &str) -> Vec<String> {
    let Some(wanted) = &parts.json else { return Vec::new() };
    match serde_json::from_str::<Value>(output) {
        Err(error) => with_text(format!("it should be JSON ({error}), and is"), output),
        Ok(value) if value != *wanted => diff(&format!("{wanted:#}"), &format!("{value:#}")),
        Ok(_) => Vec::new(),
    }
}

fn with_text(first: String, text: &str) -> Vec<String> {
    std::iter::once(format!("{first}:")).chain(text.lines().map(|line| format!("  {line}"))).collect()
}

/// More lines than this say no more than these.
const MOST: usize = 40;

/// Two texts, line by line: `-` is what was expected, `+` what came.
pub(super) fn diff(wanted: &str, output: &str) -> Vec<String> {
    let (wanted, output): (Vec<&str>, Vec<&str>) = (wanted.lines().collect(), output.lines().collect());
    let same = wanted.iter().zip(&output).take_while(|(a, b)| a == b).count();
    let rest = |lines: &[&str]| lines.len() - same;
    let ends = wanted[same..].iter().rev().zip(output[same..].iter().rev()).take_while(|(a, b)| a == b).count();
    let ends = ends.min(rest(&wanted)).min(rest(&output));
    let around = |line: &&str| format!("  {line}");
    let before = wanted[same.saturating_sub(2)..same].iter().map(around);
    let gone = wanted[same..wanted.len() - ends].iter().map(|line| format!("- {line}"));
    let come = output[same..output.len() - ends].iter().map(|line| format!("+ {line}"));
    let after = wanted[wanted.len() - ends..].iter().take(2).map(around);
    let mut lines: Vec<String> = before.chain(gone).chain(come).chain(after).collect();
    if lines.len() > MOST {
        let more = lines.len() - MOST;
        lines.truncate(MOST);
        lines.push(format!("  … {more} more lines"));
    }
    lines
}

fn kind(failure: &Failure) -> Kind {
    match failure {
        Failure::InvalidInput(_) => Kind::InvalidInput,
        Failure::Refused(_) | Failure::Denied(_) => Kind::Denied,
        Failure::Failed(_) => Kind::Failed,
        _ => Kind::Crashed,
    }
}

fn word(failure: &Failure) -> String {
    match kind(failure) {
        Kind::Crashed => failure.kind().to_owned(),
        kind => kind.to_string(),
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::InvalidInput => "invalid_input",
            Self::Denied => "denied",
            Self::Failed => "failed",
            Self::Crashed => "crashed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(text: &str) -> Expected {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_is_expected_differs_in_nothing() {
        let ok = |text: &str| Ok(text.to_owned());
        for (case, outcome) in [
            (r#""Hello""#, ok("Hello\n")),
            (r#"{"contains":"ell"}"#, ok("Hello")),
            (r#"{"json":{"a":[1]}}"#, ok("{ \"a\": [ 1 ] }")),
            (r#"{"failure":"denied"}"#, Err(Failure::Refused("no".into()))),
            (r#"{"failure":"invalid_input","contains":"name"}"#, Err(Failure::InvalidInput("no name".into()))),
            (r#"{"failure":"crashed","contains":"boom"}"#, Err(Failure::Trap { reason: "boom".into() })),
        ] {
            assert_eq!(differences(&expected(case), &outcome), [""; 0], "{case}");
        }
    }

    #[test]
    fn what_differs_is_shown() {
        let shown = |case: &str, outcome| differences(&expected(case), &outcome).join("\n");
        assert_eq!(shown(r#""a\nb\nc\nd""#, Ok("a\nb\nx\nd".into())), "  a\n  b\n- c\n+ x\n  d");
        assert_eq!(shown(r#""a""#, Ok("a\na".into())), "  a\n+ a");
        assert_eq!(shown(r#"{"contains":"x"}"#, Ok("a\nb".into())), "it should contain \"x\", and is:\n  a\n  b");
        assert_eq!(shown(r#""a""#, Err(Failure::Failed("no".into()))), "it failed (failed):\n  no");
        assert_eq!(shown(r#"{"failure":"denied"}"#, Ok("a".into())), "it should fail (denied), and gave:\n  a");
        assert_eq!(
            shown(r#"{"failure":"denied"}"#, Err(Failure::Failed("no".into()))),
            "it should fail as denied, and did as failed:\n  no"
        );
        assert!(shown(r#"{"json":1}"#, Ok("x".into())).starts_with("it should be JSON"));
    }

    #[test]
    fn a_long_difference_is_cut() {
        let long = "x\n".repeat(1000);
        assert_eq!(diff("a", &long).len(), MOST + 1);
    }

    #[test]
    fn a_case_that_says_something_else_is_refused() {
        for text in [r#"{"contain":"x"}"#, r#"{"failure":"oops"}"#, "1"] {
            assert!(serde_json::from_str::<Expected>(text).is_err(), "{text}");
        }
    }
}
