//! Agent definitions as people write them.
//!
//! Markdown with settings in front, YAML, the `agents` of a JSON configuration, the entries of a
//! plugin's `plugin.json` and code all become one [`Agent`]. This module is pure: bytes come in, a
//! value or a list of [`Notice`]s goes out. Nothing here reads a file, and nothing here decides
//! which of two agents with one name is used.
//!
//! Everything that is wrong with a file is reported at once, with its line and column. What would
//! take a restriction away if it were overlooked is an error; what merely has no effect is a
//! warning.

mod agent;
mod config;
mod document;
mod fields;
mod frontmatter;
mod item;
mod limits;
mod manifest;
mod model;
mod node;
mod notice;
mod plugin_agent;
mod reading;
mod report;
mod runtime;
mod servers;
mod skill;
mod suggest;
mod text;
mod tools;
mod units;
mod write;

use palisade_agent::{Agent, Origin};

use self::{
    agent::{Body, Fields},
    document::{Document, Syntax},
    fields::Field,
    frontmatter::{Missing, Parts},
    item::Item,
    node::{Content, Node},
    report::{At, Report},
};

pub use config::{Config, ConfigSettings, parse_config};
pub use manifest::{Manifest, ManifestAgent, ManifestTool, parse_manifest};
pub use notice::{Notice, Rejected, Severity};
pub use plugin_agent::parse_plugin_agent;
pub use servers::{Connection, Variables, WrittenServer, check_server_name, parse_servers};
pub use skill::{ParsedSkill, Skill, is_skill_name, parse_skill};
pub use suggest::nearest;
pub(crate) use text::visible_lines;
pub use units::{read_size, read_time, write_size, write_time};
pub use write::{to_markdown, to_yaml};

/// The longest file that is read at all. An agent is a page of text; what is longer is a mistake or
/// an attempt to keep us busy.
pub const MAX_FILE: usize = 256 * 1024;

/// What is known of a text before it is read.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// The file, as it is shown to people.
    pub file: &'a str,
    /// What [`Agent::origin`] becomes.
    pub origin: Origin,
    /// The name of an agent that has none of its own: its file's, without the ending. A different
    /// name is a warning.
    pub fallback_name: Option<&'a str>,
    /// The only name it may have; a different one is an error.
    pub required_name: Option<&'a str>,
    /// Whether it must say what it is for.
    pub description: Presence,
}

/// Whether something must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It must.
    Required,
    /// It may be left out.
    Optional,
}

/// An agent that was read, and what is worth saying about its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The agent.
    pub agent: Agent,
    /// What has no effect or is probably meant otherwise.
    pub warnings: Vec<Notice>,
}

/// Whether a text may be the name of an agent, a plugin or a plugin's tool: a letter or digit, then
/// up to 99 letters, digits, `_` and `-`, all of them ASCII.
pub fn is_valid_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphanumeric())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        && name.len() <= 100
}

/// Reads Markdown with settings in front.
pub fn parse_markdown(text: &[u8], source: &Source<'_>) -> Result<Parsed, Rejected> {
    parse_markdown_without(text, source, None)
}

/// Reads Markdown and pays no attention to one of the fields.
fn parse_markdown_without(text: &[u8], source: &Source<'_>, ignored: Option<Field>) -> Result<Parsed, Rejected> {
    let text = decoded(text, source.file)?;
    let (report, parts) = split(Report::new(source.file, text.as_bytes()), text)?;
    let body = text.get(parts.body.clone()).unwrap_or_default();
    let start = parts.body.start + (body.len() - body.trim_start().len());
    let body = Body { text: body.trim(), offset: start };
    let document = Document::new(text, parts.settings, Syntax::Yaml);
    let what = "agent frontmatter";
    let (report, root) = read_map(report.about(document), document, what)?;
    let fields = Fields::collect(Item::root(&report, &root)).without(ignored);
    let agent = fields.agent(Some(body), source, what);
    Ok(Parsed { agent, warnings: report.finish()? })
}

/// Reads YAML.
pub fn parse_yaml(text: &[u8], source: &Source<'_>) -> Result<Parsed, Rejected> {
    let text = decoded(text, source.file)?;
    let document = Document::new(text, 0..text.len(), Syntax::Yaml);
    let report = Report::new(source.file, text.as_bytes()).about(document);
    let what = "agent YAML";
    let (report, root) = read_map(report, document, what)?;
    let agent = Fields::collect(Item::root(&report, &root)).agent(None, source, what);
    Ok(Parsed { agent, warnings: report.finish()? })
}

/// Finds the settings in front of a text, which must be there.
fn split<'a>(report: Report<'a>, text: &str) -> Result<(Report<'a>, Parts), Rejected> {
    let missing = match frontmatter::split(text) {
        Ok(parts) => return Ok((report, parts)),
        Err(missing) => missing,
    };
    let fix = match missing {
        Missing::Opening => "begin the file with a line `---`, the settings, and another line `---`",
        Missing::Closing => "end the settings with a line `---`",
    };
    let message = "Invalid markdown format: missing YAML frontmatter".to_owned();
    Err(report.reject(At::Byte(0), message, Some(fix.to_owned())))
}

fn decoded<'t>(bytes: &'t [u8], file: &str) -> Result<&'t str, Rejected> {
    text::decode(bytes).map_err(|error| Report::new(file, bytes).reject_bytes(&error))
}

/// Reads a document that must be a map. Nothing at all is a map without entries.
fn read_map<'a>(report: Report<'a>, document: Document<'a>, what: &str) -> Result<(Report<'a>, Node), Rejected> {
    let root = match document.read() {
        Ok(root) => root,
        Err(fault) => {
            let at = fault.offset.map_or(At::File, At::Byte);
            let message = format!("Failed to parse {what}: {}", fault.cause);
            return Err(report.reject(at, message, fault.fix.map(str::to_owned)));
        }
    };
    match root.content {
        Content::Map(_) => Ok((report, root)),
        Content::Null => Ok((report, Node { content: Content::Map(Vec::new()), ..root })),
        _ => {
            let message = format!("Failed to parse {what}: expected fields, but found {}", root.kind());
            Err(report.reject(At::Node(root.id), message, Some("write `name: my-agent` and so on".to_owned())))
        }
    }
}

#[cfg(test)]
mod tests;
