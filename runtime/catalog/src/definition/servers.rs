//! The MCP servers of a project, as `.mcp.json` has them.
//!
//! The file is that of other programs, so what is not known in it is passed over; but a server that cannot be used is
//! one with a reason.

use std::{collections::BTreeMap, fmt};

use serde_json::{Map, Value};

/// How a server is spoken to.
#[derive(Clone, PartialEq, Eq)]
pub enum Connection {
    /// A program, over its standard input and output.
    Program {
        /// The program: a name that is looked up, or a path.
        program: String,
        /// What it is called with.
        arguments: Vec<String>,
        /// Its variables.
        env: BTreeMap<String, String>,
    },
    /// Requests over HTTP.
    Http {
        /// Where they go.
        url: String,
        /// Headers beside those of the protocol.
        headers: BTreeMap<String, String>,
    },
}

/// A server as somebody wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenServer {
    /// What it is called.
    pub name: String,
    /// How it is spoken to, or why it cannot be.
    pub connection: Result<Connection, String>,
}

/// More servers than anybody has.
const SERVERS: usize = 64;
/// More arguments, variables or headers than anybody writes.
const ENTRIES: usize = 256;

/// Gives the value of a variable of the environment.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads `.mcp.json`. `${NAME}` and `${NAME:-value}` in it stand for variables.
pub fn parse_servers(bytes: &[u8], variables: Variables<'_>) -> Result<Vec<WrittenServer>, String> {
    let root: Value = serde_json::from_slice(bytes).map_err(|error| format!("it is no JSON: {error}"))?;
    let servers = match root.get("mcpServers") {
        None => return Ok(Vec::new()),
        Some(Value::Object(servers)) => servers,
        Some(_) => return Err("`mcpServers` has to be an object".to_owned()),
    };
    if servers.len() > SERVERS {
        return Err(format!("it has {} servers; {SERVERS} are the most", servers.len()));
    }
    let one = |(name, written): (&String, &Value)| {
        let connection = check_server_name(name).and_then(|()| connection(written, variables));
        WrittenServer { name: name.clone(), connection }
    };
    Ok(servers.iter().map(one).collect())
}

/// Whether a server can be called so: its tools are called `mcp__name__tool`, and rules take that apart again.
pub fn check_server_name(name: &str) -> Result<(), String> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    match is_plain && (1..=48).contains(&name.len()) && !name.contains("__") && !name.ends_with('_') {
        true => Ok(()),
        false => Err("no server can be called so; up to 48 letters, digits, `-` and single `_`".to_owned()),
    }
}

fn connection(written: &Value, variables: Variables<'_>) -> Result<Connection, String> {
    let Value::Object(fields) = written else { return Err("it has to be an object".to_owned()) };
    let kind = fields.get("type").map(|kind| kind.as_str().unwrap_or_default());
    let text = |field: &str| match fields.get(field) {
        None => Ok(None),
        Some(Value::String(text)) => expand(text, variables).map(Some),
        Some(_) => Err(format!("`{field}` has to be a text")),
    };
    match (kind, text("command")?, text("url")?) {
        (None | Some("stdio"), Some(program), None) => Ok(Connection::Program {
            program: Some(program).filter(|program| !program.is_empty()).ok_or("`command` is empty")?,
            arguments: arguments(fields, variables)?,
            env: texts(fields, "env", variables)?,
        }),
        (None | Some("http" | "streamable-http"), None, Some(url)) => {
            Ok(Connection::Http { url, headers: texts(fields, "headers", variables)? })
        }
        (Some("sse"), ..) => Err("servers of the type `sse` are not spoken to; ask for one of `http`".to_owned()),
        (Some(kind @ ("stdio" | "http" | "streamable-http")), ..) => {
            let wanted = if kind == "stdio" { "`command`" } else { "`url`" };
            Err(format!("the type `{kind}` needs {wanted} and not the other"))
        }
        (Some(_), ..) => Err("`type` has to be `stdio` or `http`".to_owned()),
        (None, ..) => Err("it needs `command` or `url`, and not both".to_owned()),
    }
}

fn arguments(fields: &Map<String, Value>, variables: Variables<'_>) -> Result<Vec<String>, String> {
    let wrong = || "`args` has to be a list of texts".to_owned();
    match fields.get("args") {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) if items.len() <= ENTRIES => {
            items.iter().map(|item| expand(item.as_str().ok_or_else(wrong)?, variables)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

fn texts(
    fields: &Map<String, Value>,
    field: &str,
    variables: Variables<'_>,
) -> Result<BTreeMap<String, String>, String> {
    let wrong = || format!("`{field}` has to be an object of texts");
    match fields.get(field) {
        None => Ok(BTreeMap::new()),
        Some(Value::Object(entries)) if entries.len() <= ENTRIES => entries
            .iter()
            .map(|(name, value)| Ok((name.clone(), expand(value.as_str().ok_or_else(wrong)?, variables)?)))
            .collect(),
        Some(_) => Err(wrong()),
    }
}

/// Puts the values of variables in their places; what is in a value is not looked at again.
fn expand(text: &str, variables: Variables<'_>) -> Result<String, String> {
    let (mut expanded, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        expanded += before;
        let Some((inside, behind)) = after.split_once('}') else {
            return Err("a `${` has no `}`".to_owned());
        };
        let (name, default) = inside.split_once(":-").map_or((inside, None), |(name, value)| (name, Some(value)));
        let value = variables(name).or_else(|| default.map(str::to_owned));
        expanded += &value.ok_or_else(|| format!("the variable `{name}` is not set"))?;
        rest = behind;
    }
    expanded += rest;
    match expanded.contains('\0') {
        true => Err("a text has a zero byte in it".to_owned()),
        false => Ok(expanded),
    }
}

impl Connection {
    /// What it is, in a line, without the values of variables and headers.
    pub fn shown(&self) -> String {
        match self {
            Self::Program { program, arguments, .. } => {
                [program].into_iter().chain(arguments).map(String::as_str).collect::<Vec<_>>().join(" ")
            }
            Self::Http { url, .. } => url.clone(),
        }
    }

    /// The names of the variables or headers that it is given.
    pub fn given(&self) -> Vec<&str> {
        let (Self::Program { env: names, .. } | Self::Http { headers: names, .. }) = self;
        names.keys().map(String::as_str).collect()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connection").field(&self.shown()).field(&self.given()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn variables(name: &str) -> Option<String> {
        match name {
            "TOKEN" => Some("${TOKEN}".to_owned()),
            "HOST" => Some("hub.example".to_owned()),
            _ => None,
        }
    }

    fn read(server: Value) -> Result<Connection, String> {
        let file = json!({ "mcpServers": { "hub": server } }).to_string();
        parse_servers(file.as_bytes(), &variables).unwrap().remove(0).connection
    }

    #[test]
    fn programs_and_addresses_are_read_with_their_variables() {
        let program = read(json!({
            "command": "hub-server", "args": ["--host", "${HOST}", "${NONE:-x}"], "env": { "TOKEN": "${TOKEN}" },
            "alwaysAllow": ["a"],
        }));
        let Ok(Connection::Program { program, arguments, env }) = program else { panic!("{program:?}") };
        assert_eq!(
            (program.as_str(), arguments),
            ("hub-server", vec!["--host".into(), "hub.example".into(), "x".into()])
        );
        assert_eq!(env["TOKEN"], "${TOKEN}", "what is in a value is not looked at again");
        let http = read(json!({ "type": "http", "url": "https://${HOST}/mcp", "headers": { "x-key": "k" } })).unwrap();
        assert_eq!(http.shown(), "https://hub.example/mcp");
        assert!(!format!("{http:?}").contains("\"k\""), "values are shown to nobody: {http:?}");
    }

    #[test]
    fn a_server_that_cannot_be_used_says_why() {
        let check = |server: Value, expected: &str| {
            let why = read(server.clone()).unwrap_err();
            assert!(why.contains(expected), "{server}: {why}");
        };
        check(json!([]), "has to be an object");
        check(json!({}), "needs `command` or `url`");
        check(json!({ "command": "a", "url": "https://a" }), "and not both");
        check(json!({ "command": "a", "args": "b" }), "list of texts");
        check(json!({ "command": "a", "env": { "A": 1 } }), "object of texts");
        check(json!({ "command": "${NONE}" }), "`NONE` is not set");
        check(json!({ "command": "${NONE" }), "has no `}`");
        check(json!({ "type": "sse", "url": "https://a" }), "`sse`");
        check(json!({ "type": "http", "command": "a" }), "needs `url`");
        check(json!({ "type": "pigeon", "url": "https://a" }), "`stdio` or `http`");
        for name in ["", "a b", "a__b", "a_", "ä", &"x".repeat(49), "a/b"] {
            let file = json!({ "mcpServers": { name: { "command": "a" } } }).to_string();
            assert!(parse_servers(file.as_bytes(), &variables).unwrap()[0].connection.is_err(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_file_breaks_the_reader(bytes: Vec<u8>, text in "[{}\"\\$:,a-z0-9\\[\\]]{0,64}") {
            drop(parse_servers(&bytes, &variables));
            let file = json!({ "mcpServers": { "a": { "command": text.clone(), "args": [text] } } }).to_string();
            prop_assert!(parse_servers(file.as_bytes(), &variables).is_ok());
        }
    }
}
