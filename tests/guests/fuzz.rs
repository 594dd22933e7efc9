//! Calls every host interface with odd values in an order that only its seed knows.
#![cfg(target_family = "wasm")]

use palisade_tool::{
    Failure,
    bindings::host::{files, progress, storage},
};
use schemars::JsonSchema;
use serde::Deserialize;
use wasip2::{
    cli::{
        environment, stderr::get_stderr, stdin::get_stdin, stdout::get_stdout, terminal_stdout::get_terminal_stdout,
    },
    clocks::{monotonic_clock, wall_clock},
    filesystem::{
        preopens::get_directories,
        types::{Advice, Descriptor, DescriptorFlags, NewTimestamp, OpenFlags, PathFlags, filesystem_error_code},
    },
    io::{
        poll::poll,
        streams::{InputStream, OutputStream, StreamError},
    },
    random::{insecure, insecure_seed, random},
};

/// The input of `fuzz`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// Where the order comes from.
    seed: u64,
    /// How many calls to make.
    calls: u32,
}

palisade_tool::tool! {
    /// Calls every host interface with odd values.
    #[tool(needs = ["fs.read", "fs.write", "storage"], read_only = false, idempotent = false)]
    pub fn fuzz(input: Input) -> Result<String, Failure> {
        let mut fuzz = Fuzz::new(input.seed);
        for _ in 0..input.calls {
            fuzz.call();
        }
        Ok(format!("{} of {} calls succeeded", fuzz.succeeded, input.calls))
    }
}

struct Fuzz {
    state: u64,
    handles: Vec<Descriptor>,
    inputs: Vec<InputStream>,
    outputs: Vec<OutputStream>,
    succeeded: u32,
}

const NAMES: [&str; 20] = [
    "",
    ".",
    "..",
    "/",
    "//",
    "a",
    "a/b",
    "a/../..",
    "folder",
    "folder/",
    "file",
    "file/",
    "link",
    "loop",
    "pipe",
    ".git/hooks/x",
    "\u{0}",
    "a\\b",
    "CON",
    "new\nline",
];

impl Fuzz {
    fn new(seed: u64) -> Self {
        let handles = get_directories().into_iter().map(|(handle, _)| handle).collect();
        Self { state: seed | 1, handles, inputs: Vec::new(), outputs: Vec::new(), succeeded: 0 }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize
    }

    fn number(&mut self) -> u64 {
        let numbers = [
            0,
            1,
            7,
            4096,
            65_535,
            1 << 20,
            u64::from(u32::MAX),
            1 << 40,
            i64::MAX as u64,
            i64::MAX as u64 + 1,
            u64::MAX - 1,
            u64::MAX,
        ];
        numbers[self.below(numbers.len())]
    }

    fn name(&mut self) -> String {
        match self.below(12) {
            0 => "x".repeat(5000),
            1 => "deep/".repeat(900),
            2 => format!("{}{}", NAMES[self.below(NAMES.len())], NAMES[self.below(NAMES.len())]),
            _ => NAMES[self.below(NAMES.len())].to_owned(),
        }
    }

    fn time(&mut self) -> NewTimestamp {
        match self.below(3) {
            0 => NewTimestamp::NoChange,
            1 => NewTimestamp::Now,
            _ => NewTimestamp::Timestamp(wasip2::clocks::wall_clock::Datetime {
                seconds: self.number(),
                nanoseconds: self.number() as u32,
            }),
        }
    }

    fn count<T, E>(&mut self, result: Result<T, E>) {
        self.succeeded += u32::from(result.is_ok());
    }

    fn call(&mut self) {
        match self.below(10) {
            0..=4 => self.files(),
            5 => self.streams(),
            6 => self.own_files(),
            7 => self.storage(),
            8 => self.plain(),
            _ => self.forget(),
        }
    }

    /// Gives back some handles, so that there is room for others.
    fn forget(&mut self) {
        let most = self.below(40);
        self.handles.truncate(most.max(1));
        let most = self.below(10);
        self.inputs.truncate(most);
        self.outputs.truncate(most);
        if self.below(50) == 0 {
            self.handles.clear();
        }
        if self.handles.is_empty() {
            self.handles = get_directories().into_iter().map(|(handle, _)| handle).collect();
        }
    }

    fn files(&mut self) {
        if self.handles.is_empty() {
            return;
        }
        let (first, second) = (self.below(self.handles.len()), self.below(self.handles.len()));
        let (name, other, number, more) = (self.name(), self.name(), self.number(), self.number());
        let path_flags = PathFlags::from_bits_retain(self.below(2) as u8);
        let open_flags = OpenFlags::from_bits_retain(self.below(16) as u8);
        let flags = DescriptorFlags::from_bits_retain(self.below(64) as u8);
        let (one, two) = (self.time(), self.time());
        let choice = self.below(26);
        let (handle, target) = (&self.handles[first], &self.handles[second]);
        let worked = match choice {
            0..=4 => match handle.open_at(path_flags, &name, open_flags, flags) {
                Ok(opened) => {
                    if self.handles.len() < 40 {
                        self.handles.push(opened);
                    }
                    true
                }
                Err(_) => false,
            },
            5 => handle.read(number.min(1 << 20), more).is_ok(),
            6 => handle.read(number, more).is_ok(),
            7 => handle.write(name.as_bytes(), number).is_ok(),
            8 => handle.set_size(number).is_ok(),
            9 => handle.set_times(one, two).is_ok(),
            10 => handle.set_times_at(path_flags, &name, one, two).is_ok(),
            11 => handle.stat_at(path_flags, &name).is_ok(),
            12 => handle.create_directory_at(&name).is_ok(),
            13 => handle.remove_directory_at(&name).is_ok(),
            14 => handle.unlink_file_at(&name).is_ok(),
            15 => handle.rename_at(&name, target, &other).is_ok(),
            16 => handle.link_at(path_flags, &name, target, &other).is_ok(),
            17 => handle.symlink_at(&other, &name).is_ok(),
            18 => handle.readlink_at(&name).is_ok(),
            19 => handle.advise(number, more, Advice::WillNeed).is_ok(),
            20 => handle.sync().is_ok() | handle.sync_data().is_ok(),
            21 => handle.get_flags().is_ok() | handle.get_type().is_ok() | handle.stat().is_ok(),
            22 => handle.metadata_hash().is_ok() | handle.metadata_hash_at(path_flags, &name).is_ok(),
            23 => handle.is_same_object(target),
            24 => handle.read_directory().is_ok_and(|entries| entries.read_directory_entry().is_ok()),
            _ => {
                let stream = handle.read_via_stream(number);
                let out = if self.below(2) == 0 {
                    self.handles[first].write_via_stream(number)
                } else {
                    self.handles[first].append_via_stream()
                };
                let worked = stream.is_ok() || out.is_ok();
                self.inputs.extend(stream.ok().filter(|_| self.inputs.len() < 10));
                self.outputs.extend(out.ok().filter(|_| self.outputs.len() < 10));
                worked
            }
        };
        self.succeeded += u32::from(worked);
    }

    fn streams(&mut self) {
        let number = self.number();
        match self.below(8) {
            0 => self.outputs.push(if number.is_multiple_of(2) { get_stdout() } else { get_stderr() }),
            1 => self.inputs.push(get_stdin()),
            2 if !self.inputs.is_empty() => {
                let first = self.below(self.inputs.len());
                let read = self.inputs[first].read(number.min(1 << 20));
                self.told(read);
            }
            3 if !self.inputs.is_empty() => {
                let first = self.below(self.inputs.len());
                let skipped = self.inputs[first].skip(number);
                self.told(skipped);
            }
            4 if !self.outputs.is_empty() => {
                let first = self.below(self.outputs.len());
                if let Ok(room) = self.outputs[first].check_write() {
                    let length = usize::try_from(number.min(room)).unwrap_or(0);
                    let written = self.outputs[first].write(&vec![7; length]);
                    self.told(written);
                }
            }
            5 if !self.outputs.is_empty() => {
                let first = self.below(self.outputs.len());
                let flushed = self.outputs[first].blocking_flush();
                self.told(flushed);
            }
            6 if !self.outputs.is_empty() => {
                let first = self.below(self.outputs.len());
                let written = self.outputs[first].blocking_write_zeroes_and_flush(number.min(4096));
                self.told(written);
            }
            7 if !self.outputs.is_empty() && !self.inputs.is_empty() => {
                let (first, second) = (self.below(self.outputs.len()), self.below(self.inputs.len()));
                let spliced = self.outputs[first].splice(&self.inputs[second], number.min(1 << 16));
                self.told(spliced);
            }
            _ => {}
        }
        self.inputs.truncate(12);
        self.outputs.truncate(12);
    }

    /// Asks about an error too, if there is one.
    fn told<T>(&mut self, result: Result<T, StreamError>) {
        if let Err(StreamError::LastOperationFailed(error)) = &result {
            self.succeeded += u32::from(filesystem_error_code(error).is_some() && !error.to_debug_string().is_empty());
        }
        self.count(result);
    }

    fn own_files(&mut self) {
        let (name, number, more) = (self.name(), self.number(), self.number());
        match self.below(3) {
            0 => self.count(files::list(&name)),
            1 => self.count(files::stat(&name)),
            _ => self.count(files::read(&name, number, more as u32)),
        }
    }

    fn storage(&mut self) {
        let (name, value) = (self.name(), self.name());
        match self.below(4) {
            0 => self.count(storage::get(&name)),
            1 => self.count(storage::set(&name, value.as_bytes())),
            2 => self.count(storage::delete(&name)),
            _ => self.count(storage::keys(&name)),
        }
    }

    fn plain(&mut self) {
        let number = self.number();
        match self.below(9) {
            0 => progress::report(&self.name()),
            1 => drop(random::get_random_bytes(number.min(64 << 10))),
            2 => drop(insecure::get_insecure_random_bytes(number.min(64 << 10))),
            3 => drop((insecure_seed::insecure_seed(), random::get_random_u64())),
            4 => drop((wall_clock::now(), wall_clock::resolution(), monotonic_clock::resolution())),
            5 => drop((
                environment::get_environment(),
                environment::get_arguments(),
                environment::initial_cwd(),
                get_terminal_stdout(),
            )),
            6 => {
                let ready = monotonic_clock::subscribe_instant(0);
                let never = monotonic_clock::subscribe_duration(number | 1 << 50);
                drop((ready.ready(), never.ready(), poll(&[&never, &ready, &never])));
            }
            7 => drop(monotonic_clock::subscribe_instant(number).ready()),
            _ => drop(get_stdin().subscribe().ready()),
        }
    }
}
