//! From the arguments of a command to the input of a tool.

use palisade_sandbox::Printed;
use serde_json::{Map, Value};

/// How a tool is used as a command.
pub(super) struct Usage {
    name: String,
    description: String,
    schema: Value,
}

impl Usage {
    pub(super) fn new(name: &str, description: &str, schema: &str) -> Self {
        let schema = serde_json::from_str(schema).unwrap_or_default();
        Self { name: name.to_owned(), description: description.to_owned(), schema }
    }

    /// The input: `--name value` for each field, or one object as JSON, as an argument or piped in.
    pub(super) fn read(&self, arguments: &[String], piped: &[u8]) -> Result<String, Printed> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let input = match words.as_slice() {
            ["--help" | "-h"] => return Err(Printed::Help(self.help())),
            [] if piped.iter().all(u8::is_ascii_whitespace) => Map::new(),
            [] | ["-"] => object(&String::from_utf8_lossy(piped))?,
            [json] if json.trim_start().starts_with('{') => object(json)?,
            words => self.fields(words)?,
        };
        let required = self.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        match required.into_iter().find(|field| !input.contains_key(*field)) {
            Some(field) => Err(wrong(format!("--{field} is missing; `{} --help` says more", self.name))),
            None => Ok(Value::Object(input).to_string()),
        }
    }

    fn fields(&self, words: &[&str]) -> Result<Map<String, Value>, Printed> {
        let mut input = Map::new();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let Some(option) = word.strip_prefix("--").filter(|option| !option.is_empty()) else {
                let text = "is neither `--name value` nor a JSON object; `--help` says more";
                return Err(wrong(format!("`{word}` {text}")));
            };
            let (name, joined) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
            let (name, schema) = self.field(name)?;
            let is_switch = schema["type"] == "boolean";
            let text = match (joined, is_switch) {
                (Some(text), _) => text,
                (None, true) => "true",
                (None, false) => rest.next().ok_or_else(|| wrong(format!("--{name} needs a value")))?,
            };
            let value =
                value(text, schema).ok_or_else(|| wrong(format!("--{name}: `{text}` is not {}", kind(schema))))?;
            match (input.get_mut(name), value) {
                // What may be several is given several times, or as JSON.
                (Some(Value::Array(several)), Value::Array(more)) => several.extend(more),
                (_, value) => drop(input.insert(name.to_owned(), value)),
            }
        }
        Ok(input)
    }

    /// A field and its schema; `--max-items` means `max_items`, too. A tool without a schema takes anything.
    fn field<'a>(&'a self, name: &'a str) -> Result<(&'a str, &'a Value), Printed> {
        let Some(properties) = self.schema["properties"].as_object() else { return Ok((name, &Value::Null)) };
        let same = |known: &&String| known.as_str() == name || known.replace('_', "-") == name;
        match properties.keys().find(same) {
            Some(known) => Ok((known, &properties[known])),
            None => {
                let known: Vec<String> = properties.keys().map(|known| format!("--{known}")).collect();
                Err(wrong(format!("there is no --{name}; there are {}", known.join(", "))))
            }
        }
    }

    fn help(&self) -> String {
        let Self { name, description, schema } = self;
        let mut text = format!("{name}: {description}\n\nusage: {name} [--FIELD VALUE]… or {name} '{{JSON}}'\n");
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            let must = if required.contains(&field.as_str()) { ", required" } else { "" };
            let about = schema["description"].as_str().map(|about| format!("  {about}")).unwrap_or_default();
            text += &format!("  --{field}  ({}{must}){about}\n", kind(schema));
        }
        text
    }
}

fn wrong(text: String) -> Printed {
    Printed::Wrong(text)
}

fn object(text: &str) -> Result<Map<String, Value>, Printed> {
    serde_json::from_str(text).map_err(|error| wrong(format!("this is not a JSON object: {error}")))
}

/// A value as its schema wants it. What the schema leaves open is JSON if it can be, and text otherwise.
fn value(text: &str, schema: &Value) -> Option<Value> {
    let json = || serde_json::from_str::<Value>(text).ok();
    match schema["type"].as_str() {
        Some("string") => Some(text.into()),
        Some("integer") => json().filter(|value| value.is_i64() || value.is_u64()),
        Some("number") => json().filter(Value::is_number),
        Some("boolean") => json().filter(Value::is_boolean),
        Some("array") => json()
            .filter(Value::is_array)
            .or_else(|| value(text, &schema["items"]).map(|item| Value::Array(vec![item]))),
        Some("object") => json().filter(Value::is_object),
        _ => json().or_else(|| Some(text.into())),
    }
}

fn kind(schema: &Value) -> &str {
    schema["type"].as_str().unwrap_or("text or JSON")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn usage() -> Usage {
        let schema = json!({ "type": "object", "required": ["text"], "properties": {
            "text": { "type": "string", "description": "What to say." },
            "times": { "type": "integer" },
            "loud_enough": { "type": "boolean" },
            "to": { "type": "array", "items": { "type": "string" } },
            "more": {},
        } });
        Usage::new("say", "Says it.", &schema.to_string())
    }

    fn read(arguments: &[&str], piped: &str) -> Result<Value, Printed> {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        usage().read(&arguments, piped.as_bytes()).map(|input| serde_json::from_str(&input).unwrap())
    }

    #[test]
    fn fields_are_options_and_have_the_type_that_the_schema_says() {
        let given = ["--text", "5", "--times=3", "--loud-enough", "--to", "a", "--to", "b", "--more", "[1]"];
        let input = json!({ "text": "5", "times": 3, "loud_enough": true, "to": ["a", "b"], "more": [1] });
        assert_eq!(read(&given, ""), Ok(input));
        assert_eq!(read(&["--text=a=b", "--to", r#"["x"]"#], ""), Ok(json!({ "text": "a=b", "to": ["x"] })));
        assert_eq!(read(&["--text", "--times"], ""), Ok(json!({ "text": "--times" })), "a value is not an option");
    }

    #[test]
    fn the_input_can_be_json_as_an_argument_or_piped_in() {
        let input = json!({ "text": "a" });
        assert_eq!(read(&[r#" {"text": "a"}"#], ""), Ok(input.clone()));
        assert_eq!(read(&["-"], r#"{"text": "a"}"#), Ok(input.clone()));
        assert_eq!(read(&[], "{\"text\": \"a\"}\n"), Ok(input));
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        for (arguments, said) in [
            (&["--times", "3"][..], "--text is missing"),
            (&[], "--text is missing"),
            (&["--text"], "--text needs a value"),
            (&["--text", "a", "--times", "often"], "`often` is not integer"),
            (&["--text", "a", "--loud_enough=perhaps"], "is not boolean"),
            (&["--txt", "a"], "there is no --txt; there are --"),
            (&["a"], "`a` is neither"),
            (&["{"], "this is not a JSON object"),
        ] {
            match read(arguments, "") {
                Err(Printed::Wrong(text)) => assert!(text.contains(said), "{text}"),
                other => panic!("{arguments:?}: {other:?}"),
            }
        }
        let Err(Printed::Help(text)) = read(&["--help"], "") else { panic!() };
        assert!(text.starts_with("say: Says it.\n") && text.contains("--text  (string, required)  What to say."));
    }

    #[test]
    fn a_tool_without_a_schema_takes_anything() {
        let usage = Usage::new("say", "", "");
        let input = usage.read(&["--a".to_owned(), "1".to_owned(), "--b".to_owned(), "x".to_owned()], b"").unwrap();
        assert_eq!(input, r#"{"a":1,"b":"x"}"#);
    }
}
