//! Numbers, grants and arguments in few words.

use std::time::Duration;

use palisade_grants::Grants;
use serde_json::{Value, json};

/// A time with three digits at most: `85 µs`, `1.2 ms`, `14 s`.
pub(crate) fn time(duration: Duration) -> String {
    let micros = duration.as_micros();
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..10_000 => format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100),
        10_000..1_000_000 => format!("{} ms", micros / 1_000),
        1_000_000..10_000_000 => format!("{}.{} s", micros / 1_000_000, micros % 1_000_000 / 100_000),
        _ => format!("{} s", micros / 1_000_000),
    }
}

/// A time that is still running: `0.4 s`, `12.3 s`, `3 m 07 s`.
pub(crate) fn seconds(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..60 => format!("{seconds}.{} s", duration.subsec_millis() / 100),
        seconds => format!("{} m {:02} s", seconds / 60, seconds % 60),
    }
}

/// How long ago something was: `just now`, `5 min ago`, `3 h ago`, `2 days ago`.
pub(crate) fn ago(duration: Duration) -> String {
    let minutes = duration.as_secs() / 60;
    match minutes {
        0 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..2_880 => format!("{} h ago", minutes / 60),
        _ => format!("{} days ago", minutes / 1_440),
    }
}

/// A number with its thousands apart: `12,345`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Millionths of a dollar: `$1.25`, `$0.0134`.
pub(crate) fn dollars(micros: u64) -> String {
    match micros {
        0..100 => "less than $0.0001".to_owned(),
        100..100_000 => format!("$0.{:04}", micros / 100),
        micros => format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000),
    }
}

/// A size in bytes: `812 B`, `3.4 KiB`, `16 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    let tenths = |unit: u64| (bytes % unit) * 10 / unit;
    match bytes {
        0..KIB => format!("{bytes} B"),
        KIB..10_240 => format!("{}.{} KiB", bytes / KIB, tenths(KIB)),
        10_240..MIB => format!("{} KiB", bytes / KIB),
        MIB..10_485_760 => format!("{}.{} MiB", bytes / MIB, tenths(MIB)),
        _ => format!("{} MiB", bytes / MIB),
    }
}

/// `1 step`, `2 steps`.
pub(crate) fn count(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// What an agent may do, such as `files: . read-only`.
pub(crate) fn grants(grants: &Grants) -> String {
    let folder = |(path, access): (String, &str)| match access {
        "read" => format!("{path} read-only"),
        "none" => format!("{path} hidden"),
        access => format!("{path} {access}"),
    };
    let folders: Vec<String> = grants.files.entries().map(folder).collect();
    let mut text = if folders.is_empty() { "no files".to_owned() } else { format!("files: {}", folders.join(", ")) };
    let lists = [("http", json!(grants.http)), ("commands", json!(grants.commands))];
    for (name, list) in lists.iter().filter(|(_, list)| list.as_array().is_some_and(|list| !list.is_empty())) {
        let items: Vec<&str> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        text += &format!("; {name}: {}", items.join(", "));
    }
    if let Some(storage) = grants.storage {
        text += &format!("; storage: {}", size(storage.bytes));
    }
    text
}

/// The input of a call in few words: `pattern=call path=src`.
pub(crate) fn arguments(input: &str) -> String {
    let Ok(Value::Object(members)) = serde_json::from_str(input) else { return input.to_owned() };
    let word = |(name, value): (&String, &Value)| match value {
        Value::String(text) if !text.is_empty() && !text.contains([' ', '=']) => format!("{name}={text}"),
        value => format!("{name}={value}"),
    };
    members.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_have_three_digits_at_most() {
        let times = [85, 1_250, 14_999, 1_500_000, 61_000_000].map(|micros| time(Duration::from_micros(micros)));
        assert_eq!(times, ["85 µs", "1.2 ms", "14 ms", "1.5 s", "61 s"]);
        let sizes = [812, 3_500, 20_000, 5 << 20, 1 << 30].map(size);
        assert_eq!(sizes, ["812 B", "3.4 KiB", "19 KiB", "5.0 MiB", "1024 MiB"]);
    }

    #[test]
    fn what_is_long_ago_is_said_in_large_units() {
        let times =
            [59, 60, 3_599, 3_600, 172_799, 172_800, 8_640_000].map(|seconds| ago(Duration::from_secs(seconds)));
        assert_eq!(times, ["just now", "1 min ago", "59 min ago", "1 h ago", "47 h ago", "2 days ago", "100 days ago"]);
    }

    #[test]
    fn running_times_numbers_and_costs_are_short() {
        let times = [0, 449, 59_999, 60_000, 187_000].map(|millis| seconds(Duration::from_millis(millis)));
        assert_eq!(times, ["0.0 s", "0.4 s", "59.9 s", "1 m 00 s", "3 m 07 s"]);
        assert_eq!([7, 999, 1000, 1_234_567].map(thousands), ["7", "999", "1,000", "1,234,567"]);
        let costs = [99, 100, 13_450, 100_000, 1_259_000].map(dollars);
        assert_eq!(costs, ["less than $0.0001", "$0.0001", "$0.0134", "$0.10", "$1.25"]);
    }

    #[test]
    fn arguments_are_names_and_values() {
        let check = |input: &str, expected: &str| assert_eq!(arguments(input), expected);
        check(r#"{"pattern":"call","path":"src"}"#, "pattern=call path=src");
        check(r#"{"pattern":"fn call","limit":3,"all":true}"#, r#"pattern="fn call" limit=3 all=true"#);
        check("nonsense", "nonsense");
    }
}
