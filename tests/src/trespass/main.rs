//! A native program that tries to do what it should not: one attempt each time it is run. It says `done` and what it
//! got, with exit code 0, or `refused` and why, with 1. Unconfined it is done what it tries, which is how a test knows
//! that a refusal is the wall's.

mod files;
mod kernel;
mod network;
mod processes;

use std::{collections::BTreeMap, env, io, process::ExitCode};

/// What an attempt is told, as `name=value`.
pub(crate) struct Told(BTreeMap<String, String>);

/// What an attempt came to.
pub(crate) type Came = io::Result<String>;

impl Told {
    fn text(&self, name: &str) -> io::Result<&str> {
        let missing = || io::Error::new(io::ErrorKind::InvalidInput, format!("nobody said {name}"));
        self.0.get(name).map(String::as_str).ok_or_else(missing)
    }

    fn number(&self, name: &str) -> io::Result<i32> {
        self.text(name)?.parse().map_err(io::Error::other)
    }

    /// A path outside.
    fn outside(&self, path: &str) -> io::Result<String> {
        Ok(format!("{}/{path}", self.text("outside")?))
    }
}

/// The answer of the kernel.
pub(crate) fn kernel(result: impl TryInto<i64>) -> io::Result<i64> {
    match result.try_into() {
        Ok(number) if number >= 0 => Ok(number),
        _ => Err(io::Error::last_os_error()),
    }
}

fn main() -> ExitCode {
    let mut words = env::args().skip(1).peekable();
    // Behind the walls of the process that guests run in, instead of those of a native program.
    if let Some(room) = words.next_if(|word| word.starts_with("--room=")) {
        let workspace = room.trim_start_matches("--room=");
        let writes = words.next_if(|word| word == "--writing").is_some();
        if let Err(why) = palisade_sandbox::raise_walls(workspace.as_ref(), writes) {
            let _ = io::Write::write_all(&mut io::stdout(), format!("wrong: no walls: {why}\n").as_bytes());
            return ExitCode::from(3);
        }
    }
    let attempt = words.next().unwrap_or_default();
    let told = Told(words.filter_map(|word| word.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()))).collect());
    let came = [files::attempt, kernel::attempt, network::attempt, processes::attempt]
        .iter()
        .find_map(|group| group(&attempt, &told))
        .unwrap_or_else(|| Err(io::Error::new(io::ErrorKind::Unsupported, format!("no attempt `{attempt}`"))));
    let (text, code) = match came {
        Ok(got) => (format!("done: {got}\n"), 0),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput && error.raw_os_error().is_none() => {
            (format!("wrong: {error}\n"), 3)
        }
        Err(error) => (format!("refused: {error}\n"), 1),
    };
    // Nobody is left to tell if this fails.
    let _ = io::Write::write_all(&mut io::stdout(), text.as_bytes());
    ExitCode::from(code)
}
