//! What misleads whoever reads a text that somebody else wrote.

/// Control characters (with the escape and the 8-bit ones), line separators, whatever changes the
/// direction of what follows, and what nobody sees but a model reads, such as tags: whoever looks at a
/// definition before trusting it sees all that it says. What joins letters and emoji does not mislead.
pub fn misleads(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{061c}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}
