//! Times as people write them.

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Milliseconds since 1970 as `2026-01-31 23:59`, in UTC.
pub(crate) fn utc(milliseconds: u64) -> String {
    let (year, month, day) = civil(milliseconds / DAY);
    let (hour, minute) = (milliseconds % DAY / HOUR, milliseconds % HOUR / MINUTE);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
}

/// The date that is so many days after 1970-01-01, by Howard Hinnant's `civil_from_days`: years
/// begin in March, so that the leap day is the last one of a year, and repeat every 400.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let seconds = [0, 951_782_399, 951_782_400, 951_868_800, 1_709_164_800, 4_107_542_399];
        let shown: Vec<String> = seconds.into_iter().map(|seconds| utc(seconds * 1000)).collect();
        assert_eq!(
            shown,
            [
                "1970-01-01 00:00",
                "2000-02-28 23:59",
                "2000-02-29 00:00",
                "2000-03-01 00:00",
                "2024-02-29 00:00",
                "2100-02-28 23:59"
            ]
        );
        utc(u64::MAX);
    }
}
