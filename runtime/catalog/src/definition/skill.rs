//! A skill as people write it: `SKILL.md`, in the form that agentskills.io describes. The settings in front
//! are read as those of an agent are.

use std::collections::BTreeMap;

use palisade_agent::Origin;

use super::{
    Content, Document, Item, Notice, Rejected, Report, Severity, Syntax,
    report::At,
    suggest::nearest,
    text::{is_invisible, quoted, with_plain_line_ends},
};

/// A skill: a text that says how something is done. It grants nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skill {
    /// What it is called; also the name of its folder.
    pub name: String,
    /// What it is for, and when it is to be read.
    pub description: String,
    /// Under which terms it may be used.
    pub license: Option<String>,
    /// What it needs around it, in words.
    pub compatibility: Option<String>,
    /// Whatever else its author notes.
    pub metadata: BTreeMap<String, String>,
    /// Tools that its author means to be used. They are kept and grant nothing.
    pub allowed_tools: Option<String>,
    /// Its author wants people to call for it, and no model to choose it.
    pub for_people_only: bool,
    /// The text.
    pub text: String,
    /// Where it was read from.
    pub origin: Origin,
}

/// A skill that was read, and what is worth saying about its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedSkill {
    /// The skill.
    pub skill: Skill,
    /// What has no effect or is probably meant otherwise.
    pub warnings: Vec<Notice>,
}

/// The longest name, in characters.
const MAX_NAME: usize = 64;
/// The longest description, in characters.
const MAX_DESCRIPTION: usize = 1024;
/// The longest text about what a skill needs, in characters.
const MAX_COMPATIBILITY: usize = 500;

const FIELDS: [&str; 7] =
    ["name", "description", "license", "compatibility", "metadata", "allowed-tools", "disable-model-invocation"];

/// Fields of other programs that have no effect here.
const FOREIGN: [&str; 12] = [
    "agent",
    "argument-hint",
    "arguments",
    "context",
    "effort",
    "hooks",
    "model",
    "paths",
    "shell",
    "user-invocable",
    "version",
    "when_to_use",
];

/// Whether a text may be the name of a skill: 1 to 64 lower-case letters, digits and `-`, which neither begins
/// nor ends it nor stands twice in a row.
pub fn is_skill_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| is_letter(byte) || byte == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// Reads a `SKILL.md`. `file` is the file as it is shown to people, `folder` the name of its folder.
pub fn parse_skill(text: &[u8], file: &str, folder: &str, origin: Origin) -> Result<ParsedSkill, Rejected> {
    let text = super::decoded(text, file)?;
    let (report, parts) = super::split(Report::new(file, text.as_bytes()), text)?;
    let body = text.get(parts.body.clone()).unwrap_or_default();
    let start = parts.body.start + (body.len() - body.trim_start().len());
    let document = Document::new(text, parts.settings, Syntax::Yaml);
    let (report, root) = super::read_map(report.about(document), document, "skill frontmatter")?;
    let root = Item::root(&report, &root);
    let skill = Skill { text: with_plain_line_ends(body.trim()), origin, ..fields(&root, folder) };
    let warn = |at, message: &str| report.add(Severity::Warning, At::Byte(at), None, message.to_owned(), None);
    if skill.text.is_empty() {
        warn(start, "the skill has no text below its settings");
    }
    if let Some((at, hidden)) = body.trim().char_indices().find(|(_, character)| is_invisible(*character)) {
        warn(start + at, &format!("the text holds the invisible character U+{:04X}", u32::from(hidden)));
    }
    Ok(ParsedSkill { skill, warnings: report.finish()? })
}

fn fields(root: &Item<'_>, folder: &str) -> Skill {
    let mut skill = Skill::default();
    let (mut name, mut description) = (None, None);
    for item in root.distinct_entries().unwrap_or_default() {
        let key = item.name().replace('_', "-").to_ascii_lowercase();
        match key.as_str() {
            "name" => name = Some(item),
            "description" => description = Some(item),
            "license" => skill.license = line(&item, MAX_DESCRIPTION),
            "compatibility" => skill.compatibility = line(&item, MAX_COMPATIBILITY),
            "metadata" => skill.metadata = metadata(&item),
            "allowed-tools" => skill.allowed_tools = tools(&item),
            "disable-model-invocation" => skill.for_people_only = item.flag().unwrap_or(true),
            key if FOREIGN.iter().any(|foreign| foreign.replace('_', "-") == key) => {
                item.about_key(Severity::Warning, format!("{} has no effect here", item.shown()), "");
            }
            key => {
                let fix = nearest(key, FIELDS).map(|field| format!("did you mean `{field}`?")).unwrap_or_default();
                item.about_key(Severity::Warning, format!("{} has no effect here", item.shown()), fix);
            }
        }
    }
    match name {
        None => root.error("there is no `name`", format!("add `name: {folder}`")),
        Some(item) => skill.name = self::name(&item, folder),
    }
    match description {
        None => root.error("there is no `description`", "add `description: what it does, and when to use it`"),
        Some(item) => {
            skill.description = line(&item, MAX_DESCRIPTION).unwrap_or_default();
            if skill.description.is_empty() && matches!(item.node.content, Content::Text(_) | Content::Null) {
                item.error("`description` is empty", "say what the skill does, and when to use it");
            }
        }
    }
    skill
}

fn name(item: &Item<'_>, folder: &str) -> String {
    let Some(name) = item.text("name: my-skill") else { return String::new() };
    let name = name.trim();
    if !is_skill_name(name) {
        let fix = "use 1 to 64 lower-case letters, digits and single `-` between them";
        item.error(format!("{} cannot be the name of a skill", quoted(name)), fix);
    } else if name != folder {
        let message = format!("the name is `{name}`, but the folder is called {}", quoted(folder));
        item.error(message, "make them the same");
    }
    name.to_owned()
}

/// A text without the space around it, of so many characters at most; nothing is the same as absent.
fn line(item: &Item<'_>, most: usize) -> Option<String> {
    if item.is_null() {
        return None;
    }
    let text = item.text(&format!("{}: some text", item.name()))?;
    let text = text.trim();
    let length = text.chars().count();
    if length > most {
        item.error(format!("{} has {length} characters; at most {most} are possible", item.shown()), "shorten it");
    }
    if let Some(hidden) = text.chars().find(|character| is_invisible(*character)) {
        let message = format!("{} holds the invisible character U+{:04X}", item.shown(), u32::from(hidden));
        item.warn(message, "remove it");
    }
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

fn metadata(item: &Item<'_>) -> BTreeMap<String, String> {
    if item.is_null() {
        return BTreeMap::new();
    }
    let Some(entries) = item.entries() else {
        item.wrong("a map of texts", "metadata: { author: me }");
        return BTreeMap::new();
    };
    let text = |entry: &Item<'_>| Some((entry.name().to_owned(), entry.text(&format!("{}: text", entry.name()))?));
    entries.iter().filter_map(text).collect()
}

/// A text with spaces, or a list.
fn tools(item: &Item<'_>) -> Option<String> {
    match item.elements() {
        None => line(item, usize::MAX),
        Some(elements) => {
            let tools: Vec<String> = elements.iter().filter_map(|element| element.text("Read")).collect();
            Some(tools.join(" ")).filter(|tools| !tools.is_empty())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: impl AsRef<[u8]>) -> Result<ParsedSkill, Rejected> {
        parse_skill(text.as_ref(), "skills/pdf/SKILL.md", "pdf", Origin::default())
    }

    fn with(settings: &str) -> Result<ParsedSkill, Rejected> {
        parse(format!("---\nname: pdf\ndescription: Reads PDF files.\n{settings}---\nDo it.\n"))
    }

    #[track_caller]
    fn refused(text: impl AsRef<[u8]>, expected: &str) {
        let rejected = parse(text).unwrap_err();
        let told = rejected.to_string();
        assert!(told.contains(expected), "{told}");
    }

    /// A21
    #[test]
    fn a_skill_is_read_with_the_parser_for_agents() {
        let parsed = with(
            "license: MIT\ncompatibility: Needs poppler.\nmetadata:\n  author: me\n  version: 1.0\n\
             allowed-tools: Bash(pdftotext:*) Read\n",
        )
        .unwrap();
        let skill = parsed.skill;
        assert_eq!((skill.name.as_str(), skill.description.as_str()), ("pdf", "Reads PDF files."));
        assert_eq!(skill.license.as_deref(), Some("MIT"));
        assert_eq!(skill.compatibility.as_deref(), Some("Needs poppler."));
        assert_eq!(skill.metadata["version"], "1.0");
        assert_eq!(skill.allowed_tools.as_deref(), Some("Bash(pdftotext:*) Read"));
        assert_eq!((skill.text.as_str(), skill.for_people_only), ("Do it.", false));
        assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
    }

    /// A21
    #[test]
    fn what_is_wrong_has_a_place_and_a_fix() {
        let told = |settings: &str| with(settings).unwrap_err().to_string();
        assert_eq!(
            told("compatibility: [a]\n"),
            "skills/pdf/SKILL.md:4:16: error: `compatibility` must be text, but is a list; for example \
             `compatibility: some text`"
        );
        assert!(told("metadata: x\n").contains("SKILL.md:4:11: error: `metadata` must be a map of texts"));
        refused("no fences", "SKILL.md:1:1: error: Invalid markdown format: missing YAML frontmatter");
        refused("---\nname: [\n---\n", "Failed to parse skill frontmatter");
        refused(b"---\nname: pdf\ndescription: \xff\n---\n", "is not UTF-8");
        refused(vec![b'a'; super::super::MAX_FILE + 1], "are read");
        refused("---\nname: pdf\nname: pdf\n---\n", "is there twice");
        let unknown = with("descripton: x\nmodel: opus\n").unwrap().warnings;
        assert!(
            unknown[0].to_string().contains("SKILL.md:4:1: warning: `descripton` has no effect here; did you mean")
        );
        assert_eq!(unknown.len(), 2);
    }

    #[test]
    fn a_name_is_short_lower_case_and_that_of_the_folder() {
        for name in ["a", "pdf", "pdf-2", "0", &"a".repeat(64)] {
            assert!(is_skill_name(name), "{name}");
        }
        for name in ["", "PDF", "-pdf", "pdf-", "p--f", "p_f", "p.f", "p/f", "é", &"a".repeat(65)] {
            assert!(!is_skill_name(name), "{name}");
            refused(format!("---\nname: '{name}'\ndescription: d\n---\n"), "cannot be the name of a skill");
        }
        refused("---\nname: doc\ndescription: d\n---\n", "the name is `doc`, but the folder is called `pdf`");
        refused("---\ndescription: d\n---\n", "there is no `name`; add `name: pdf`");
    }

    #[test]
    fn a_description_is_there_and_no_page() {
        refused("---\nname: pdf\n---\n", "there is no `description`");
        refused("---\nname: pdf\ndescription: ' '\n---\n", "`description` is empty");
        refused("---\nname: pdf\ndescription:\n---\n", "`description` is empty");
        let described = |length: usize| parse(format!("---\nname: pdf\ndescription: {}\n---\nx", "é".repeat(length)));
        assert!(described(1024).is_ok());
        assert!(described(1025).unwrap_err().to_string().contains("has 1025 characters; at most 1024"));
        assert!(with(&format!("compatibility: {}\n", "x".repeat(501))).is_err());
    }

    #[test]
    fn what_keeps_a_skill_from_models_counts_also_if_it_is_misspelt() {
        assert!(with("disable-model-invocation: true\n").unwrap().skill.for_people_only);
        assert!(with("disable_model_invocation: true\n").unwrap().skill.for_people_only);
        assert!(with("disable-model-invocation: maybe\n").is_err());
    }

    #[test]
    fn what_a_reviewer_does_not_see_is_told() {
        let parsed = parse("---\nname: pdf\ndescription: d\n---\nDo\u{202e} it.\n").unwrap();
        assert!(parsed.warnings[0].to_string().contains("SKILL.md:5:3: warning: the text holds"), "{parsed:?}");
        assert!(parse("---\nname: pdf\ndescription: d\n---\n").unwrap().warnings[0].message.contains("has no text"));
    }
}
