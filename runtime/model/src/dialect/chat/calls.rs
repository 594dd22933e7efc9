//! The calls of a reply, put together from pieces. Servers differ in how they say which call a piece
//! belongs to: by `index`, by `id`, by both, or not at all.

use std::collections::HashMap;

use palisade_agent::{Listener, Part, ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::Value;

use crate::dialect::{Names, call_input};

/// A piece of a call.
#[derive(Deserialize)]
pub(super) struct Piece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    name: Option<String>,
    /// A piece of the text; some servers send the whole object.
    arguments: Option<Value>,
}

/// The calls that are being written.
pub(super) struct Calls {
    writing: Vec<Writing>,
    by_index: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
    /// The tools that the model knows by another name, by that.
    renamed: HashMap<String, String>,
}

#[derive(Default)]
struct Writing {
    id: String,
    name: String,
    arguments: String,
}

impl Calls {
    pub(super) fn new(tools: &[ToolSpec]) -> Self {
        let renamed = Names::of_tools(tools).renamed();
        Self { writing: Vec::new(), by_index: HashMap::new(), by_id: HashMap::new(), renamed }
    }

    /// Adds a piece to the call it belongs to.
    pub(super) fn add(&mut self, piece: Piece, listener: &dyn Listener) {
        let id = piece.id.filter(|id| !id.is_empty());
        let (name, arguments) = piece.function.map(|function| (function.name, function.arguments)).unwrap_or_default();
        let name = name.filter(|name| !name.is_empty());
        let at = self.place(piece.index, id.as_deref(), name.as_deref());

        let writing = &mut self.writing[at];
        if let Some(id) = id.filter(|_| writing.id.is_empty()) {
            self.by_id.insert(id.clone(), at);
            writing.id = id;
        }
        if let Some(name) = name.filter(|_| writing.name.is_empty()) {
            listener.hear(Part::Call { tool: self.renamed.get(&name).unwrap_or(&name) });
            writing.name = name;
        }
        let more = match arguments {
            Some(Value::String(text)) => text,
            Some(Value::Null) | None => return,
            Some(whole) => whole.to_string(),
        };
        if !more.is_empty() {
            listener.hear(Part::Input(&more));
            writing.arguments.push_str(&more);
        }
    }

    /// Where the call is that a piece belongs to; it is begun if there is none.
    fn place(&mut self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> usize {
        let known = id.and_then(|id| self.by_id.get(id).copied());
        let found = match index {
            Some(index) => self.by_index.get(&index).copied(),
            // Without an index a name begins a call, and what has none goes on with the last one.
            None if name.is_none() => known.or(self.writing.len().checked_sub(1)),
            None => known,
        };
        if let Some(at) = found.filter(|at| !self.is_another(*at, id, name)) {
            return at;
        }
        let at = self.writing.len();
        self.writing.push(Writing::default());
        if let Some(index) = index {
            self.by_index.insert(index, at);
        }
        at
    }

    /// Whether a piece that seems to belong to a call begins another one: some servers give every call
    /// the index 0, some repeat name and id in every piece, some make up a new id for every piece.
    fn is_another(&self, at: usize, id: Option<&str>, name: Option<&str>) -> bool {
        let writing = &self.writing[at];
        let Some(name) = name.filter(|_| !writing.name.is_empty()) else { return false };
        name != writing.name || id.is_some_and(|id| !writing.id.is_empty() && id != writing.id)
    }

    /// The calls, once it is said that they are whole.
    pub(super) fn finish(self) -> Vec<ToolCall> {
        let Self { writing, renamed, .. } = self;
        let call = |Writing { id, name, arguments }| {
            let tool = renamed.get(&name).cloned().unwrap_or(name);
            ToolCall { id, tool, input: call_input(&arguments) }
        };
        writing.into_iter().map(call).collect()
    }
}
