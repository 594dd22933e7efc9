//! One block of Markdown as lines.

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Parser, Tag, TagEnd};

use super::wrap::Words;
use crate::render::{Line, Style};

/// The least that a paragraph has for itself, however deep it is nested.
const NARROWEST: usize = 20;

/// Renders a block. `number` is that of its first item, if it goes on counting.
pub(super) fn lines(text: &str, number: Option<u64>, width: usize) -> Vec<Line> {
    let parser = Parser::new(text);
    let mut definitions: Vec<_> = parser.reference_definitions().iter().collect();
    definitions.sort_by_key(|(_, definition)| definition.span.start);
    let definitions: Vec<String> = definitions
        .into_iter()
        .map(|(label, definition)| format!("[{label}]: {}", target(&definition.dest, definition.title.as_deref())))
        .collect();
    let mut page = Page { width, number, ..Page::default() };
    for event in parser {
        page.event(event);
    }
    page.end_paragraph();
    // They point somewhere and say nothing, but whoever reads wants to know where.
    page.lines.extend(definitions.iter().map(|definition| Line::new().add(Style::Dim, definition)));
    page.lines
}

fn target(address: &str, title: Option<&str>) -> String {
    match title.filter(|title| !title.is_empty()) {
        Some(title) => format!("{address} \"{title}\""),
        None => address.to_owned(),
    }
}

/// What is put together.
#[derive(Default)]
struct Page {
    width: usize,
    /// The number that the first list begins with, if not its own.
    number: Option<u64>,
    lines: Vec<Line>,
    words: Words,
    styles: Vec<Style>,
    /// What each line begins with: quotes and the indentation of items.
    margins: Vec<Margin>,
    /// The numbers of the lists that are open; none for a list with bullets.
    lists: Vec<Option<u64>>,
    /// Where the links that are open lead.
    links: Vec<Option<String>>,
    /// A line was given in this block, so the next block at this place needs a gap.
    gap: bool,
    code: bool,
}

struct Margin {
    /// What the next line begins with, once.
    first: Option<String>,
    later: String,
}

impl Page {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.code => self.verbatim(&text),
            Event::Text(text) | Event::InlineHtml(text) => self.words.add(self.style(), &text),
            Event::Code(text) => self.words.add(Style::Code, &text),
            Event::Html(text) => self.verbatim(&text),
            Event::SoftBreak => self.words.add(self.style(), " "),
            Event::HardBreak => self.words.end_line(),
            Event::Rule => {
                self.begin();
                let line = self.margin().add(Style::Dim, &"─".repeat(self.room().min(40)));
                self.lines.push(line);
                self.gap = true;
            }
            // Extensions, which are off.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.words.add(self.style(), &text);
            }
            Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.begin(),
            Tag::Heading { .. } => {
                self.begin();
                self.styles.push(Style::Heading);
            }
            Tag::BlockQuote(_) => {
                self.begin();
                self.gap = false;
                self.margins.push(Margin { first: None, later: "│ ".to_owned() });
            }
            Tag::List(start) => {
                // A list inside an item follows its text directly.
                self.end_paragraph();
                let first = self.lists.is_empty().then(|| self.number.take()).flatten();
                self.lists.push(start.map(|start| first.unwrap_or(start)));
                self.gap = self.gap && self.lists.len() == 1;
            }
            Tag::Item => self.item(),
            Tag::CodeBlock(kind) => {
                self.begin();
                self.code = true;
                if let CodeBlockKind::Fenced(info) = kind
                    && !info.is_empty()
                {
                    let line = self.margin().verbatim(Style::Dim, &info);
                    self.lines.push(line);
                }
            }
            Tag::HtmlBlock => self.begin(),
            Tag::Emphasis => self.styles.push(Style::Italic),
            Tag::Strong => self.styles.push(Style::Bold),
            Tag::Link { link_type, dest_url, title, .. } => {
                let plain = matches!(link_type, LinkType::Autolink | LinkType::Email);
                self.links.push((!plain).then(|| target(&dest_url, Some(&title))));
                self.styles.push(Style::Underlined);
            }
            Tag::Image { dest_url, title, .. } => {
                self.words.add(Style::Dim, "image: ");
                self.links.push(Some(target(&dest_url, Some(&title))));
                self.styles.push(Style::Italic);
            }
            // Extensions, which are off.
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.end_paragraph(),
            TagEnd::Heading(_) => {
                self.end_paragraph();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.end_paragraph();
                self.margins.pop();
                self.gap = true;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.gap = true;
            }
            TagEnd::Item => {
                self.end_paragraph();
                // An item without a word still has its mark.
                if self.margins.last().is_some_and(|margin| margin.first.is_some()) {
                    let line = self.margin();
                    self.lines.push(line);
                }
                self.margins.pop();
                self.gap = false;
            }
            TagEnd::CodeBlock => {
                self.code = false;
                self.gap = true;
            }
            TagEnd::HtmlBlock => self.gap = true,
            TagEnd::Emphasis | TagEnd::Strong => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                if let Some(Some(target)) = self.links.pop() {
                    self.words.add(Style::Dim, &format!(" ({target})"));
                }
            }
            // Extensions, which are off.
            _ => {}
        }
    }

    fn item(&mut self) {
        self.end_paragraph();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => "• ".to_owned(),
        };
        let later = " ".repeat(mark.chars().count());
        self.margins.push(Margin { first: Some(mark), later });
    }

    /// A block begins: what was said before it is over, and there may be a gap.
    fn begin(&mut self) {
        self.end_paragraph();
        if std::mem::take(&mut self.gap) {
            let line = self.margin();
            self.lines.push(line);
        }
    }

    fn end_paragraph(&mut self) {
        let words = std::mem::take(&mut self.words);
        if words.is_empty() {
            return;
        }
        for parts in words.wrap(self.room()) {
            let line = parts.iter().fold(self.margin(), |line, (style, text)| line.add(*style, text));
            self.lines.push(line);
        }
        self.gap = true;
    }

    fn verbatim(&mut self, text: &str) {
        for row in text.lines() {
            let line = self.margin().verbatim(Style::Code, row);
            self.lines.push(line);
        }
    }

    fn margin(&mut self) -> Line {
        let mut line = Line::new();
        for margin in &mut self.margins {
            let text = margin.first.take().unwrap_or_else(|| margin.later.clone());
            line = line.add(Style::Dim, &text);
        }
        line
    }

    fn room(&self) -> usize {
        let used: usize = self.margins.iter().map(|margin| margin.later.chars().count()).sum();
        self.width.saturating_sub(used).max(NARROWEST)
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or(Style::Plain)
    }
}
