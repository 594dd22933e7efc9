//! Tools for models that do not call any: every reply is held to a JSON schema whose value is one call
//! or the answer, `{"tool": …, "input": …}`, and results go back as what a user says.
//!
//! What the words and the schema look like was decided by trying them on a model of 135 million
//! parameters, the smallest that is to be had (`tests/llm` has the figures). It follows forms that it is
//! shown, but copies whatever stands in them as an example: so texts are blank in the forms and must not
//! be blank in the schema. It fills an input sensibly only if the schema names its members. It repeats
//! its last call for ever unless the result ends by offering the answer.

mod reader;

use palisade_agent::{Entry, Prompt, ToolCall, ToolSpec, Transcript};
use serde_json::{Map, Value, json};

use super::chat::{outcome, system, user};
use super::schema::{answer_format, named, parameters};
use super::{Names, Said, Told, Turn, turns};
use crate::Connection;

pub(super) use reader::JsonReader;

/// What is said after a result.
const ENOUGH: &str = "If this is enough, give the answer.";

/// Writes what depends on the mode: the messages, and what the reply is held to.
pub(super) fn write(body: &mut Map<String, Value>, prompt: &Prompt<'_>, connection: &Connection) {
    let choices = Choices::of(prompt);
    let mut messages = match prompt.tools {
        [] => system(prompt.instructions),
        tools => system(&format!("{}\n\n{}", prompt.instructions.trim_end(), choices.described(tools, connection))),
    };
    let turns = turns(prompt.transcript);
    // What was called in a turn is told of in the next.
    let mut calls: Vec<&ToolCall> = Vec::new();
    for turn in &turns {
        match turn {
            Turn::Model(said) => calls = choices.said(said, &mut messages),
            Turn::User { results, texts } => choices.told(results, &calls, texts, &mut messages),
        }
    }
    body.insert("messages".to_owned(), messages.into());
    let format = match prompt.tools {
        [] => answer_format(prompt.settings, 0, connection),
        tools => {
            let stale = repeated(prompt.transcript);
            let offered = tools.iter().filter(|tool| Some(tool.name.as_str()) != stale);
            Some(named("reply", &choices.schema(offered, prompt.settings.answer_schema.as_ref(), connection)))
        }
    };
    if let Some(format) = format {
        body.insert("response_format".to_owned(), json!({"type": "json_schema", "json_schema": format}));
    }
}

/// The tool that was just called twice with the same input. It is not among the next choices: a small
/// model would go on for ever, and nothing new would come of it.
fn repeated(transcript: &Transcript) -> Option<&str> {
    let answered = matches!(transcript.entries().last(), Some(Entry::Result { .. }));
    let calls: Vec<&ToolCall> = transcript.calls().map(|(call, _)| call).filter(|_| answered).collect();
    match calls.as_slice() {
        [.., before, last] if before.tool == last.tool && before.input == last.input => Some(&last.tool),
        _ => None,
    }
}

/// What a model can choose from.
struct Choices<'a> {
    names: Names<'a>,
    /// What the answer is called: not as a tool is.
    answer: String,
}

impl<'a> Choices<'a> {
    fn of(prompt: &Prompt<'a>) -> Self {
        let names = Names::of_tools(prompt.tools);
        let is_tool = |name: &String| prompt.tools.iter().any(|tool| names.written(&tool.name) == *name);
        let numbered = (2_u64..).map(|number| format!("answer_{number}"));
        let mut candidates = std::iter::once("answer".to_owned()).chain(numbered);
        let answer = candidates.find(|name| !is_tool(name)).unwrap_or_default();
        Self { names, answer }
    }

    /// One alternative for each tool and one for the answer. A schema that refers to its own parts is
    /// put where the references still lead, because a reference begins at the root.
    fn schema<'b>(
        &self,
        tools: impl Iterator<Item = &'b ToolSpec>,
        answer: Option<&Value>,
        connection: &Connection,
    ) -> Value {
        let plain = object(&json!({"text": {"type": "string"}}));
        let inputs =
            tools.map(|tool| (self.names.written(&tool.name).into_owned(), parameters(&tool.input_schema, connection)));
        let answer = (self.answer.clone(), answer.cloned().unwrap_or(plain));
        let mut definitions = Map::new();
        let mut alternatives = Vec::new();
        for (name, input) in inputs.chain([answer]) {
            let mut input = filled_in(input);
            let place = format!("{name}_input");
            if move_references(&mut input, &place) {
                definitions.insert(place.clone(), input);
                input = json!({"$ref": format!("#/$defs/{place}")});
            }
            alternatives.push(object(&json!({"tool": {"const": name}, "input": input})));
        }
        let mut schema = json!({ "anyOf": alternatives });
        if !definitions.is_empty() {
            schema["$defs"] = Value::Object(definitions);
        }
        schema
    }

    /// The tools in words, then the forms that a reply can have.
    fn described(&self, tools: &[ToolSpec], connection: &Connection) -> String {
        let mut words = String::from("The tools:\n");
        let mut forms = String::new();
        for tool in tools {
            let name = self.names.written(&tool.name);
            let schema = parameters(&tool.input_schema, connection);
            words.push_str(&format!("- {name}: {}", one_line(&tool.description)));
            let mut form = Map::new();
            for (member, about) in schema["properties"].as_object().into_iter().flatten() {
                let optional = if is_required(&schema, member) { "" } else { " (optional)" };
                let meaning = one_line(about["description"].as_str().unwrap_or_default());
                words.push_str(format!(" `{member}`{optional}: {meaning}").trim_end_matches([':', ' ']));
                if optional.is_empty() {
                    form.insert(member.clone(), blank(about));
                }
            }
            words.push('\n');
            forms.push_str(&format!("{}\n", written(&name, &Value::Object(form))));
        }
        forms.push_str(&format!("{}\n", written(&self.answer, &json!({"text": ""}))));
        format!("{words}\nReply with one JSON object, a call of one tool or the answer:\n{forms}")
    }

    /// Writes what the model said, as it would be said in this mode, and gives the calls that wait for
    /// their results.
    fn said<'b>(&self, said: &[Said<'b>], messages: &mut Vec<Value>) -> Vec<&'b ToolCall> {
        let calls: Vec<&ToolCall> = said.iter().flat_map(|said| said.calls).collect();
        let texts: Vec<&str> = said.iter().map(|said| said.text).filter(|text| !text.trim().is_empty()).collect();
        if calls.is_empty() {
            messages.push(assistant(written(&self.answer, &json!({"text": texts.join("\n\n")}))));
        }
        calls
    }

    /// Writes calls with their results, one after the other: in this mode a reply has one call. What the
    /// user says is part of the last message.
    fn told(&self, results: &[Told<'_>], calls: &[&ToolCall], texts: &[&str], messages: &mut Vec<Value>) {
        for (at, told) in results.iter().enumerate() {
            let call = calls.iter().find(|call| call.id == told.id);
            let tool = call.map(|call| self.names.written(&call.tool)).unwrap_or_default();
            if let Some(call) = call {
                messages.push(assistant(written(&tool, &call.input)));
            }
            let last = at + 1 == results.len();
            let after = if last && !texts.is_empty() { texts.join("\n\n") } else { ENOUGH.to_owned() };
            messages.extend(user(&format!("Result of {tool}:\n{}\n\n{after}", outcome(told))));
        }
        if results.is_empty() {
            messages.extend(user(&texts.join("\n\n")));
        }
    }
}

fn assistant(text: String) -> Value {
    json!({"role": "assistant", "content": text})
}

/// A reply as the model writes it.
fn written(tool: &str, input: &Value) -> String {
    json!({"tool": tool, "input": input}).to_string()
}

/// The schema of an object that has these members and no others.
fn object(members: &Value) -> Value {
    let required: Vec<&String> = members.as_object().into_iter().flat_map(Map::keys).collect();
    json!({"type": "object", "properties": members, "required": required, "additionalProperties": false})
}

/// What stands for a value that the model has to fill in.
fn blank(member: &Value) -> Value {
    match member["type"].as_str() {
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!(""),
    }
}

fn is_required(schema: &Value, member: &str) -> bool {
    schema["required"].as_array().is_some_and(|required| required.iter().any(|name| name == member))
}

/// Keeps a model from leaving a text that is required as blank as it stands in the forms.
fn filled_in(mut schema: Value) -> Value {
    let required: Vec<String> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    for name in required {
        if let Some(Value::Object(member)) = schema.get_mut("properties").and_then(|members| members.get_mut(&name))
            && member.get("type").is_some_and(|kind| kind == "string")
            && !["enum", "const", "pattern", "format"].iter().any(|word| member.contains_key(*word))
        {
            member.entry("minLength").or_insert(json!(1));
        }
    }
    schema
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Makes the references of a schema begin at its new place below `$defs`; says whether it has any.
fn move_references(schema: &mut Value, place: &str) -> bool {
    match schema {
        Value::Object(members) => {
            let mut any = false;
            for (name, value) in members {
                match value {
                    Value::String(reference) if name == "$ref" && reference.starts_with('#') => {
                        *reference = format!("#/$defs/{place}{}", &reference[1..]);
                        any = true;
                    }
                    other => any |= move_references(other, place),
                }
            }
            any
        }
        Value::Array(items) => items.iter_mut().fold(false, |any, item| move_references(item, place) | any),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
