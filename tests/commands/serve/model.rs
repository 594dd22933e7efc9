//! A model behind HTTP that says what a test wants it to say, when the test wants it.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    thread,
};

use serde_json::{Value, json};

use crate::world::World;

/// What it says to a conversation in which so many tools have answered.
type Says = dyn Fn(usize, &Value) -> Said + Send + Sync;

/// What it says.
pub(crate) enum Said {
    /// Words.
    Text(String),
    /// A call.
    Call(&'static str, Value),
    /// The same, once the test lets it.
    Held(Box<Said>),
}

/// The model.
pub(crate) struct Model {
    pub(crate) url: String,
    held: Arc<(Mutex<Held>, Condvar)>,
}

#[derive(Default)]
struct Held {
    /// How many replies wait.
    waiting: usize,
    released: bool,
}

impl Model {
    pub(crate) fn start(says: impl Fn(usize, &Value) -> Said + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (says, held): (Arc<Says>, Arc<(Mutex<Held>, Condvar)>) = (Arc::new(says), Arc::default());
        let shared = Arc::clone(&held);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (says, held) = (Arc::clone(&says), Arc::clone(&shared));
                // Whoever asked may be gone.
                thread::spawn(move || drop(answer(stream.unwrap(), says.as_ref(), &held)));
            }
        });
        Self { url, held }
    }

    /// Has a world's agents speak to it.
    pub(crate) fn configure(&self, world: &World) {
        world.configure(&format!(
            "model = \"here:tiny\"\n[providers.here]\nbase_url = \"{}/v1\"\ndialect = \"chat\"\nretries = 0\n",
            self.url
        ));
    }

    /// Waits until so many replies are held.
    pub(crate) fn holds(&self, count: usize) {
        let (held, changed) = &*self.held;
        drop(changed.wait_while(held.lock().unwrap(), |held| held.waiting < count).unwrap());
    }

    /// Lets all replies out, also those that come.
    pub(crate) fn release(&self) {
        let (held, changed) = &*self.held;
        held.lock().unwrap().released = true;
        changed.notify_all();
    }
}

fn answer(mut stream: TcpStream, says: &Says, held: &(Mutex<Held>, Condvar)) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let asked: Value = serde_json::from_slice(&body)?;
    let of_tools = |messages: &Vec<Value>| messages.iter().filter(|message| message["role"] == "tool").count();
    let mut said = says(asked["messages"].as_array().map_or(0, of_tools), &asked);
    if let Said::Held(then) = said {
        let (state, changed) = held;
        let mut state = state.lock().unwrap();
        state.waiting += 1;
        changed.notify_all();
        let mut state = changed.wait_while(state, |state| !state.released).unwrap();
        state.waiting -= 1;
        said = *then;
    }
    let (delta, finish) = match said {
        Said::Text(text) => (json!({ "content": text }), "stop"),
        Said::Call(tool, input) => {
            let call = json!({ "name": tool, "arguments": input.to_string() });
            (json!({ "tool_calls": [{ "index": 0, "id": "call_1", "function": call }] }), "tool_calls")
        }
        Said::Held(_) => panic!("a reply is held once"),
    };
    let events = [
        json!({ "choices": [{ "delta": delta }] }),
        json!({ "choices": [{ "delta": {}, "finish_reason": finish }] }),
        json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 10 } }),
    ];
    let body = events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>() + "data: [DONE]\n\n";
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes())
}
