//! A client of few words: it writes lines to the program and reads what comes back.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::world::World;

pub(super) struct Pipe {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

/// What a model reads of an answer, and whether it is told that something went wrong.
pub(super) fn text(answer: &Value) -> (&str, bool) {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str();
    (text.unwrap_or_else(|| panic!("{answer}")), result["isError"].as_bool().unwrap())
}

impl Pipe {
    /// Starts the program and says what most clients say first.
    pub(super) fn begun(world: &World, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_palisade"))
            .arg("mcp")
            .args(arguments)
            .current_dir(world.workspace())
            .env_clear()
            .env("HOME", world.home())
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut pipe = Self { child, input, output, asked: 0 };
        let own = json!({ "name": "pipe", "version": "0" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": own });
        let answer = pipe.ask("initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        pipe.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        pipe
    }

    pub(super) fn say(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "the program has ended");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("this is no message: {line}"))
    }

    fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Asks, and gives what is told until the answer comes, and the answer.
    fn until_answered(&mut self, id: u64) -> (Vec<String>, Value) {
        let mut told = Vec::new();
        loop {
            let message = self.hear();
            if message["id"] == id {
                return (told, message);
            }
            told.extend(message["params"]["message"].as_str().map(str::to_owned));
        }
    }

    pub(super) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.until_answered(id).1
    }

    pub(super) fn tools(&mut self) -> Vec<Value> {
        self.ask("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone()
    }

    pub(super) fn call(&mut self, tool: &str, input: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": input }))
    }

    /// Begins a call whose progress is told.
    pub(super) fn begin_telling(&mut self, tool: &str, input: Value) -> u64 {
        let token = json!({ "progressToken": format!("p{}", self.asked) });
        self.begin("tools/call", json!({ "name": tool, "arguments": input, "_meta": token }))
    }

    pub(super) fn call_telling(&mut self, tool: &str, input: Value) -> (Vec<String>, Value) {
        let id = self.begin_telling(tool, input);
        self.until_answered(id)
    }

    pub(super) fn wait_for_progress(&mut self, text: &str) {
        while self.hear()["params"]["message"] != text {}
    }

    /// Says nothing more; gives the exit code.
    pub(super) fn leave(&mut self) -> i32 {
        drop(self.input.take());
        self.child.wait().unwrap().code().unwrap()
    }

    /// The same by a signal, with standard input still open.
    pub(super) fn signal(&mut self, name: &str) -> i32 {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // A test that failed must not leave it running; one that did not has waited for its end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
