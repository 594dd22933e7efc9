//! What to look for: the words of a question that are worth a search.

use super::paths;

/// How many keywords are searched for; each costs a call.
const MOST: usize = 8;

/// Something to look for, without regard to case and also inside longer words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Keyword {
    /// Lower case; a word without its ending.
    pub(super) text: String,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A quoted phrase, an identifier or a path: looked for as it was written, and worth more.
    Exact,
    /// A word of the question or a part of an identifier.
    Word,
}

impl Keyword {
    pub(super) fn is_in(&self, lower_case: &str) -> bool {
        lower_case.contains(&self.text)
    }
}

/// Finds the keywords of a question: exact ones first, then words in the order they were written.
pub(super) fn keywords(question: &str) -> Vec<Keyword> {
    let (quoted, rest) = split_quoted(question);
    let mut exact: Vec<String> = quoted.iter().map(|phrase| phrase.to_lowercase()).collect();
    let mut words = Vec::new();
    for token in rest.split_whitespace().map(trim) {
        if is_code(token) {
            let name = token.trim_end_matches("()").to_lowercase();
            // Where it is defined, `Type::method` is just `method`.
            exact.extend(name.rsplit_once("::").map(|(_, last)| last.to_owned()).filter(|last| last.len() > 2));
            exact.push(name);
        }
        // Of a path, the name says what it is about; directories and extensions are everywhere.
        let is_path = token.contains('/') || paths::language(token).is_some();
        words.extend(parts(if is_path { paths::stem(token) } else { token }));
    }
    words.extend(quoted.iter().flat_map(|phrase| parts(phrase)));

    let exact = exact.into_iter().map(|text| Keyword { text, kind: Kind::Exact });
    let words = words.iter().filter_map(|word| meaning(word)).map(|text| Keyword { text, kind: Kind::Word });
    let mut found: Vec<Keyword> = Vec::new();
    for keyword in exact.chain(words) {
        let known = found.iter().any(|other| other.text == keyword.text);
        if !known && !keyword.text.is_empty() && found.len() < MOST {
            found.push(keyword);
        }
    }
    found
}

/// Takes the quoted phrases out of a question. A quote that is never closed is not one.
fn split_quoted(question: &str) -> (Vec<String>, String) {
    let (mut quoted, mut rest, mut text) = (Vec::new(), String::new(), question);
    while let Some(open) = text.find(['"', '`', '“']) {
        let mark = text[open..].chars().next().unwrap_or('"');
        let inside = &text[open + mark.len_utf8()..];
        let close = if mark == '“' { '”' } else { mark };
        let Some(end) = inside.find(close) else { break };
        let phrase = inside[..end].trim();
        if (2..=80).contains(&phrase.chars().count()) {
            quoted.push(phrase.to_owned());
        }
        rest.push_str(&text[..open]);
        rest.push(' ');
        text = &inside[end + close.len_utf8()..];
    }
    rest.push_str(text);
    (quoted, rest)
}

fn trim(token: &str) -> &str {
    let token = token.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.' | '/'));
    let token = token.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ')' | '('));
    // `call()` is code; `(call)` is not.
    if token.ends_with("()") { token } else { token.trim_end_matches(['(', ')', '.', ',', '?', '!', ';', ':']) }
}

/// Whether a token looks like an identifier, a path or a file name rather than a word.
fn is_code(token: &str) -> bool {
    let characters: Vec<char> = token.chars().collect();
    let humps = characters.windows(2).any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase());
    let joints = characters.windows(3).any(|three| {
        matches!(three[1], '.' | '/' | '_') && three[2].is_alphanumeric()
            || three[0].is_alphanumeric() && three[1] == ':' && three[2] == ':'
    });
    token.len() >= 3 && (humps || joints || token.ends_with("()") || token.starts_with('.'))
}

/// The words inside a token: `ToolCall`, `tool_call` and `tool-call` are `tool` and `call`.
fn parts(token: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for character in token.chars() {
        let hump = before.is_lowercase() && character.is_uppercase();
        if hump || !character.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| character.is_alphanumeric()) {
            word.extend(character.to_lowercase());
        }
        before = character;
    }
    words.retain(|word| word.chars().count() >= 2);
    words
}

fn meaning(word: &str) -> Option<String> {
    (!STOP_WORDS.contains(&word)).then(|| stem(word)).filter(|stem| !STOP_WORDS.contains(&stem.as_str()))
}

/// Cuts an English ending off, so that what is left is inside the other forms of the word.
fn stem(word: &str) -> String {
    if !word.is_ascii() || word.len() < 5 {
        let plural = word.len() == 4 && word.ends_with('s') && !word.ends_with("ss") && word.is_ascii();
        return if plural { word[..3].to_owned() } else { word.to_owned() };
    }
    let without = |ending: &str, at_least: usize| word.strip_suffix(ending).filter(|rest| rest.len() >= at_least);
    let cut = if let Some(rest) = without("ies", 3) {
        rest
    } else if let Some(rest) = without("es", 3).filter(|rest| ["ss", "x", "ch", "sh"].iter().any(|s| rest.ends_with(s)))
    {
        rest
    } else if let Some(rest) = without("s", 4).filter(|rest| !rest.ends_with(['s', 'u', 'i'])) {
        rest
    } else if let Some(rest) = without("ing", 4).or_else(|| without("ed", 4).filter(|rest| !rest.ends_with('e'))) {
        single(rest)
    } else {
        without("ion", 5).unwrap_or(word)
    };
    cut.to_owned()
}

/// Undoes the doubling in `running` and `stopped`.
fn single(rest: &str) -> &str {
    let bytes = rest.as_bytes();
    match bytes {
        [.., a, b] if a == b && !b"lsfzaeiou".contains(b) => &rest[..rest.len() - 1],
        _ => rest,
    }
}

/// Words that say how a question is asked, not what it is about.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "about", "actually", "after", "all", "also", "am", "an", "and", "any", "anything", "are", "as", "at", "be",
    "because", "been", "before", "being", "between", "but", "by", "can", "code", "codebase", "come", "comes", "could",
    "define", "defined", "defines", "definition", "describe", "did", "do", "does", "doing", "done", "each", "every", "exactly", "exist", "exists", "explain", "find",
    "for", "from", "get", "gets", "give", "given", "go", "goes", "had", "happen", "happens", "has", "have", "help", "here", "how",
    "if", "implement", "implemented", "in", "inside", "into", "is", "it", "its", "just", "know", "let", "like", "list",
    "locate", "look", "made", "make", "makes", "many", "may", "me", "mean", "means", "might", "more", "most", "much",
    "must", "my", "need", "needs", "no", "not", "of", "off", "on", "one", "only", "or", "organised", "organized", "other", "our", "out", "overview",
    "place", "places", "please", "project", "repo", "repository", "see", "shall", "she", "should", "show", "so",
    "some", "somewhere", "structure", "structured", "such", "summarise", "summarize", "take", "takes", "tell", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "thing", "things", "this", "those", "through", "to", "too", "under", "up",
    "us", "use", "used", "uses", "using", "very", "want", "was", "way", "we", "were", "what", "when", "where",
    "whether", "which", "while", "who", "whose", "why", "will", "with", "within", "without", "work", "working",
    "works", "would", "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(question: &str, expected: &[&str]) {
        let found: Vec<String> = keywords(question)
            .into_iter()
            .map(|keyword| match keyword.kind {
                Kind::Exact => format!("={}", keyword.text),
                Kind::Word => keyword.text,
            })
            .collect();
        assert_eq!(found, expected, "{question}");
    }

    #[test]
    fn words_lose_their_endings_and_stop_words_are_dropped() {
        check("how is a tool call sandboxed?", &["tool", "call", "sandbox"]);
        check("Where are the policies cached, and how does caching work?", &["polic", "cach"]);
        check("running processes", &["run", "process"]);
        check("status of the addresses", &["status", "address"]);
        check("string speed bus", &["string", "speed", "bus"]);
        check("how does it work?", &[]);
        check("", &[]);
    }

    #[test]
    fn identifiers_paths_and_quotes_are_kept_as_written_beside_their_parts() {
        check("what calls `spend_step`?", &["=spend_step", "call", "spend", "step"]);
        check("ToolResult", &["=toolresult", "tool", "result"]);
        check("see runtime/agent/src/run.rs.", &["=runtime/agent/src/run.rs", "run"]);
        check("the \"fresh store\" rule", &["=fresh store", "rule", "fresh", "store"]);
        check("Foo::bar() and connect()", &["=bar", "=foo::bar", "=connect", "foo"]);
        check("(really) .gitignore", &["=.gitignore", "really", "gitignore"]);
    }

    #[test]
    fn odd_questions_do_no_harm() {
        for question in ["\"", "`", "“open", "????", "()", "::", "\u{0}\u{1b}[2J", "ß İ ﬁ 沙箱", "\"\"", "a b c"]
        {
            keywords(question);
        }
        assert_eq!(keywords(&"word1 ".repeat(10_000)).len(), 1);
        let many: String = (0..100).map(|number| format!("word{number} ")).collect();
        assert_eq!(keywords(&many).len(), MOST);
    }
}
