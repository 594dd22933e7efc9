//! Text from guests, models and files, made harmless for a terminal: what would move the cursor,
//! change colours, reverse the reading order or not be seen at all is shown instead of obeyed.

use std::borrow::Cow;

use palisade_agent::misleads;

/// A text of several lines.
pub(crate) fn neutral_text(text: &str) -> Cow<'_, str> {
    if !text.contains(|character| misleads(character) && !matches!(character, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' | '\t' => safe.push(character),
            // A line that ends as on Windows is only a line that ends.
            '\r' if characters.peek() == Some(&'\n') => {}
            character => push(&mut safe, character),
        }
    }
    Cow::Owned(safe)
}

/// A text on one line: it cannot begin another one and pass it off as ours.
pub(crate) fn neutral_line(text: &str) -> Cow<'_, str> {
    if !text.contains(misleads) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' => safe.push('⏎'),
            '\t' => safe.push(' '),
            character => push(&mut safe, character),
        }
    }
    Cow::Owned(safe)
}

/// JSON that means the same and misleads nobody: serde escapes what JSON demands, which is less.
pub(crate) fn neutral_json(json: &str) -> Cow<'_, str> {
    let harmful = |character| misleads(character) && character != '\n';
    if !json.contains(harmful) {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        match harmful(character) {
            // Outside of strings there is none.
            true => safe.extend(character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}"))),
            false => safe.push(character),
        }
    }
    Cow::Owned(safe)
}

fn push(safe: &mut String, character: char) {
    match misleads(character) {
        true => safe.extend(character.escape_unicode()),
        false => safe.push(character),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_shown_and_lines_stay() {
        let check = |text: &str, expected: &str| assert_eq!(neutral_text(text), expected);
        check("plain\n\ttext é 漢 👩‍💻", "plain\n\ttext é 漢 👩‍💻");
        check("\u{1b}[31mred\u{9b}0m", "\\u{1b}[31mred\\u{9b}0m");
        check("over\rwritten\r\nnext", "over\\u{d}written\nnext");
        check("a\u{202e}b\u{2066}c\u{7}\u{7f}", "a\\u{202e}b\\u{2066}c\\u{7}\\u{7f}");
    }

    #[test]
    fn what_nobody_sees_is_shown() {
        let check = |text: &str, expected: &str| assert_eq!(neutral_text(text), expected);
        // "Hi" in tags, which a model reads as letters.
        check("a\u{e0048}\u{e0069}b", "a\\u{e0048}\\u{e0069}b");
        check("a\u{200b}\u{2060}\u{feff}\u{e0100}b", "a\\u{200b}\\u{2060}\\u{feff}\\u{e0100}b");
        // What joins and what chooses a picture is part of a word.
        check("می\u{200c}خواهم ❤\u{fe0f}", "می\u{200c}خواهم ❤\u{fe0f}");
    }

    #[test]
    fn json_stays_the_same_value() {
        let value = serde_json::json!({ "text": "\u{1b}[2J \u{202e} \u{9b} \n é \u{e0041}" });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let safe = neutral_json(&text);
        assert!(!safe.contains(['\u{1b}', '\u{202e}', '\u{9b}', '\u{e0041}']));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }

    #[test]
    fn one_line_stays_one_line() {
        let check = |text: &str, expected: &str| assert_eq!(neutral_line(text), expected);
        check("a\nok  write  forged\tb", "a⏎ok  write  forged b");
        check("a\u{2028}b\u{85}c", "a\\u{2028}b\\u{85}c");
    }
}
