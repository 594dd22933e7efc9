//! What may be used up in one day by many runs together. A run's own budget ends with it; a purse stays, and is full
//! again when a day begins, in UTC.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use crate::{Spent, Usage};

/// What may be used up in one day.
#[derive(Debug)]
pub struct Purse {
    /// Tokens, read and written; absent: any number.
    tokens: Option<u64>,
    /// Millionths of a dollar; absent: any number.
    cost: Option<u64>,
    today: Mutex<Day>,
}

#[derive(Debug)]
struct Day {
    date: Date,
    spent: Usage,
}

impl Purse {
    /// A purse out of which something was taken today.
    pub fn new(tokens: Option<u64>, cost: Option<u64>, spent: Usage) -> Self {
        Self { tokens, cost, today: Mutex::new(Day { date: today(), spent }) }
    }

    /// When the day began that is counted.
    pub fn day_began() -> Timestamp {
        let began = today().to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp());
        began.unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Whether there is something left.
    pub fn has_left(&self) -> Result<(), Spent> {
        let spent = self.at(today()).spent;
        let is_empty = self.tokens.is_some_and(|most| spent.total() >= most)
            || self.cost.is_some_and(|most| spent.cost_micros >= most);
        if is_empty { Err(Spent::Day) } else { Ok(()) }
    }

    /// Takes what a reply cost that was given.
    pub fn spend(&self, usage: Usage) {
        self.at(today()).spent += usage;
    }

    fn at(&self, date: Date) -> MutexGuard<'_, Day> {
        let mut day = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        if day.date != date {
            *day = Day { date, spent: Usage::default() };
        }
        day
    }
}

fn today() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Account, Budget};

    #[test]
    fn runs_beside_each_other_take_from_one_purse() {
        let purse = Arc::new(Purse::new(Some(100), None, Usage { input_tokens: 80, ..Usage::default() }));
        let runs = [(); 2].map(|()| Account::open(Budget::default()).out_of(Arc::clone(&purse)));
        assert_eq!(runs.each_ref().map(Account::spend_step), [Ok(()), Ok(())]);
        let below = runs[0].branch(Budget::default()).unwrap();
        below.spend_usage(Usage { output_tokens: 20, ..Usage::default() });
        assert_eq!([&runs[0], &runs[1], &below].map(Account::spend_step), [Err(Spent::Day); 3]);
    }

    #[test]
    fn a_new_day_fills_it() {
        let spent = Usage { cost_micros: 5, ..Usage::default() };
        let purse = Purse::new(None, Some(5), spent);
        assert_eq!(purse.has_left(), Err(Spent::Day));
        drop(purse.at(today().tomorrow().unwrap()));
        assert_eq!(purse.has_left(), Ok(()));
    }

    #[test]
    fn who_is_given_no_limit_has_none() {
        let purse = Purse::new(None, None, Usage { input_tokens: u64::MAX, ..Usage::default() });
        assert_eq!(purse.has_left(), Ok(()));
    }
}
