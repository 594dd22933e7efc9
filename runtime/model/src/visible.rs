//! Characters that mislead whoever looks at a text.

/// Whether a character would move the cursor of a terminal or turn the order in which a line is read.
pub(crate) fn misleads(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
