//! Refuses shell text that could be read in more than one way.
//!
//! A rule is worth something only if the parser and the shell that later runs the command agree on
//! where quotes end. They do on ordinary text. In the corners (a quote inside `${…}`, a comment
//! inside `$(…)`, `( (`) they differ, and a difference is a place to hide a command. This file
//! knows the corners and lets nothing with one pass; it never decides what a command *is*. It also
//! keeps the text small and flat enough for a recursive parser, with a stack of its own.

use super::Unreadable;

/// Longer commands are programs; nobody wrote a rule with them in mind.
pub(super) const MAX_LENGTH: usize = 64 * 1024;
/// How deep brackets and quotes may nest. People rarely need four.
const MAX_NESTING: usize = 12;
/// How many words that begin a block there may be: each can be one level of the parser's recursion.
const MAX_BLOCKS: usize = 64;
/// How many `[` one word may hold: each can be an index inside of an index.
const MAX_INDEXES: usize = 32;
/// How many `&&`, `||` and `|` there may be: chains of them become nested values.
const MAX_JOINS: usize = 512;
/// The parser tries up to three readings at every `case`; length times readings stays below this.
const MAX_WORK: usize = 1 << 20;

/// What surrounds a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    /// Commands: the whole text, or `$(…)`.
    Commands,
    /// `(…)` or `<(…)` among commands.
    Parentheses,
    /// `"…"`.
    Double,
    /// `${…}`.
    Parameter,
    /// `((…))` and `$((…))`.
    Arithmetic,
    /// `(…)` within arithmetic.
    Term,
    /// The body of a here-document that expands.
    Body,
}

/// A here-document whose body has not begun.
struct Announced {
    tag: String,
    expands: bool,
    tabs_removed: bool,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    around: Vec<Around>,
    announced: Vec<Announced>,
    /// Where the current word began; `None` between words.
    word: Option<usize>,
    /// Whether the last character was an escaped or doubled dollar, after which `'` is ambiguous.
    spent_dollar: bool,
    /// How many `[` the word at the top has so far.
    indexes: usize,
    blocks: usize,
    joins: usize,
    cases: u32,
}

type Checked<T> = Result<T, Unreadable>;

/// Passes text that has one reading and is small enough to be parsed.
pub(super) fn check(text: &str) -> Checked<()> {
    if text.len() > MAX_LENGTH {
        return refuse(format!("has {} bytes; rules read up to {MAX_LENGTH}", text.len()));
    }
    if text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return refuse("holds a control character");
    }
    if text.chars().any(|c| !c.is_ascii() && c.is_whitespace()) {
        return refuse("holds a blank that shells do not take for one");
    }
    let mut reader = Reader::new(text, Around::Commands);
    reader.read()?;
    let readings = 3_usize.checked_pow(reader.cases).and_then(|readings| readings.checked_mul(text.len()));
    if readings.is_none_or(|work| work > MAX_WORK) {
        return refuse("has too many `case` words");
    }
    Ok(())
}

fn refuse<T>(why: impl Into<String>) -> Checked<T> {
    Err(Unreadable(why.into()))
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, around: Around) -> Self {
        Self {
            text,
            at: 0,
            around: vec![around],
            announced: Vec::new(),
            word: None,
            spent_dollar: false,
            indexes: 0,
            blocks: 0,
            joins: 0,
            cases: 0,
        }
    }

    fn read(&mut self) -> Checked<()> {
        while let Some(c) = self.next() {
            let spent_dollar = std::mem::take(&mut self.spent_dollar);
            match self.around.last().copied().unwrap_or(Around::Commands) {
                Around::Commands | Around::Parentheses => self.among_commands(c, spent_dollar)?,
                Around::Double => self.in_double_quotes(c)?,
                Around::Parameter => self.in_parameter(c)?,
                Around::Arithmetic | Around::Term => self.in_arithmetic(c)?,
                Around::Body => self.in_body(c)?,
            }
        }
        self.end_word()?;
        if self.around.len() > 1 {
            return refuse("has a quote or bracket without its end");
        }
        if !self.announced.is_empty() {
            return refuse("has a here-document without its end");
        }
        Ok(())
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn follows(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    fn take(&mut self, text: &str) -> bool {
        let taken = self.follows(text);
        if taken {
            self.at += text.len();
        }
        taken
    }

    fn open(&mut self, around: Around) -> Checked<()> {
        if !self.announced.is_empty() && around != Around::Double {
            return refuse("has brackets between a here-document's tag and its body");
        }
        self.around.push(around);
        if self.around.len() > MAX_NESTING {
            return refuse(format!("nests deeper than {MAX_NESTING} brackets and quotes"));
        }
        Ok(())
    }

    fn close(&mut self) {
        self.around.pop();
    }

    fn among_commands(&mut self, c: char, spent_dollar: bool) -> Checked<()> {
        let before = self.at - c.len_utf8();
        match c {
            '\n' | ' ' | '\t' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => {
                self.end_word()?;
                return self.between_words(c);
            }
            '#' if self.word.is_none() => return self.comment(),
            '\\' if self.take("\n") => return Ok(()),
            _ => {}
        }
        self.word.get_or_insert(before);
        match c {
            '\\' => {
                if self.next().is_none() {
                    return refuse("ends in a backslash");
                }
                self.spent_dollar = self.text[..self.at].ends_with('$');
            }
            '\'' if spent_dollar => return refuse("has a quote after a dollar that is not its own"),
            '\'' => self.single_quotes()?,
            '"' => self.open(Around::Double)?,
            '`' => self.backquotes()?,
            '$' => self.dollar()?,
            '[' => self.index()?,
            _ => {}
        }
        Ok(())
    }

    fn index(&mut self) -> Checked<()> {
        self.indexes += 1;
        if self.indexes > MAX_INDEXES { refuse(format!("has more than {MAX_INDEXES} `[` in a word")) } else { Ok(()) }
    }

    fn between_words(&mut self, c: char) -> Checked<()> {
        match c {
            '\n' => self.bodies(),
            '&' | '|' => {
                self.joins += 1;
                if self.joins > 2 * MAX_JOINS {
                    return refuse(format!("joins more than {MAX_JOINS} commands"));
                }
                Ok(())
            }
            '<' if self.take("<<") => Ok(()),
            '<' if self.take("<") => self.announce(),
            '(' if self.take("(") => self.open(Around::Arithmetic),
            '(' => {
                let inner = self.rest().trim_start_matches([' ', '\t', '\n', '\\']);
                if inner.starts_with('(') {
                    return refuse("has `( (`, which can be arithmetic or commands");
                }
                self.open(Around::Parentheses)
            }
            ')' => self.closing_parenthesis(),
            _ => Ok(()),
        }
    }

    /// Ends `$(…)`, `(…)` or, at the top, the pattern of a `case`.
    fn closing_parenthesis(&mut self) -> Checked<()> {
        if !self.announced.is_empty() {
            return refuse("ends a bracket before a here-document began");
        }
        if self.around.len() == 1 {
            return if self.cases > 0 { Ok(()) } else { refuse("has a `)` without its beginning") };
        }
        match self.around.pop() {
            // What `$(…)` is part of goes on as a word.
            Some(Around::Commands) => self.word = Some(self.at),
            _ => self.no_comment_touches()?,
        }
        Ok(())
    }

    /// After `(…)` a `#` begins a comment, after `<(…)` it does not, and parsers mix them up.
    fn no_comment_touches(&self) -> Checked<()> {
        if self.follows("#") { refuse("has `)#`") } else { Ok(()) }
    }

    fn comment(&mut self) -> Checked<()> {
        if self.around.len() > 1 {
            return refuse("has a comment inside of brackets");
        }
        let end = self.rest().find('\n').unwrap_or(self.rest().len());
        self.at += end;
        Ok(())
    }

    /// Counts the words that make the parser go deeper.
    fn end_word(&mut self) -> Checked<()> {
        if self.around.len() == 1 {
            self.indexes = 0;
        }
        let Some(start) = self.word.take() else { return Ok(()) };
        // Without line continuations, as the parser sees it.
        let word = self.text.get(start..self.at).unwrap_or_default().replace("\\\n", "");
        let word = word.trim_end_matches(['\n', ' ', '\t', ';', '&', '|', '<', '>', '(', ')']);
        match word {
            "case" => self.cases += 1,
            "coproc" | "select" => return refuse(format!("uses `{word}`, which rules do not read")),
            "{" | "if" | "while" | "until" | "for" | "function" | "[[" | "!" | "elif" => {}
            _ if word.bytes().all(|byte| byte.is_ascii_digit()) && word.len() > 4 && self.ended_by_redirection() => {
                return refuse("redirects a descriptor with more than four digits");
            }
            _ => return Ok(()),
        }
        self.blocks += 1;
        if self.blocks > MAX_BLOCKS {
            return refuse(format!("has more than {MAX_BLOCKS} blocks"));
        }
        Ok(())
    }

    fn ended_by_redirection(&self) -> bool {
        self.text[..self.at].ends_with(['<', '>'])
    }

    fn single_quotes(&mut self) -> Checked<()> {
        match self.rest().find('\'') {
            Some(length) => self.pass(length + 1),
            None => refuse("has a single quote without its end"),
        }
    }

    /// `$'…'`, in which a backslash keeps a quote from ending it.
    fn ansi_quotes(&mut self) -> Checked<()> {
        let start = self.at;
        while let Some(c) = self.next() {
            match c {
                '\\' if self.follows("\n") => return refuse("breaks a line inside of `$'…'`"),
                '\\' => {
                    self.next();
                }
                '\'' => {
                    let length = self.at - start;
                    self.at = start;
                    return self.pass(length);
                }
                _ => {}
            }
        }
        refuse("has a quote without its end")
    }

    /// Goes past quoted text. A here-document that was announced on this line begins after the
    /// line's end, and not every shell agrees on whether a quoted line end is one.
    fn pass(&mut self, length: usize) -> Checked<()> {
        let quoted = self.rest().get(..length).unwrap_or_default();
        if !self.announced.is_empty() && quoted.contains('\n') {
            return refuse("breaks a quoted line before a here-document");
        }
        self.at += length;
        Ok(())
    }

    /// Only plain words may stand between backquotes: escapes in them are undone twice.
    fn backquotes(&mut self) -> Checked<()> {
        let Some(length) = self.rest().find('`') else { return refuse("has a backquote without its end") };
        let inner = self.rest().get(..length).unwrap_or_default();
        if inner.contains(['\\', '\'', '"', '#', '\n', '(', ')', '{', '}', '<']) {
            return refuse("has quotes or brackets inside of backquotes; `$(…)` can be read");
        }
        self.pass(length + 1)
    }

    fn dollar(&mut self) -> Checked<()> {
        if self.follows("\\\n") {
            return refuse("breaks a line after `$`");
        }
        let quotes_count = matches!(self.around.last(), Some(Around::Commands | Around::Parentheses));
        if self.take("((") {
            self.open(Around::Arithmetic)
        } else if self.take("(") {
            if self.rest().trim_start_matches([' ', '\t', '\n', '\\']).starts_with('(') {
                return refuse("has `$( (`, which can be arithmetic or commands");
            }
            self.open(Around::Commands)?;
            self.word = None;
            Ok(())
        } else if self.take("{") {
            self.open(Around::Parameter)
        } else if self.follows("[") {
            refuse("has `$[…]`; `$((…))` can be read")
        } else if quotes_count && self.take("'") {
            self.ansi_quotes()
        } else {
            // `$$'…'` is a number and a plain quote, `$${x}` a number and plain text; parsers take the
            // second dollar for the beginning of something.
            if self.take("$") && self.rest().starts_with(['$', '(', '{', '[', '\'', '"', '`', '\\']) {
                return refuse("has `$$` before a bracket or quote");
            }
            Ok(())
        }
    }

    fn in_double_quotes(&mut self, c: char) -> Checked<()> {
        match c {
            '"' => self.close(),
            '\\' => {
                self.next();
            }
            '`' => self.backquotes()?,
            '$' => self.dollar()?,
            '\n' if !self.announced.is_empty() => {
                return refuse("breaks a quoted line before a here-document");
            }
            _ => {}
        }
        Ok(())
    }

    /// Shells differ most on what quotes mean in here, so there are none.
    fn in_parameter(&mut self, c: char) -> Checked<()> {
        match c {
            '}' => self.close(),
            '$' => {
                if self.follows("'") || self.follows("\"") {
                    return refuse("has a quote inside of `${…}`");
                }
                self.dollar()?;
            }
            '[' => {
                let index = self.rest().split_once(']').map_or("", |(index, _)| index);
                let plain = |c: char| c.is_ascii_alphanumeric() || "_@*$+-".contains(c);
                if index.is_empty() || !index.chars().all(plain) {
                    return refuse("has an index inside of `${…}` that is not a plain name");
                }
                self.at += index.len() + 1;
            }
            c if c.is_alphanumeric() || "_ #%/:-+=?!@*,.^~".contains(c) => {}
            _ => return refuse(format!("has `{c}` inside of `${{…}}`")),
        }
        Ok(())
    }

    fn in_arithmetic(&mut self, c: char) -> Checked<()> {
        match c {
            '(' => self.open(Around::Term)?,
            ')' if self.around.last() == Some(&Around::Term) => self.close(),
            ')' if self.take(")") => {
                self.close();
                self.no_comment_touches()?;
            }
            '<' if self.follows("<") => return refuse("shifts inside of arithmetic"),
            '[' => self.index()?,
            '#' if self.text[..self.at - 1].ends_with(|c: char| c.is_ascii_digit()) => {}
            '$' => {
                if self.follows("'") || self.follows("\"") {
                    return refuse("has a quote inside of arithmetic");
                }
                self.dollar()?;
            }
            c if c.is_ascii_alphanumeric() || "_ \t+-*/%<>=!&|^~?:,;]".contains(c) => {}
            _ => return refuse(format!("has `{c}` inside of arithmetic, or commands that begin like it")),
        }
        Ok(())
    }

    fn in_body(&mut self, c: char) -> Checked<()> {
        match c {
            '\\' if self.follows("\n") => return refuse("joins lines of a here-document"),
            '\\' => {
                self.next();
            }
            '`' => self.backquotes()?,
            '$' => self.dollar()?,
            _ => {}
        }
        Ok(())
    }

    /// Reads what follows `<<`: a tag of letters, plain or quoted as a whole.
    fn announce(&mut self) -> Checked<()> {
        let tabs_removed = self.take("-");
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        let quote = ["'", "\"", "\\"].into_iter().find(|quote| self.take(quote));
        let length = self.rest().find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest().len());
        let tag = self.rest().get(..length).unwrap_or_default().to_owned();
        self.at += length;
        let ended = match quote {
            Some("'") => self.take("'"),
            Some("\"") => self.take("\""),
            _ => true,
        };
        let word_ends = self.rest().is_empty() || self.rest().starts_with([' ', '\t', '\n', ';', '&', '|', '<', '>']);
        if tag.is_empty() || !ended || !word_ends {
            return refuse("has a here-document with an unusual tag");
        }
        self.announced.push(Announced { tag, expands: quote.is_none(), tabs_removed });
        Ok(())
    }

    /// Goes past the bodies of the here-documents that the line before announced.
    fn bodies(&mut self) -> Checked<()> {
        for document in std::mem::take(&mut self.announced) {
            let start = self.at;
            let end = loop {
                let line_start = self.at;
                if self.rest().is_empty() {
                    return refuse("has a here-document without its end");
                }
                let line = self.rest().split('\n').next().unwrap_or_default();
                self.at = (self.at + line.len() + 1).min(self.text.len());
                let line = if document.tabs_removed { line.trim_start_matches('\t') } else { line };
                if line == document.tag {
                    break line_start;
                }
            };
            if document.expands {
                let mut body = Reader::new(self.text.get(start..end).unwrap_or_default(), Around::Body);
                body.read()?;
                self.blocks += body.blocks;
                self.cases += body.cases;
                self.joins += body.joins;
            }
        }
        Ok(())
    }
}
