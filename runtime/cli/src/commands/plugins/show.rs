//! A summary on the terminal.

use std::collections::BTreeSet;

use palisade_packages::signature::Verdict;

use super::{
    changes::Changes,
    summary::{Kind, Summary, ToolSummary, short},
};
use crate::render::{Line, Style, Terminal, words};

impl Summary {
    /// Prints it, with what is new in it.
    pub(super) fn print(&self, changes: Option<&Changes>, terminal: &Terminal) -> anyhow::Result<()> {
        let fact =
            |name: &str, value: &str| terminal.whole(&Line::new().column(Style::Dim, name, 8).add(Style::Plain, value));
        let version = self.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        let title = Line::new().add(Style::Bold, &self.name).add(Style::Plain, &version);
        terminal.whole(&title.add(Style::Plain, "  ").add(Style::Plain, &short(&self.description)))?;
        fact("from", &self.source)?;
        fact("digest", &format!("{} ({})", self.digest, words::size(self.size)))?;
        match &self.verdict {
            Verdict::Signed { by } => fact("signed", &format!("by {by}"))?,
            Verdict::Unknown => fact("signed", "by nobody whose key is known here")?,
            Verdict::Unsigned => fact("signed", "by nobody")?,
        }
        for tool in &self.tools {
            print_tool(tool, terminal)?;
        }
        for agent in &self.agents {
            let line = Line::new().column(Style::Dim, "agent", 8).add(Style::Bold, &agent.name);
            terminal.whole(&line.add(Style::Plain, "  ").add(Style::Plain, &short(&agent.description)))?;
            fact("", &format!("its tools, if all is granted: {}; {}", agent.tools, agent.grants))?;
        }
        if !self.skills.is_empty() {
            fact("skills", &self.skills.join(", "))?;
        }
        fact("asks", &self.asked.to_string())?;
        for warning in &self.warnings {
            terminal.whole(&Line::new().column(Style::Caution, "warning", 8).add(Style::Plain, warning))?;
        }
        for change in changes.iter().flat_map(|changes| changes.lines()) {
            terminal.whole(&Line::new().column(Style::Caution, "changed", 8).add(Style::Plain, &change))?;
        }
        Ok(())
    }
}

fn print_tool(tool: &ToolSummary, terminal: &Terminal) -> anyhow::Result<()> {
    let fact = |style: Style, value: &str| terminal.whole(&Line::new().column(Style::Dim, "", 8).add(style, value));
    let line = Line::new().column(Style::Dim, "tool", 8).add(Style::Bold, &tool.name);
    terminal.whole(&line.add(Style::Plain, "  ").add(Style::Plain, &short(&tool.description)))?;
    match &tool.kind {
        Kind::Component { file, imports } => {
            let powers: Vec<String> = imports
                .iter()
                .filter(|import| !import.is_plain())
                .map(|import| {
                    let words: Vec<&str> = import.capabilities.iter().map(|capability| capability.name()).collect();
                    format!("{} ({})", import.name, words.join(" or "))
                })
                .collect();
            let plain: BTreeSet<&str> =
                imports.iter().filter(|it| it.is_plain()).filter_map(|it| it.name.split('/').next()).collect();
            let plain: Vec<&str> = plain.into_iter().collect();
            let text = match (powers.is_empty(), plain.is_empty()) {
                (true, true) => "imports nothing".to_owned(),
                (true, false) => format!("imports nothing but {}, which give it no authority", plain.join(", ")),
                (false, _) => format!("imports {}", powers.join(", ")),
            };
            fact(Style::Plain, &format!("{file}: {text}"))?;
        }
        Kind::Command(line) => {
            let text = format!("NATIVE PROGRAM, not in the sandbox of WebAssembly: {line}");
            fact(Style::Bad, &text)?;
            fact(Style::Plain, "it runs only where `[exec] allow` names it, behind the walls around native programs")?;
        }
        Kind::Neither => fact(Style::Caution, "has neither a component nor a command")?,
    }
    if let Some(reason) = &tool.refused {
        fact(Style::Caution, &format!("nobody gets it: {reason}"))?;
    }
    Ok(())
}
