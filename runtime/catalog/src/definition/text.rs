//! From bytes to text, and from a place in a text to the line and column that people look for.

use super::MAX_FILE;

/// Why bytes are no text of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotText {
    /// Nobody writes so much by hand.
    #[error("the file has {0} bytes; at most {MAX_FILE} are read")]
    TooLong(usize),
    /// The byte at this index belongs to no character.
    #[error("the file is not UTF-8: byte {0} belongs to no character")]
    NotUtf8(usize),
    /// There is a NUL byte at this index. No text has one, and programs in C would stop there.
    #[error("the file holds a NUL byte at byte {0}")]
    Nul(usize),
}

impl NotText {
    /// Where it is, if it is at one place.
    pub(super) fn offset(&self) -> Option<usize> {
        match *self {
            Self::TooLong(_) => None,
            Self::NotUtf8(offset) | Self::Nul(offset) => Some(offset),
        }
    }

    /// What would help.
    pub(super) fn fix(&self) -> &'static str {
        match self {
            Self::TooLong(_) => "keep the definition short and long material in files of its own",
            Self::NotUtf8(_) => "save the file as UTF-8",
            Self::Nul(_) => "save the file as plain text",
        }
    }
}

/// The text in the bytes, without a byte order mark. Looks at the length before anything else.
pub(super) fn decode(bytes: &[u8]) -> Result<&str, NotText> {
    if bytes.len() > MAX_FILE {
        return Err(NotText::TooLong(bytes.len()));
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(NotText::Nul(at));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| NotText::NotUtf8(error.valid_up_to()))?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The line and the character in it, both from 1, at a byte of a text. Lines end with LF, CRLF or CR.
pub(super) fn place(text: &[u8], offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let (mut line, mut start) = (1, 0);
    for (at, byte) in before.iter().enumerate() {
        let ends = match byte {
            b'\n' => true,
            b'\r' => text.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        if ends {
            line += 1;
            start = at + 1;
        }
    }
    let column = String::from_utf8_lossy(before.get(start..).unwrap_or_default()).chars().count() + 1;
    (line, column)
}

/// The text with every line end as LF.
pub(super) fn with_plain_line_ends(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// A value as a message shows it: in quotes and short.
pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", visible(text, 60))
}

/// At most so many characters of a text, with what is invisible or moves a terminal's cursor spelt
/// out.
pub(super) fn visible(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for character in text.chars().take(most) {
        if character.is_control() || is_invisible(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

/// The same of a text that may have several lines.
pub(crate) fn visible_lines(text: &str, most: usize) -> String {
    let text = with_plain_line_ends(text);
    let is_plain = |character: char| matches!(character, '\n' | '\t');
    let mut shown = String::new();
    for character in text.chars().take(most) {
        if !is_plain(character) && (character.is_control() || is_invisible(character)) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

/// Whether a character changes what people see without being seen: it hides text from a reviewer
/// that a model still reads. Joiners inside emoji and scripts are not counted.
pub(super) fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_in_front_is_dropped_and_what_is_no_text_is_named_by_its_byte() {
        assert_eq!(decode("\u{feff}a".as_bytes()), Ok("a"));
        assert_eq!(decode(b"ab\xffc"), Err(NotText::NotUtf8(2)));
        assert_eq!(decode(b"a\0"), Err(NotText::Nul(1)));
        assert_eq!(decode(&vec![b'a'; MAX_FILE + 1]), Err(NotText::TooLong(MAX_FILE + 1)));
    }

    #[test]
    fn places_count_all_line_ends_and_characters() {
        let text = "a\nb\r\nc\rdé-x";
        let check = |part: &str, expected| assert_eq!(place(text.as_bytes(), text.find(part).unwrap()), expected);
        check("a", (1, 1));
        check("b", (2, 1));
        check("c", (3, 1));
        check("d", (4, 1));
        check("x", (4, 4));
        assert_eq!(place(b"a\r\nb", 2), (1, 3));
        assert_eq!(place(b"a", 10), (1, 2));
    }

    #[test]
    fn what_is_quoted_is_short_and_visible() {
        assert_eq!(quoted("a\u{1b}[2Jb\u{202e}"), "`a\\u{1b}[2Jb\\u{202e}`");
        assert_eq!(quoted(&"é".repeat(80)), format!("`{}…`", "é".repeat(60)));
    }
}
