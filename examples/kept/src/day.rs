//! Days, as people and models write them: `2026-11-17`.

use std::{
    borrow::Cow,
    fmt,
    str::FromStr,
    time::{SystemTime, UNIX_EPOCH},
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A day of the calendar. Later days are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day {
    year: i32,
    month: u8,
    day: u8,
}

impl Day {
    /// Today, in UTC: a sandbox does not know where its user is.
    pub fn today() -> Self {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Self::after_1970(i64::try_from(seconds / 86_400).unwrap_or(0))
    }

    /// The day so many days after the first of January 1970. Counts from a first of March, so that the day that some
    /// years have more is the last of its year.
    fn after_1970(days: i64) -> Self {
        let days = days + 719_468;
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let small = |number: i64| u8::try_from(number).unwrap_or(1);
        Self { year: i32::try_from(year).unwrap_or(1970), month: small(month), day: small(day) }
    }

    fn days_of(year: i32, month: u8) -> u8 {
        match month {
            4 | 6 | 9 | 11 => 30,
            2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
            2 => 28,
            _ => 31,
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl FromStr for Day {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no day; write it like 2026-11-17");
        let parts: Vec<&str> = text.trim().split('-').collect();
        let [year, month, day] = parts[..] else { return Err(wrong()) };
        let is_plain = year.len() == 4 && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        let (Ok(year), Ok(month), Ok(day)) = (year.parse(), month.parse(), day.parse()) else { return Err(wrong()) };
        if !is_plain || !(1..=12).contains(&month) || day < 1 || day > Self::days_of(year, month) {
            return Err(wrong());
        }
        Ok(Self { year, month, day })
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for Day {
    fn schema_name() -> Cow<'static, str> {
        "Day".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_calendars_do() {
        for (days, day) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_774, "2026-11-17"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
        ] {
            assert_eq!(Day::after_1970(days).to_string(), day);
        }
    }

    #[test]
    fn days_are_read_as_they_are_written_and_nothing_else_is_one() {
        assert_eq!("2024-02-29".parse::<Day>().unwrap().to_string(), "2024-02-29");
        for text in ["", "2023-02-29", "2026-13-01", "2026-00-10", "2026-1-1-1", "26-01-01", "+026-01-01", "tomorrow"] {
            assert!(text.parse::<Day>().is_err(), "{text}");
        }
    }
}
