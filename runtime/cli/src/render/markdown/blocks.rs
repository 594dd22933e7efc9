//! Takes a text apart into blocks while it comes in. A block is decided by whole lines alone, so that
//! it does not matter in which pieces the text came.

/// A text that is coming in.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// What came of the line that has not ended.
    line: String,
    open: Open,
    /// A blank line came before what is next.
    gap: bool,
    /// Something was given before.
    begun: bool,
    /// The number that the next item has, if it goes on counting.
    count: Option<Count>,
}

/// A part of a text that will not change any more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// A blank line goes before it.
    pub(super) gap: bool,
    pub(super) content: Content,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Some Markdown, whole.
    Markdown {
        text: String,
        /// The number of its first item, if it is an item of a list that goes on counting.
        number: Option<u64>,
    },
    /// A line that begins or ends code.
    Fence(String),
    /// A line of code.
    Code(String),
    /// A row of a table.
    Row(String),
}

/// What has begun and not ended.
#[derive(Debug, Default, PartialEq, Eq)]
enum Open {
    #[default]
    Nothing,
    Text(String),
    Item {
        text: String,
        /// How far what belongs to it is indented.
        indent: usize,
        number: Option<u64>,
        fence: Option<Fence>,
        /// Blank lines that may or may not be inside it.
        blanks: usize,
    },
    Code(Fence),
}

/// How a block of code began, and so how it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count {
    delimiter: char,
    next: u64,
}

/// The mark that begins an item.
struct Marker {
    /// Columns up to what the item says.
    indent: usize,
    /// For items with a number: the number and what follows it.
    number: Option<(u64, char)>,
    /// Nothing follows the mark.
    empty: bool,
}

impl Blocks {
    /// Takes more text and gives the blocks that it completes.
    pub(super) fn push(&mut self, text: &str) -> Vec<Block> {
        let mut blocks = Vec::new();
        for piece in text.split_inclusive('\n') {
            self.line.push_str(piece);
            if self.line.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                let line = line.trim_end_matches('\n');
                self.take(line.strip_suffix('\r').unwrap_or(line), &mut blocks);
            }
        }
        blocks
    }

    /// The text is over: gives the rest.
    pub(super) fn finish(&mut self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take(&line, &mut blocks);
        }
        self.close(&mut blocks);
        *self = Self::default();
        blocks
    }

    /// What has begun and not ended, as it looks now; of a long text the end.
    pub(super) fn tail(&self) -> Option<Content> {
        let (begun, number, blanks) = match &self.open {
            Open::Code(_) if self.line.is_empty() => return None,
            Open::Code(_) => return Some(Content::Code(end(&self.line).to_owned())),
            Open::Nothing => ("", None, 0),
            Open::Text(text) => (text.as_str(), None, 0),
            Open::Item { text, number, blanks, .. } => (text.as_str(), *number, *blanks),
        };
        let text = format!("{}{}{}", end(begun), "\n".repeat(blanks.min(2)), end(&self.line));
        (!text.trim().is_empty()).then_some(Content::Markdown { text, number })
    }

    /// Takes one line.
    fn take(&mut self, line: &str, blocks: &mut Vec<Block>) {
        let blank = line.trim().is_empty();
        match &mut self.open {
            Open::Code(fence) => {
                if fence.is_ended_by(line) {
                    self.open = Open::Nothing;
                    return self.give(Content::Fence(line.to_owned()), blocks);
                }
                return self.give(Content::Code(line.to_owned()), blocks);
            }
            Open::Text(text) if !blank && !interrupts(line) => {
                text.push_str(line);
                text.push('\n');
                return;
            }
            Open::Item { blanks, fence: None, .. } if blank => {
                *blanks += 1;
                return;
            }
            Open::Item { text, indent, fence, blanks, .. } => {
                let inside = indented(line) >= *indent;
                let lazy = *blanks == 0 && !interrupts(line) && marker(line).is_none();
                if fence.is_some() || inside || lazy {
                    text.push_str(&"\n".repeat(std::mem::take(blanks)));
                    text.push_str(line);
                    text.push('\n');
                    *fence = match fence {
                        Some(open) if open.is_ended_by(line) => None,
                        Some(open) => Some(*open),
                        None => Fence::begun_by(line.trim_start()),
                    };
                    return;
                }
            }
            Open::Nothing | Open::Text(_) => {}
        }
        self.close(blocks);
        if blank {
            self.gap = true;
            return;
        }
        self.begin(line, blocks);
    }

    /// Takes a line that belongs to nothing before it.
    fn begin(&mut self, line: &str, blocks: &mut Vec<Block>) {
        if let Some(fence) = Fence::begun_by(line) {
            self.give(Content::Fence(line.to_owned()), blocks);
            self.open = Open::Code(fence);
        } else if let Some(marker) = marker(line) {
            let number = self.number(&marker);
            // An item may begin with code.
            let fence = Fence::begun_by(line.get(marker.indent..).unwrap_or_default());
            let text = format!("{line}\n");
            self.open = Open::Item { text, indent: marker.indent, number, fence, blanks: 0 };
        } else if line.trim_start().starts_with('|') {
            self.give(Content::Row(line.to_owned()), blocks);
        } else if is_heading(line) {
            self.give(Content::Markdown { text: line.to_owned(), number: None }, blocks);
        } else {
            self.open = Open::Text(format!("{line}\n"));
        }
    }

    /// The number of an item: one more than the item before it, whatever is written.
    fn number(&mut self, marker: &Marker) -> Option<u64> {
        let (written, delimiter) = marker.number?;
        let number = match self.count {
            Some(count) if count.delimiter == delimiter => count.next,
            _ => written,
        };
        Some(number)
    }

    /// Gives what is open.
    fn close(&mut self, blocks: &mut Vec<Block>) {
        match std::mem::take(&mut self.open) {
            Open::Nothing | Open::Code(_) => {}
            Open::Text(text) => self.give(Content::Markdown { text, number: None }, blocks),
            Open::Item { text, number, blanks, .. } => {
                let delimiter = marker(text.lines().next().unwrap_or_default()).and_then(|marker| marker.number);
                self.give(Content::Markdown { text, number }, blocks);
                self.count = number
                    .zip(delimiter)
                    .map(|(number, (_, delimiter))| Count { delimiter, next: number.saturating_add(1) });
                self.gap |= blanks > 0;
            }
        }
    }

    fn give(&mut self, content: Content, blocks: &mut Vec<Block>) {
        let gap = std::mem::take(&mut self.gap) && self.begun;
        self.begun = true;
        self.count = None;
        blocks.push(Block { gap, content });
    }
}

/// The most that is looked at for a glance at the end, in bytes: it is looked at several times a second.
const GLANCE: usize = 8 * 1024;

fn end(text: &str) -> &str {
    let from = (text.len().saturating_sub(GLANCE)..=text.len()).find(|at| text.is_char_boundary(*at));
    &text[from.unwrap_or(0)..]
}

impl Fence {
    /// The fence that a line begins: three or more of one mark, and at most a word after them.
    fn begun_by(line: &str) -> Option<Self> {
        if indented(line) > 3 {
            return None;
        }
        let line = line.trim_start();
        let mark = line.chars().next().filter(|mark| ['`', '~'].contains(mark))?;
        let length = line.chars().take_while(|character| *character == mark).count();
        let info = &line[length..];
        (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(Self { mark, length })
    }

    fn is_ended_by(self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|character| character == self.mark)
    }
}

/// How many columns of blanks a line begins with.
fn indented(line: &str) -> usize {
    let blanks = line.chars().take_while(|character| [' ', '\t'].contains(character));
    blanks.map(|blank| if blank == '\t' { 4 } else { 1 }).sum()
}

/// A line that ends a text without a blank line before it.
fn interrupts(line: &str) -> bool {
    let begins_list = marker(line).is_some_and(|marker| !marker.empty && marker.number.is_none_or(|(one, _)| one == 1));
    begins_list || is_heading(line) || Fence::begun_by(line).is_some() || line.trim_start().starts_with('|')
}

fn is_heading(line: &str) -> bool {
    let marks = line.trim_start().chars().take_while(|character| *character == '#').count();
    let rest = line.trim_start().get(marks..).unwrap_or_default();
    indented(line) <= 3 && (1..=6).contains(&marks) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// The mark of an item at the beginning of a line.
fn marker(line: &str) -> Option<Marker> {
    let blanks = indented(line);
    if blanks > 3 || is_rule(line) {
        return None;
    }
    let text = line.trim_start();
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let (width, number) = match digits {
        0 => (text.starts_with(['-', '*', '+']).then_some(1)?, None),
        1..=9 => {
            let delimiter = text[digits..].chars().next().filter(|mark| ['.', ')'].contains(mark))?;
            (digits + 1, Some((text[..digits].parse().ok()?, delimiter)))
        }
        _ => return None,
    };
    let rest = &text[width..];
    if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
        return None;
    }
    let empty = rest.trim().is_empty();
    // Four blanks and more begin code inside the item, which then begins after the first.
    let gap = if empty { 1 } else { Some(indented(rest)).filter(|gap| *gap <= 4).unwrap_or(1) };
    Some(Marker { indent: blanks + width + gap, number, empty })
}

/// `---`, `* * *` and the like.
fn is_rule(line: &str) -> bool {
    let marks: Vec<char> = line.chars().filter(|character| !character.is_whitespace()).collect();
    marks.len() >= 3 && ['-', '*', '_'].iter().any(|mark| marks.iter().all(|other| other == mark))
}
