//! Says what time it is. It knows nothing of Palisade: it exports an interface of its own.
#![cfg(target_family = "wasm")]
#![expect(unsafe_code, reason = "what is generated for an export")]

use std::time::{SystemTime, UNIX_EPOCH};

mod bindings {
    wit_bindgen::generate!({
        inline: "
            package guests:clock@0.2.0;
            interface time {
                record moment { seconds: u64, nanoseconds: u32 }
                get-current-time: func() -> string;
                get-moment: func() -> moment;
            }
            world clock { export time; }
        ",
    });
}

use bindings::exports::guests::clock::time::{Guest, Moment};

struct Clock;

impl Guest for Clock {
    fn get_current_time() -> String {
        format!("{} seconds since 1970", Self::get_moment().seconds)
    }

    fn get_moment() -> Moment {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment { seconds: now.as_secs(), nanoseconds: now.subsec_nanos() }
    }
}

bindings::export!(Clock with_types_in bindings);
