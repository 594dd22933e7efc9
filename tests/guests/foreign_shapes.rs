//! Functions with every kind of type, and what programs look at before they begin. It knows nothing of Palisade.
#![cfg(target_family = "wasm")]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "components of others use the standard library"
)]
#![expect(unsafe_code, reason = "what is generated for an export")]

mod bindings {
    wit_bindgen::generate!({
        inline: "
            package guests:shapes@2.1.0;
            interface kinds {
                flags rights { read, write, run }
                enum level { low, high }
                record place { name: string, at: tuple<f64, f64>, mark: char }
                variant event { started, moved(place), failed(result<u64, string>) }
                record journey { id: u64, level: level, rights: rights, events: list<event>, note: option<string> }
                describe: func(journey: journey) -> result<journey, string>;
                count: func(journeys: list<journey>) -> tuple<u32, u64>;
            }
            world shapes {
                export kinds;
                export last-letter: func(text: string) -> option<char>;
                export checked: func(value: s64) -> result<s64, tuple<s64, string>>;
                export surroundings: func() -> tuple<list<string>, list<tuple<string, string>>, option<string>>;
                export say: func(text: string);
            }
        ",
    });
}

use bindings::exports::guests::shapes::kinds::{Event, Guest as Kinds, Journey};

struct Shapes;

impl Kinds for Shapes {
    fn describe(journey: Journey) -> Result<Journey, String> {
        match journey.events.last() {
            Some(Event::Failed(Err(why))) => Err(format!("{} failed: {why}", journey.id)),
            _ => Ok(journey),
        }
    }

    fn count(journeys: Vec<Journey>) -> (u32, u64) {
        (journeys.len() as u32, journeys.iter().map(|journey| journey.events.len() as u64).sum())
    }
}

impl bindings::Guest for Shapes {
    fn last_letter(text: String) -> Option<char> {
        text.chars().last()
    }

    fn checked(value: i64) -> Result<i64, (i64, String)> {
        if value < 0 { Err((value, "below zero".to_owned())) } else { Ok(value) }
    }

    fn surroundings() -> (Vec<String>, Vec<(String, String)>, Option<String>) {
        let folder = std::env::current_dir().ok().map(|folder| folder.display().to_string());
        (std::env::args().collect(), std::env::vars().collect(), folder)
    }

    fn say(text: String) {
        println!("{text}");
        eprintln!("{text} aside");
    }
}

bindings::export!(Shapes with_types_in bindings);
