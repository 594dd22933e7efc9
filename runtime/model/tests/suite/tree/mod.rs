//! A tree of files in memory and the tools `glob`, `grep`, `read` and `tree` over it, in the formats of
//! the real ones, so that the offline planner is tested through the real loop without a sandbox.

use std::sync::Arc;

use async_trait::async_trait;
use globset::GlobBuilder;
use grep_matcher::Matcher;
use grep_regex::RegexMatcherBuilder;
use palisade_agent::{
    Agent, Cancellation, FailureKind, Outcome, Progress, Quiet, Run, Tool, ToolResult, ToolSpec, Toolbox, Transcript,
};
use palisade_model::Offline;
use serde_json::{Value, json};

/// Files by path, the newest first.
pub(crate) type Tree = Arc<Vec<(String, String)>>;

pub(crate) fn tree(files: &[(&str, &str)]) -> Tree {
    Arc::new(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
}

/// Runs the offline planner with these tools over a tree.
pub(crate) async fn ask(tree: &Tree, tools: &[&'static str], task: &str) -> (String, Transcript) {
    let agent = Agent::new("explore", "Looks around.");
    let toolbox = tools.iter().map(|name| Arc::new(TreeTool::new(name, tree)) as Arc<dyn Tool>).collect();
    let toolbox = Toolbox::new(toolbox).unwrap();
    let mut run = Run::new(&agent, &Offline, &toolbox, &Quiet, Cancellation::never(), Transcript::new());
    let Outcome::Answered(answer) = run.answer(task).await.unwrap() else { panic!("no answer to {task:?}") };
    (answer, run.into_transcript())
}

struct TreeTool {
    spec: ToolSpec,
    tree: Tree,
}

impl TreeTool {
    fn new(name: &str, tree: &Tree) -> Self {
        let spec = ToolSpec {
            name: name.into(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
            capabilities: vec!["fs.read".into()],
            read_only: true,
            idempotent: true,
        };
        Self { spec, tree: tree.clone() }
    }

    fn work(&self, input: &Value) -> Result<String, String> {
        match self.spec.name.as_str() {
            "glob" => self.glob(input),
            "grep" => self.grep(input),
            "read" => self.read(input),
            "tree" => Ok(self.draw()),
            "ls" => Ok(self.list()),
            _ => Err("this tool is broken".into()),
        }
    }

    fn matching(&self, pattern: &str) -> Result<impl Iterator<Item = &(String, String)>, String> {
        let glob = GlobBuilder::new(pattern).literal_separator(true).build().map_err(|error| error.to_string())?;
        let glob = glob.compile_matcher();
        Ok(self.tree.iter().filter(move |(path, _)| glob.is_match(path)))
    }

    fn glob(&self, input: &Value) -> Result<String, String> {
        let limit = input["limit"].as_u64().unwrap_or(100) as usize;
        let paths: Vec<&str> =
            self.matching(input["pattern"].as_str().unwrap())?.map(|(path, _)| path.as_str()).collect();
        let mut text = paths.iter().take(limit).map(|path| format!("{path}\n")).collect::<String>();
        if paths.is_empty() {
            text = "No files match.".into();
        } else if paths.len() > limit {
            text.push_str(&format!("… {} matches in total, the {limit} changed last are shown", paths.len()));
        } else {
            text.push_str(&format!("({} matches)", paths.len()));
        }
        Ok(text)
    }

    fn draw(&self) -> String {
        let mut paths: Vec<&str> = self.tree.iter().map(|(path, _)| path.as_str()).collect();
        paths.sort_unstable();
        let (mut lines, mut above) = (vec![".".to_owned()], Vec::new());
        for path in paths {
            let parts: Vec<&str> = path.split('/').collect();
            let same = parts.iter().zip(&above).take_while(|(a, b)| a == b).count().min(parts.len() - 1);
            for (depth, part) in parts.iter().enumerate().skip(same) {
                let end = if depth + 1 < parts.len() { "/" } else { "" };
                lines.push(format!("{}|-- {part}{end}", "|   ".repeat(depth)));
            }
            above = parts;
        }
        lines.push(format!("({} files)", self.tree.len()));
        lines.join("\n")
    }

    fn list(&self) -> String {
        let mut lines: Vec<String> = self
            .tree
            .iter()
            .map(|(path, text)| match path.split_once('/') {
                Some((directory, _)) => format!("{directory}/"),
                None => format!("{path}  {} B  2026-01-01 00:00", text.len()),
            })
            .collect();
        lines.sort_by_key(|line| !line.ends_with('/'));
        lines.dedup();
        lines.join("\n")
    }

    fn grep(&self, input: &Value) -> Result<String, String> {
        let matcher = RegexMatcherBuilder::new()
            .multi_line(true)
            .case_insensitive(input["ignore_case"] == json!(true))
            .fixed_strings(input["fixed_strings"] == json!(true))
            .build(input["pattern"].as_str().unwrap())
            .map_err(|error| error.to_string())?;
        let mut lines = Vec::new();
        let glob = input["glob"].as_str().unwrap_or("**/*");
        let glob = if glob.contains('/') { glob.to_owned() } else { format!("**/{glob}") };
        for (path, text) in self.matching(&glob)? {
            if input["path"].as_str().is_some_and(|wanted| wanted != path) {
                continue;
            }
            let found: Vec<(usize, &str)> =
                text.lines().enumerate().filter(|(_, line)| matcher.is_match(line.as_bytes()).unwrap()).collect();
            match input["output_mode"].as_str().unwrap() {
                "count" if found.is_empty() => {}
                "count" => lines.push(format!("{path}:{}", found.len())),
                _ => lines.extend(found.iter().map(|(at, line)| format!("{path}:{}:{line}", at + 1))),
            }
        }
        let limit = input["limit"].as_u64().unwrap() as usize;
        if lines.is_empty() {
            return Ok("No matches found.".into());
        }
        if lines.len() > limit {
            lines.truncate(limit);
            lines.push("… stopped: narrow the search".into());
        }
        Ok(lines.join("\n"))
    }

    fn read(&self, input: &Value) -> Result<String, String> {
        let wanted = input["path"].as_str().unwrap();
        let (_, text) = self.tree.iter().find(|(path, _)| path == wanted).ok_or("no such file")?;
        let (offset, limit) = (input["offset"].as_u64().unwrap() as usize, input["limit"].as_u64().unwrap() as usize);
        let lines = text.lines().enumerate().skip(offset - 1).take(limit);
        let mut output: String = lines.map(|(at, line)| format!("{:>6}\t{line}\n", at + 1)).collect();
        if text.lines().count() > offset - 1 + limit {
            output.push_str("… more lines follow");
        }
        Ok(output)
    }
}

#[async_trait]
impl Tool for TreeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, input: &str, _: &Progress) -> ToolResult {
        match self.work(&serde_json::from_str(input).unwrap()) {
            Ok(text) => ToolResult::done(text),
            Err(text) => ToolResult::failed(FailureKind::Failed, text),
        }
    }
}
