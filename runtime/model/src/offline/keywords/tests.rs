use super::*;

fn check(question: &str, expected: &[&str]) {
    let found: Vec<String> = keywords(question)
        .into_iter()
        .map(|keyword| match keyword.kind {
            Kind::Exact => format!("={}", keyword.text),
            Kind::Joined => format!("-{}", keyword.text),
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
fn a_word_that_says_little_alone_is_kept_beside_one_that_says_more() {
    check("where are exit codes decided?", &["exit", "code", "decid"]);
    check("where is the code that parses?", &["pars"]);
    check("show me the code", &[]);
}

#[test]
fn identifiers_paths_and_quotes_are_kept_as_written_beside_their_parts() {
    check("what calls `spend_step`?", &["=spend_step", "call", "spend", "step"]);
    check("ToolResult", &["=toolresult", "tool", "result"]);
    check("see runtime/agent/src/run.rs.", &["=runtime/agent/src/run.rs", "run"]);
    check("the \"fresh store\" rule", &["=fresh store", "rule", "fresh", "stor"]);
    check("Foo::bar() and connect()", &["=bar", "=foo::bar", "=connect", "foo"]);
    check("(really) .gitignore", &["=.gitignore", "gitignor"]);
    check("why is it read-only?", &["-read-only", "read"]);
}

#[test]
fn a_joined_word_is_found_however_it_is_joined() {
    let keywords = keywords("read-only");
    for text in ["read-only", "a ReadOnly thing", "is_read_only()", "a READ ONLY folder"] {
        assert!(keywords[0].strength(text) > 0.99, "{text}");
    }
    assert!(keywords[0].strength("read it only once") < 0.01);
}

#[test]
fn another_word_for_it_is_worth_less() {
    let keywords = keywords("which folder?");
    assert!(keywords[0].strength("the folders") > keywords[0].strength("a directory"));
    assert!(keywords[0].strength("a directory") > keywords[0].strength("a file"));
}

#[test]
fn odd_questions_do_no_harm() {
    for question in ["\"", "`", "“open", "????", "()", "::", "\u{0}\u{1b}[2J", "ß İ ﬁ 沙箱", "\"\"", "a b c", "-a- --"]
    {
        keywords(question);
    }
    assert_eq!(keywords(&"word1 ".repeat(10_000)).len(), 1);
    let many: String = (0..100).map(|number| format!("word{number} ")).collect();
    assert_eq!(keywords(&many).len(), MOST);
    assert!(keywords(&"x".repeat(256 * 1024)).is_empty());
}

#[test]
fn of_a_long_text_what_it_says_most_often_counts() {
    let mut text: String = (0..5000).map(|number| format!("filler{number} ")).collect();
    text.push_str("harbour crane harbour crane harbour");
    let found: Vec<String> = keywords(&text).into_iter().map(|keyword| keyword.said).collect();
    assert!(found.contains(&"harbour".to_owned()) && found.contains(&"crane".to_owned()), "{found:?}");
}
