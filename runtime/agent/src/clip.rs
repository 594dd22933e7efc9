//! Cutting a text down to a size, so that the reader sees that and how much was cut.

/// How far the cut may move to fall between two lines.
const LINE_SLACK: usize = 512;

/// Keeps the head and the tail of a text that is longer than `limit` bytes and says between them how
/// many bytes were omitted. The kept parts together are at most `limit` bytes. Cuts fall between lines
/// where one ends nearby, and never inside a character.
pub fn clip(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    // The head says what a text is, the tail how it ended; the head is worth more.
    let head = head_end(text, limit - limit / 4);
    let tail = tail_start(text, text.len() - limit / 4).max(head);
    let omitted = tail - head;
    let break_before = if text[..head].is_empty() || text[..head].ends_with('\n') { "" } else { "\n" };
    format!("{}{break_before}… {omitted} bytes omitted …\n{}", &text[..head], &text[tail..])
}

fn head_end(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    match text[..at].rfind('\n') {
        Some(newline) if at - newline <= LINE_SLACK => newline + 1,
        _ => at,
    }
}

fn tail_start(text: &str, at: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    match text[at..].find('\n') {
        Some(newline) if newline < LINE_SLACK => at + newline + 1,
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_fits_is_left_alone() {
        assert_eq!(clip("short", 5), "short");
        assert_eq!(clip("", 0), "");
    }

    #[test]
    fn the_middle_is_cut_between_lines_and_counted() {
        let text: String = (0..100).map(|line| format!("line {line:02}\n")).collect();
        let clipped = clip(&text, 40);
        assert_eq!(clipped, "line 00\nline 01\nline 02\n… 768 bytes omitted …\nline 99\n");
    }

    #[test]
    fn characters_stay_whole_at_every_limit() {
        let text = "äöü€𝄞".repeat(10);
        for limit in 0..text.len() {
            let clipped = clip(&text, limit);
            let (head, rest) = clipped.split_once("… ").unwrap();
            let (omitted, tail) = rest.split_once(" bytes omitted …\n").unwrap();
            let kept = head.trim_end().len() + tail.len();
            assert!(kept <= limit && kept + omitted.parse::<usize>().unwrap() == text.len(), "{limit}: {clipped}");
        }
    }
}
