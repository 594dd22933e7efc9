//! Sizes and times: `64MiB`, `30s`, or a bare number of bytes or seconds.

use std::time::Duration;

use super::{item::Item, node::Content};

/// A unit is what one of it is worth in the smallest.
type Units = [(&'static str, u128)];

const SIZES: &Units = &[
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
];

/// In nanoseconds.
const TIMES: &Units = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a number of bytes.
pub(super) fn size(item: &Item<'_>) -> Option<u64> {
    let bytes = match &item.node.content {
        Content::Int(int) => u64::try_from(*int).ok(),
        Content::Text(text) => read_size(text),
        _ => None,
    };
    if bytes.is_none() {
        item.wrong("a number of bytes, or one with KiB, MiB, GiB, KB, MB or GB", &format!("{}: 64MiB", item.name()));
    }
    bytes
}

/// Reads a time that is longer than nothing.
pub(super) fn time(item: &Item<'_>) -> Option<Duration> {
    let time = match &item.node.content {
        Content::Int(int) => u64::try_from(*int).ok().map(Duration::from_secs),
        Content::Float(float) => Duration::try_from_secs_f64(*float).ok(),
        Content::Text(text) => read_time(text),
        _ => None,
    };
    let time = time.filter(|time| !time.is_zero());
    if time.is_none() {
        item.wrong("a time above zero: seconds, or a number with ms, s, m or h", &format!("{}: 30s", item.name()));
    }
    time
}

/// Millionths of a dollar in one, and the most dollars that are still exact as a number in a file.
const MICROS: f64 = 1e6;
const MOST_DOLLARS: f64 = 1e9;

/// Reads an amount of dollars above zero, as millionths.
pub(super) fn dollars(item: &Item<'_>) -> Option<u64> {
    let dollars = match &item.node.content {
        #[expect(clippy::cast_precision_loss, reason = "what would be lost is above the most that is accepted")]
        Content::Int(int) => Some(*int as f64),
        Content::Float(float) => Some(*float),
        Content::Text(text) => text.trim().trim_start_matches('$').parse().ok(),
        _ => None,
    };
    let micros =
        dollars.map(|dollars: f64| (dollars * MICROS).round()).filter(|it| (1.0..=MOST_DOLLARS * MICROS).contains(it));
    if micros.is_none() {
        item.wrong("an amount of dollars above zero", &format!("{}: 1.50", item.name()));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole and in range")]
    micros.map(|micros| micros as u64)
}

/// Dollars, from millionths.
#[expect(clippy::cast_precision_loss, reason = "no more is read than is exact")]
pub(super) fn write_dollars(micros: u64) -> f64 {
    micros as f64 / MICROS
}

/// Reads `64MiB` or a bare number of bytes.
pub fn read_size(text: &str) -> Option<u64> {
    parse(text, "b", SIZES).and_then(|bytes| u64::try_from(bytes).ok())
}

/// Reads `30s`, `5m` or a bare number of seconds; nothing but a time above zero.
pub fn read_time(text: &str) -> Option<Duration> {
    let nanos = parse(text, "s", TIMES)?;
    let seconds = u64::try_from(nanos / 1_000_000_000).ok()?;
    let time = Duration::new(seconds, u32::try_from(nanos % 1_000_000_000).ok()?);
    (!time.is_zero()).then_some(time)
}

/// The shortest exact way to write a size.
pub fn write_size(bytes: u64) -> String {
    let exact = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let exact = exact.into_iter().find(|(_, shift)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    exact.map_or_else(|| bytes.to_string(), |(unit, shift)| format!("{}{unit}", bytes >> shift))
}

/// The shortest exact way to write a time.
pub fn write_time(time: Duration) -> String {
    let nanos = time.as_nanos();
    let exact = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let exact = exact.into_iter().find(|(_, worth)| nanos.is_multiple_of(*worth));
    exact.map_or_else(|| format!("{nanos}ns"), |(unit, worth)| format!("{}{unit}", nanos / worth))
}

/// A number with an optional fraction and an optional unit, in the smallest unit.
fn parse(text: &str, usual: &str, units: &Units) -> Option<u128> {
    let text = text.trim();
    let split = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(split)?;
    let unit = match unit.trim_start() {
        "" => usual,
        unit => unit,
    };
    let worth = units.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name)).map(|(_, worth)| *worth)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let scale = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let whole = whole.parse::<u128>().ok()?.checked_mul(worth)?;
    let fraction = fraction.parse::<u128>().ok()?.checked_mul(worth)?;
    // What does not come out even would be a silent rounding.
    if fraction % scale != 0 { None } else { whole.checked_add(fraction / scale) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let check = |text, expected| assert_eq!(parse(text, "b", SIZES), expected, "{text}");
        check("64MiB", Some(64 << 20));
        check("64 mib", Some(64 << 20));
        check("1.5KiB", Some(1536));
        check("10KB", Some(10_000));
        check("17", Some(17));
        check("0.3B", None);
        check("64M", None);
        check("-1", None);
        check("", None);
        check("1.", None);
        check("99999999999999999999999999999999999999999", None);
        check("9999999999999999999999999999999999GiB", None);
        check("é", None);
    }

    #[test]
    fn times_have_units() {
        let check = |text, expected: Option<u64>| {
            assert_eq!(parse(text, "s", TIMES), expected.map(|ms| u128::from(ms) * 1_000_000), "{text}");
        };
        check("30s", Some(30_000));
        check("500ms", Some(500));
        check("5m", Some(300_000));
        check("1.5h", Some(5_400_000));
        check("300", Some(300_000));
        check("5 days", None);
    }

    #[test]
    fn what_is_written_is_exact() {
        assert_eq!(write_size(64 << 20), "64MiB");
        assert_eq!(write_size(1025), "1025");
        assert_eq!(write_size(0), "0");
        assert_eq!(write_time(Duration::from_secs(600)), "600s");
        assert_eq!(write_time(Duration::from_millis(1500)), "1500ms");
        assert_eq!(write_time(Duration::new(1, 1)), "1000000001ns");
    }
}
