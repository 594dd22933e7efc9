//! Days and times in UTC, as commands write them.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: i64 = 24 * 60 * 60;

/// A moment taken apart.
pub(crate) struct Moment {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
}

/// Takes seconds since 1970 apart.
pub(crate) fn moment(time: i64) -> Moment {
    // Years that begin in March have their odd day at the end.
    let shifted = time.div_euclid(DAY) + 719_468;
    let era = shifted.div_euclid(146_097);
    let in_era = shifted.rem_euclid(146_097);
    let year = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    Moment {
        year: year + era * 400 + i64::from(month <= 2),
        month,
        day,
        hour: time.rem_euclid(DAY) / 3600,
        minute: time.rem_euclid(3600) / 60,
        second: time.rem_euclid(60),
    }
}

/// Seconds since 1970.
pub(crate) fn seconds(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// A moment to the nanosecond.
pub(crate) fn long(time: SystemTime) -> String {
    let Moment { year, month, day, hour, minute, second } = moment(seconds(time));
    let nanoseconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{nanoseconds:09} +0000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_fall_where_the_calendar_has_them() {
        let day = |time: i64| {
            let Moment { year, month, day, .. } = moment(time);
            (year, month, day)
        };
        assert_eq!(day(0), (1970, 1, 1));
        assert_eq!(day(951_782_400), (2000, 2, 29));
        assert_eq!(day(1_709_251_200), (2024, 3, 1));
        assert_eq!(day(-1), (1969, 12, 31));
    }
}
