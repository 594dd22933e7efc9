//! Markdown, whole and in pieces.

use proptest::prelude::*;

use super::*;

const WIDTH: usize = 40;

fn plain(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("{}\n", line.plain())).collect()
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(plain(&Markdown::whole(text, WIDTH)), expected);
}

#[test]
fn headings_bold_code_and_links_have_styles() {
    let lines = Markdown::whole("# Title\n\nA **bold** `word`, *soft*, [here](http://a.b).\n", 80);
    let shown: Vec<String> = lines.iter().map(|line| line.shown(None, true)).collect();
    let second =
        "A \x1b[1mbold\x1b[0m \x1b[36mword\x1b[0m, \x1b[3msoft\x1b[0m, \x1b[4mhere\x1b[0m\x1b[2m (http://a.b)\x1b[0m.";
    assert_eq!(shown, ["\x1b[1;35mTitle\x1b[0m", "", second]);
}

#[test]
fn a_style_that_goes_on_is_said_once() {
    let lines = Markdown::whole("# A long title that has to be wrapped here\n", WIDTH);
    let shown: Vec<String> = lines.iter().map(|line| line.shown(None, true)).collect();
    assert_eq!(shown, ["\x1b[1;35mA long title that has to be wrapped here\x1b[0m"]);
    let lines = Markdown::whole("**one two three four five six seven eight nine**\n", WIDTH);
    let shown: Vec<String> = lines.iter().map(|line| line.shown(None, true)).collect();
    assert_eq!(shown, ["\x1b[1mone two three four five six seven eight\x1b[0m", "\x1b[1mnine\x1b[0m"]);
}

#[test]
fn words_are_wrapped_and_long_ones_stay_whole() {
    check(
        "one two three four five six seven eight nine ten\neleven\n",
        "one two three four five six seven eight\nnine ten eleven\n",
    );
    check(
        "see http://example.com/a/very/long/address/that/does/not/fit now\n",
        "see\nhttp://example.com/a/very/long/address/that/does/not/fit\nnow\n",
    );
    check("a hard  \nbreak\n", "a hard\nbreak\n");
}

#[test]
fn lists_are_indented_and_go_on_counting() {
    check("- a\n- b\n  - c\n  - d\n", "• a\n• b\n  • c\n  • d\n");
    check("1. a\n1. b\n\n1. c\n", "1. a\n2. b\n\n3. c\n");
    check("7. a\n8. b\n", "7. a\n8. b\n");
    check("- one two three four five six seven eight nine\n", "• one two three four five six seven\n  eight nine\n");
    check("1. a\n\n   more\n\n   ```sh\n   ls\n   ```\n2. b\n", "1. a\n\n   more\n\n   sh\n   ls\n2. b\n");
    check("intro\n- a\n- b\n\nend\n", "intro\n• a\n• b\n\nend\n");
    check("-\n- b\n", "•\n• b\n");
}

#[test]
fn code_is_kept_as_it_is() {
    check("```rust\nfn  a() {\n\n\tlet b = \"**c**\"; // a line that is longer than the width\n}\n```\nafter\n", {
        "```rust\nfn  a() {\n\n\tlet b = \"**c**\"; // a line that is longer than the width\n}\n```\nafter\n"
    });
    check("~~~\n```\n~~~\n", "~~~\n```\n~~~\n");
    check("```\nnever closed", "```\nnever closed\n");
    check("    indented\n", "indented\n");
}

#[test]
fn quotes_tables_rules_and_html_are_shown() {
    check("> a quote\n> goes on\n\nend\n", "│ a quote goes on\n\nend\n");
    check("| a | b |\n|---|---|\n| 1 | 2 |\n", "| a | b |\n|---|---|\n| 1 | 2 |\n");
    check("a\n\n***\n\nb\n", &format!("a\n\n{}\n\nb\n", "─".repeat(40)));
    check("<div>\nx\n</div>\n", "<div>\nx\n</div>\n");
    check("see [a][1]\n\n[1]: http://a.b \"T\"\n", "see [a][1]\n\n[1]: http://a.b \"T\"\n");
}

#[test]
fn nothing_in_it_reaches_the_terminal() {
    for text in ["\x1b[31mred", "`\x1b[31m`", "&#27;[31m", "```\n\x1b]0;title\x07\n```", "| \x1b[2J |", "a\rb"] {
        let shown: String = Markdown::whole(text, WIDTH).iter().map(|line| line.shown(None, false)).collect();
        assert!(!shown.contains(|character: char| character.is_control()), "{text:?} gave {shown:?}");
    }
}

#[test]
fn a_paragraph_is_given_when_it_is_complete_and_seen_before() {
    let mut markdown = Markdown::default();
    assert_eq!(plain(&markdown.push("One **tw", WIDTH)), "");
    assert_eq!(plain(&markdown.tail().lines(WIDTH)), "One **tw\n");
    assert_eq!(plain(&markdown.push("o**\nthree\n", WIDTH)), "");
    assert_eq!(plain(&markdown.tail().lines(WIDTH)), "One two three\n");
    assert_eq!(plain(&markdown.push("\nnext", WIDTH)), "One two three\n");
    assert_eq!(plain(&markdown.tail().lines(WIDTH)), "next\n");
    assert_eq!(plain(&markdown.finish(WIDTH)), "\nnext\n");
    assert_eq!(plain(&markdown.tail().lines(WIDTH)), "");
}

#[test]
fn code_is_given_line_by_line() {
    let mut markdown = Markdown::default();
    assert_eq!(plain(&markdown.push("```\na\nb", WIDTH)), "```\na\n");
    assert_eq!(plain(&markdown.tail().lines(WIDTH)), "b\n");
}

/// Lines as models write them, each with a word of its own in it.
fn text() -> impl Strategy<Value = String> {
    let forms = [
        "W",
        "W W",
        "**W** `W`",
        "*W",
        "# W",
        "## W #",
        "- W",
        "  - W",
        "* W **W",
        "1. W",
        "2) W",
        "   W",
        "    W",
        "> W",
        "```",
        "```W",
        "~~~",
        "| W | W |",
        "",
        "",
        " ",
        "---",
        "===",
        "***",
        "[W](W)",
        "[W]: W",
        "<W>",
        "</div>",
        "\\W",
        "![W](W \"W\")",
        "W  ",
        "\tW",
        "W\r",
        "<!-- W",
        "& W &#35;",
        "W漢字W",
        "[W][W]",
        "+ ",
        "10. W",
        "-",
        "`W",
        "_W_W_",
    ];
    let line = prop::sample::select(forms.to_vec());
    prop::collection::vec(line, 0..24).prop_map(|lines| {
        let mut count = 0;
        let mut text = String::new();
        for character in lines.join("\n").chars() {
            match character {
                'W' => {
                    count += 1;
                    text += &format!("w{count}w");
                }
                character => text.push(character),
            }
        }
        text
    })
}

fn in_pieces(text: &str, cuts: &[prop::sample::Index]) -> Vec<Line> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(text.chars().count() + 1)).collect();
    places.sort_unstable();
    let mut markdown = Markdown::default();
    let mut lines = Vec::new();
    let mut piece = String::new();
    for (at, character) in text.chars().enumerate() {
        if places.contains(&at) {
            lines.extend(markdown.push(&std::mem::take(&mut piece), WIDTH));
            // Looking at the end changes nothing.
            markdown.tail().lines(WIDTH);
        }
        piece.push(character);
    }
    lines.extend(markdown.push(&piece, WIDTH));
    lines.extend(markdown.finish(WIDTH));
    lines
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_lines(text in text(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40)) {
        prop_assert_eq!(in_pieces(&text, &cuts), Markdown::whole(&text, WIDTH));
    }

    #[test]
    fn every_word_is_shown(text in text()) {
        let shown = plain(&Markdown::whole(&text, WIDTH));
        let mut count = 1;
        while text.contains(&format!("w{count}w")) {
            prop_assert!(shown.contains(&format!("w{count}w")), "w{}w is lost:\n{}\n---\n{}", count, text, shown);
            count += 1;
        }
    }

    #[test]
    fn no_text_breaks_it(text in "\\PC*|[ -~\n\t]*") {
        Markdown::whole(&text, WIDTH);
    }
}
