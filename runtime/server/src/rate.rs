//! How often a tenant may ask: so many requests in every minute.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::problem::Problem;

/// Counts requests of tenants.
#[derive(Debug, Default)]
pub(crate) struct Rate(Mutex<HashMap<String, Minute>>);

#[derive(Debug)]
struct Minute {
    began: Instant,
    requests: u32,
}

const MINUTE: Duration = Duration::from_secs(60);

impl Rate {
    /// Takes one request out of this minute's.
    pub(crate) fn take(&self, tenant: &str, most: Option<u32>, now: Instant) -> Result<(), Problem> {
        let Some(most) = most else { return Ok(()) };
        let mut tenants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let minute = tenants.entry(tenant.to_owned()).or_insert(Minute { began: now, requests: 0 });
        if now.saturating_duration_since(minute.began) >= MINUTE {
            *minute = Minute { began: now, requests: 0 };
        }
        if minute.requests >= most {
            let left = MINUTE.saturating_sub(now.saturating_duration_since(minute.began));
            return Err(Problem::too_many(format!("{most} requests in a minute are allowed"), left.as_secs() + 1));
        }
        minute.requests += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_asks_so_often_in_a_minute_and_others_do_not_notice() {
        let (rate, now) = (Rate::default(), Instant::now());
        let take = |tenant, after| {
            rate.take(tenant, Some(2), now + Duration::from_secs(after)).map_err(|problem| problem.retry_after())
        };
        assert_eq!([take("a", 0), take("a", 1), take("a", 20), take("b", 20)], [Ok(()), Ok(()), Err(Some(41)), Ok(())]);
        assert_eq!([take("a", 60), take("a", 61), take("a", 62)], [Ok(()), Ok(()), Err(Some(59))]);
        assert!((0..100).all(|_| rate.take("c", None, now).is_ok()));
    }
}
