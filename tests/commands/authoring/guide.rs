//! Guides: their files are written, their commands are run, and what they print is what they say.

use std::{fs, path::Path};

use super::Author;

/// A block of the guide.
struct Block {
    /// What stands behind the fence, such as `rust hello/src/lib.rs`.
    info: String,
    text: String,
}

/// The blocks of each section that has some.
fn sections(guide: &str) -> Vec<(String, Vec<Block>)> {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(guide);
    let guide = fs::read_to_string(guide).unwrap();
    let mut sections: Vec<(String, Vec<Block>)> = Vec::new();
    let mut open: Option<Block> = None;
    for line in guide.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some("")) => sections.last_mut().unwrap().1.extend(open.take()),
            (None, Some(info)) => open = Some(Block { info: info.to_owned(), text: String::new() }),
            (Some(block), _) => block.text += &format!("{line}\n"),
            (None, None) => {
                if let Some(title) = line.strip_prefix("## ") {
                    sections.push((title.to_owned(), Vec::new()));
                }
            }
        }
    }
    sections.retain(|(_, blocks)| !blocks.is_empty());
    sections
}

/// The words of a command, with what stands between single quotes as one.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (number, part) in command.split('\'').enumerate() {
        if number % 2 == 1 {
            words.last_mut().unwrap().push_str(part);
            continue;
        }
        for (number, plain) in part.split(' ').enumerate() {
            if number > 0 {
                words.push(String::new());
            }
            words.last_mut().unwrap().push_str(plain);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Runs the commands of a block; every line below one is a part of what it prints, in this order.
fn run(author: &Author, block: &Block, code: i32) {
    let mut printed: Vec<String> = Vec::new();
    let mut lines = block.text.lines();
    for line in &mut lines {
        if let Some(command) = line.strip_prefix("$ palisade ") {
            let words = words(command);
            let ended = author.palisade(&words.iter().map(String::as_str).collect::<Vec<_>>()).with_code(code);
            if words[..2] == ["plugins", "new"] {
                author.lock(&words[2]);
            }
            printed = ended.stdout.lines().chain(ended.stderr.lines()).map(str::to_owned).collect();
            continue;
        }
        let found = printed.iter().position(|printed| printed.contains(line));
        let at = found.unwrap_or_else(|| panic!("no {line:?} in\n{}", printed.join("\n")));
        printed.drain(..=at);
    }
}

fn follow(guide: &str, wanted: impl Fn(&str) -> bool) {
    let mut count = 0;
    for (title, blocks) in sections(guide) {
        let text: String = blocks.iter().map(|block| block.text.as_str()).collect();
        let language = ["rust", "python", "javascript", "c"]
            .into_iter()
            .find(|language| text.contains(&format!("--lang {language}\n")))
            .unwrap_or("none");
        if !wanted(language) {
            continue;
        }
        count += 1;
        let Some(author) = Author::of(language) else { continue };
        for block in &blocks {
            match block.info.split_once(' ') {
                None if block.info == "console" => run(&author, block, 0),
                Some(("console", "fails")) => run(&author, block, 1),
                Some((_, file)) => drop(author.world.add(file, &block.text)),
                None => panic!("{title}: a block that says neither `console` nor which file it is: {}", block.info),
            }
        }
    }
    assert!(count > 0);
}

/// D15, V9
#[test]
fn the_guide_can_be_followed_in_rust() {
    follow("writing-tools.md", |language| language == "rust");
}

/// V9
#[test]
fn the_guide_can_be_followed_in_python() {
    follow("writing-tools.md", |language| language == "python");
}

/// V9
#[test]
fn the_guide_can_be_followed_in_javascript_and_c() {
    follow("writing-tools.md", |language| language == "javascript" || language == "c");
}

/// V9, CFG-10
#[test]
fn what_is_said_of_permissions_is_so() {
    follow("permissions.md", |_| true);
}

/// D15, V9
#[test]
fn the_way_here_from_other_programs_can_be_followed() {
    follow("migrating.md", |_| true);
}

#[test]
fn commands_are_read_as_a_shell_does() {
    assert_eq!(words("a  b 'c d'e --f '{\"g\": 1}'"), ["a", "b", "c de", "--f", "{\"g\": 1}"]);
}
