//! A point in time, as it is written into a message.

use std::time::{SystemTime, UNIX_EPOCH};

/// A point in time as JavaScript writes it: `2026-01-31T12:00:00.000Z`.
pub(super) fn written(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}

/// The date so many days after the first of January 1970. Years are counted from March, so that a leap
/// day is the last of its year; 400 years have 146,097 days.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + later, month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn instants_are_written_as_dates() {
        let check = |seconds, millis, expected: &str| {
            let time = UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_millis(millis);
            assert_eq!(written(time), expected);
        };
        check(0, 0, "1970-01-01T00:00:00.000Z");
        check(951_782_399, 999, "2000-02-28T23:59:59.999Z");
        check(951_782_400, 0, "2000-02-29T00:00:00.000Z");
        check(951_868_800, 0, "2000-03-01T00:00:00.000Z");
        check(1_765_497_600, 7, "2025-12-12T00:00:00.007Z");
        check(4_107_542_400, 0, "2100-03-01T00:00:00.000Z");
    }
}
