//! Words: what is left after quote removal, and what is hidden inside of them.

use brush_parser::{
    ParserOptions,
    ast::UnexpandedArithmeticExpr,
    word::{self, Parameter, ParameterExpr, ParameterTransformOp, WordPiece, WordPieceWithSource},
};

use super::{Unreadable, Word, walk::Walk};

/// How the parser is to read. Tildes stay text: the parser's own reading of `~99999…` panics.
/// Extended globs are off because shells start with them off.
pub(super) fn options() -> ParserOptions {
    ParserOptions {
        enable_extended_globbing: false,
        tilde_expansion_at_word_start: false,
        tilde_expansion_after_colon: false,
        ..ParserOptions::default()
    }
}

impl Walk {
    /// Reads a word; commands inside of it are added to the script.
    pub(super) fn word(&mut self, text: &str) -> Result<Word, Unreadable> {
        let pieces = word::parse(text, &options()).map_err(|_| unreadable())?;
        let mut word = Word::default();
        self.pieces(&pieces, text.len(), Quoting::None, &mut word)?;
        word.expands |= text.starts_with('~');
        Ok(word)
    }

    /// Reads the body of a here-document or an arithmetic expression: quotes mean themselves.
    pub(super) fn body(&mut self, text: &str) -> Result<(), Unreadable> {
        let pieces = word::parse_heredoc(text, &options()).map_err(|_| unreadable())?;
        self.pieces(&pieces, text.len(), Quoting::Double, &mut Word::default())
    }

    pub(super) fn arithmetic(&mut self, expression: &UnexpandedArithmeticExpr) -> Result<(), Unreadable> {
        self.body(&expression.value)
    }

    fn pieces(
        &mut self,
        pieces: &[WordPieceWithSource],
        length: usize,
        quoting: Quoting,
        word: &mut Word,
    ) -> Result<(), Unreadable> {
        let mut read = pieces.first().map_or(0, |piece| piece.start_index);
        if quoting == Quoting::None && (read != 0 || pieces.last().map_or(0, |piece| piece.end_index) != length) {
            return Err(unreadable());
        }
        let mut lone_dollar = false;
        for WordPieceWithSource { piece, start_index, end_index } in pieces {
            if *start_index != read {
                return Err(unreadable());
            }
            read = *end_index;
            lone_dollar = match piece {
                WordPiece::Text(text) => {
                    // What the word grammar fails to take for a substitution it calls text.
                    let fails = ["$(", "${", "$[", "`"].iter().any(|sign| text.contains(sign));
                    if fails || lone_dollar && text.starts_with(['(', '{', '[']) {
                        return Err(unreadable());
                    }
                    word.push(text);
                    word.expands |= quoting == Quoting::None && text.contains(['*', '?', '[', '{']);
                    text.ends_with('$')
                }
                WordPiece::SingleQuotedText(text) => {
                    word.push(text);
                    false
                }
                WordPiece::AnsiCQuotedText(text) => {
                    word.push(&unescaped(text).ok_or_else(unreadable)?);
                    false
                }
                WordPiece::EscapeSequence(text) => {
                    word.push(text.strip_prefix('\\').unwrap_or(text));
                    false
                }
                WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                    self.pieces(inner, 0, Quoting::Double, word)?;
                    false
                }
                WordPiece::TildeExpansion(_) => {
                    word.opaque = true;
                    false
                }
                WordPiece::ParameterExpansion(expression) => {
                    word.opaque = true;
                    self.parameter(expression)?;
                    false
                }
                WordPiece::CommandSubstitution(text) | WordPiece::BackquotedCommandSubstitution(text) => {
                    word.opaque = true;
                    self.script(text)?;
                    false
                }
                WordPiece::ArithmeticExpression(expression) => {
                    word.opaque = true;
                    self.arithmetic(expression)?;
                    false
                }
            };
        }
        Ok(())
    }

    fn parameter(&mut self, expression: &ParameterExpr) -> Result<(), Unreadable> {
        use ParameterExpr as E;
        let (parameter, words) = match expression {
            E::Parameter { parameter, .. } | E::ParameterLength { parameter, .. } => (parameter, [None, None]),
            E::UseDefaultValues { parameter, default_value: word, .. }
            | E::IndicateErrorIfNullOrUnset { parameter, error_message: word, .. }
            | E::UseAlternativeValue { parameter, alternative_value: word, .. }
            | E::RemoveSmallestSuffixPattern { parameter, pattern: word, .. }
            | E::RemoveLargestSuffixPattern { parameter, pattern: word, .. }
            | E::RemoveSmallestPrefixPattern { parameter, pattern: word, .. }
            | E::RemoveLargestPrefixPattern { parameter, pattern: word, .. }
            | E::UppercaseFirstChar { parameter, pattern: word, .. }
            | E::UppercasePattern { parameter, pattern: word, .. }
            | E::LowercaseFirstChar { parameter, pattern: word, .. }
            | E::LowercasePattern { parameter, pattern: word, .. } => (parameter, [word.as_ref(), None]),
            E::ReplaceSubstring { parameter, pattern, replacement, .. } => {
                (parameter, [Some(pattern), replacement.as_ref()])
            }
            E::AssignDefaultValues { parameter, default_value, .. } => {
                if let Parameter::Named(name) | Parameter::NamedWithIndex { name, .. } = parameter {
                    self.assigned(name);
                }
                (parameter, [default_value.as_ref(), None])
            }
            E::Substring { parameter, offset, length, .. } => {
                self.arithmetic(offset)?;
                if let Some(length) = length {
                    self.arithmetic(length)?;
                }
                (parameter, [None, None])
            }
            E::Transform { parameter, op, .. } => {
                if matches!(op, ParameterTransformOp::PromptExpand) {
                    self.worry("expands a variable as a prompt, which runs commands in it");
                }
                (parameter, [None, None])
            }
            E::VariableNames { .. } | E::MemberKeys { .. } => return Ok(()),
        };
        if let Parameter::NamedWithIndex { index, .. } = parameter {
            self.body(index)?;
        }
        for text in words.into_iter().flatten() {
            self.word(text)?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    None,
    Double,
}

impl Word {
    /// Adds known text; what follows an unknown part is not kept.
    fn push(&mut self, text: &str) {
        if !self.opaque {
            self.text.push_str(text);
        }
    }
}

pub(super) fn unreadable() -> Unreadable {
    Unreadable("cannot be parsed".to_owned())
}

/// Undoes the escapes of `$'…'`. `None` if the result is not plain text.
fn unescaped(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let code = after.chars().next()?;
        let digits = after.get(code.len_utf8()..)?;
        let (c, left) = match code {
            'n' => ('\n', digits),
            't' => ('\t', digits),
            '\\' | '\'' | '"' | '?' => (code, digits),
            'x' => number(digits, 16, 2)?,
            'u' => number(digits, 16, 4)?,
            'U' => number(digits, 16, 8)?,
            '0'..='7' => number(after, 8, 3)?,
            _ => return None,
        };
        plain.push(c);
        rest = left;
    }
    plain.push_str(rest);
    (!plain.chars().any(|c| c.is_control() && c != '\n' && c != '\t')).then_some(plain)
}

/// A character given by its number. Only those of one byte, because a shell puts together longer
/// ones from several escapes.
fn number(text: &str, radix: u32, most: usize) -> Option<(char, &str)> {
    let length = text.bytes().take(most).take_while(|byte| char::from(*byte).is_digit(radix)).count();
    let (digits, rest) = text.split_at_checked(length)?;
    let c = char::from_u32(u32::from_str_radix(digits, radix).ok()?)?;
    c.is_ascii().then_some((c, rest))
}
