//! Names that nothing else has, in this process or another.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// `task-` and 32 hexadecimal digits. The keys of the two hashers come from the system's source of chance.
pub(super) fn task_id() -> String {
    static KEYS: OnceLock<[RandomState; 2]> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let [high, low] = KEYS.get_or_init(|| [RandomState::new(), RandomState::new()]);
    let moment = jiff::Timestamp::now().as_nanosecond();
    format!("task-{:016x}{:016x}", high.hash_one((number, moment)), low.hash_one((moment, number)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_are_alike() {
        let ids: HashSet<String> = (0..10_000).map(|_| task_id()).collect();
        assert!(ids.len() == 10_000 && ids.iter().all(|id| id.len() == 37));
    }
}
