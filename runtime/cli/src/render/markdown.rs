//! Markdown as a person reads it on a terminal: modest styles, wrapped words, code as it is. What
//! comes in piece by piece is given line by line, each line once.

mod block;
mod blocks;
#[cfg(test)]
mod tests;
mod wrap;

use crate::render::{Line, Style};
use blocks::{Block, Blocks, Content};

/// A text that is shown while it comes in.
#[derive(Debug, Default)]
pub(crate) struct Markdown {
    blocks: Blocks,
}

impl Markdown {
    /// Takes more text and gives the lines that will not change any more.
    pub(crate) fn push(&mut self, text: &str, width: usize) -> Vec<Line> {
        lines(self.blocks.push(text), width)
    }

    /// The text is over: gives the rest, and is ready for another.
    pub(crate) fn finish(&mut self, width: usize) -> Vec<Line> {
        lines(self.blocks.finish(), width)
    }

    /// The end of the text that may still change.
    pub(crate) fn tail(&self) -> Tail {
        Tail(self.blocks.tail())
    }

    /// A text that is there already.
    pub(crate) fn whole(text: &str, width: usize) -> Vec<Line> {
        let mut markdown = Self::default();
        let mut lines = markdown.push(text, width);
        lines.extend(markdown.finish(width));
        lines
    }
}

/// What may still change of a text that is coming in.
#[derive(Debug, Default)]
pub(crate) struct Tail(Option<Content>);

impl Tail {
    /// How it looks now.
    pub(crate) fn lines(&self, width: usize) -> Vec<Line> {
        match &self.0 {
            None => Vec::new(),
            Some(Content::Markdown { text, number }) => block::lines(text, *number, width),
            Some(Content::Fence(text) | Content::Code(text) | Content::Row(text)) => {
                vec![Line::new().verbatim(Style::Code, text)]
            }
        }
    }
}

fn lines(blocks: Vec<Block>, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for block in blocks {
        if block.gap {
            lines.push(Line::new());
        }
        match block.content {
            Content::Markdown { text, number } => lines.extend(block::lines(&text, number, width)),
            Content::Fence(text) => lines.push(Line::new().verbatim(Style::Dim, &text)),
            Content::Code(text) => lines.push(Line::new().verbatim(Style::Code, &text)),
            Content::Row(text) => lines.push(Line::new().verbatim(Style::Plain, &text)),
        }
    }
    lines
}
