//! `palisade serve` as its clients find it.
#![expect(clippy::unwrap_used, reason = "a value that is not there fails the test")]
#![expect(clippy::disallowed_methods, reason = "tests start the program and connect to it")]

mod browser;
mod clients;
mod conformance;
mod crash;
mod described;
mod keys;
mod mcp;
mod mcp_clients;
mod mcp_servers;
mod mcp_tools;
mod model;
mod panels;
mod quotas;
mod runs;
mod secrets;
mod slow;
mod strangers;

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::Value;

use crate::world::World;

/// A server with a home of its own, ended with the test.
pub(crate) struct Server {
    pub(crate) world: World,
    child: Child,
    pub(crate) address: String,
    said: Arc<Mutex<String>>,
}

/// What it answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn with(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Server {
    /// On this machine, for whoever works alone.
    pub(crate) fn start(world: World, more: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", world, more)
    }

    /// The same, at an address.
    pub(crate) fn start_at(address: &str, world: World, more: &[&str]) -> Self {
        Self::start_with(&[], address, world, more)
    }

    /// The same, with variables.
    pub(crate) fn start_with(variables: &[(&str, &str)], address: &str, world: World, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_palisade"));
        command.args(["serve", "--listen", address]).args(more);
        command.env_clear().envs(variables.iter().copied());
        Self::start_by(command, world)
    }

    /// The same, by a command.
    fn start_by(mut command: Command, world: World) -> Self {
        command.env("HOME", world.home()).env("PALISADE_OPERATOR_CONFIG", world.operator_config());
        command.current_dir(world.workspace());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut all = String::new();
        let address = loop {
            let mut line = String::new();
            assert!(said.read_line(&mut line).unwrap() > 0, "it did not start:\n{all}");
            all += &line;
            if let Some(rest) = line.trim().strip_prefix("listening http://") {
                break rest.split_whitespace().next().unwrap().to_owned();
            }
        };
        let all = Arc::new(Mutex::new(all));
        let shared = Arc::clone(&all);
        // Whoever does not read what a program says stops it when the pipe is full.
        std::thread::spawn(move || {
            let mut line = String::new();
            while said.read_line(&mut line).is_ok_and(|length| length > 0) {
                *shared.lock().unwrap() += &std::mem::take(&mut line);
            }
        });
        Self { world, child, address, said: all }
    }

    /// What it has written down so far.
    pub(crate) fn log(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Sends a request as it is and reads the answer to its end.
    pub(crate) fn send(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = match head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            true => unchunked(body),
            false => body.to_owned(),
        };
        Answer { status, head: head.to_owned(), body }
    }

    /// A request with a key, if there is one, further headers, and a body, if there is one.
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        key: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        if !key.is_empty() {
            request += &format!("Authorization: Bearer {key}\r\n");
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        if !body.is_empty() {
            request += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        }
        self.send(&format!("{request}\r\n{body}"))
    }

    pub(crate) fn get(&self, path: &str, key: &str) -> Answer {
        self.ask("GET", path, key, &[], None)
    }

    pub(crate) fn post(&self, path: &str, key: &str, body: &Value) -> Answer {
        self.ask("POST", path, key, &[], Some(body))
    }

    /// Ends it as a crash does.
    pub(crate) fn kill(mut self) -> World {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::mem::replace(&mut self.world, World::empty())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 {
            break;
        }
        whole += &rest[..size];
        body = rest[size..].trim_start_matches("\r\n");
    }
    whole
}

/// A world with tenants, each with a key, and the model of a script.
pub(crate) fn tenants(names: &[&str]) -> (World, Vec<String>) {
    let world = World::new();
    let keys = names.iter().map(|name| {
        world.palisade(&["tenants", "add", name]).with_code(0);
        world.palisade(&["tenants", "key", name]).with_code(0).stdout.trim().to_owned()
    });
    let keys = keys.collect();
    (world, keys)
}
