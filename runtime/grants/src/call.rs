//! One call of a tool, as rules see it.

use serde_json::Value;

use crate::{
    canonical_tool,
    domain::host_of,
    path_pattern::CallPath,
    rule::{READING, WRITING},
    shell::{Script, Unreadable},
};

/// One call of a tool: its canonical name and its arguments, brought into one form once, however
/// many rules look at it.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    tool: String,
    input: &'a Value,
    subject: Subject,
}

/// What the call is about.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    /// A shell command.
    Shell(Result<Script, Unreadable>),
    /// Files or folders; at least one.
    Paths(Vec<CallPath>),
    /// A host of the web, if the address has one.
    Host(Option<String>),
    /// An agent or a skill; several if the arguments contradict each other.
    Names(Vec<String>),
    /// Anything else.
    Other,
}

impl<'a> Call<'a> {
    /// Looks at a call. A shell command is parsed here.
    pub fn new(tool: &'a str, input: &'a Value) -> Self {
        let tool = canonical_tool(tool);
        let subject = match tool.as_str() {
            "bash" => Subject::Shell(match input.get("command").and_then(Value::as_str) {
                Some(command) => Script::read(command),
                None => Err(Unreadable("has no text in `command`".to_owned())),
            }),
            "exec" => Subject::Shell(Script::read(&words(input))),
            "web_fetch" => Subject::Host(input.get("url").and_then(Value::as_str).and_then(host_of)),
            "task" | "agents_message" => Subject::Names(agents(input)),
            "parallel_task" => Subject::Names(agents_of_each(input)),
            "skill" => Subject::Names(skills(input)),
            tool if READING.contains(&tool) || WRITING.contains(&tool) => Subject::Paths(paths(input)),
            _ => Subject::Other,
        };
        Self { tool, input, subject }
    }

    /// The canonical name of the tool.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The arguments.
    pub fn input(&self) -> &'a Value {
        self.input
    }

    /// The same call as if it were one of `task`, if it names agents.
    pub(crate) fn as_task(&self) -> Option<Self> {
        let is_naming = matches!(self.subject, Subject::Names(_));
        is_naming.then(|| Self { tool: "task".to_owned(), ..self.clone() })
    }

    pub(crate) fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The arguments as JSON without spaces.
    pub(crate) fn text(&self) -> String {
        self.input.to_string()
    }
}

/// A program and its arguments as a shell would be told them, each word in quotes: there is no shell
/// in between, but what `sh -c` or `env` is given to run is looked at all the same.
fn words(input: &Value) -> String {
    let program = input.get("program").and_then(Value::as_str).unwrap_or_default();
    let arguments = input.get("arguments").and_then(Value::as_array).into_iter().flatten();
    let words = [program].into_iter().chain(arguments.map(|word| word.as_str().unwrap_or_default()));
    words.map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" ")
}

/// The paths that a call names; the workspace if it names none.
fn paths(input: &Value) -> Vec<CallPath> {
    let mut paths = Vec::new();
    named_paths(input, &mut paths);
    for edit in input.get("edits").and_then(Value::as_array).into_iter().flatten() {
        named_paths(edit, &mut paths);
    }
    if paths.is_empty() {
        paths.push(CallPath::Inside(String::new()));
    }
    paths
}

fn named_paths(input: &Value, paths: &mut Vec<CallPath>) {
    for key in ["path", "file_path", "paths", "file_paths"] {
        match input.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::String(path)) => paths.push(CallPath::parse(path)),
            Some(Value::Array(several)) => {
                paths.extend(several.iter().map(|path| path.as_str().map_or(CallPath::Unreadable, CallPath::parse)));
            }
            Some(_) => paths.push(CallPath::Unreadable),
        }
    }
}

/// The agents that a call names. A call without a name means `general`.
fn agents(input: &Value) -> Vec<String> {
    let keys = ["type", "agent", "agent_name", "agentId", "agent_id", "subagent_type"];
    let names: Vec<String> = keys.iter().filter_map(|key| input.get(key)?.as_str()).map(str::to_owned).collect();
    if names.is_empty() { vec!["general".to_owned()] } else { names }
}

/// The agents that the tasks of a call name, of which there should be some.
fn agents_of_each(input: &Value) -> Vec<String> {
    match input.get("tasks").and_then(Value::as_array) {
        Some(tasks) => tasks.iter().flat_map(agents).collect(),
        None => agents(input),
    }
}

/// The skill that a call names, with its arguments behind it.
fn skills(input: &Value) -> Vec<String> {
    let keys = ["skill", "name", "command"];
    let arguments = ["args", "arguments"].iter().find_map(|key| input.get(key)?.as_str()).unwrap_or_default();
    let names = keys.iter().filter_map(|key| input.get(key)?.as_str());
    names.map(|name| format!("{name} {arguments}").trim_end().to_owned()).collect()
}
