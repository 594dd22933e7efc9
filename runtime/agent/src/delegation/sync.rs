//! What the tables of delegation lock with. The schedules in `tests/schedules` put shuttle's in this place.

pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError};
