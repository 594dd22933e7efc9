//! Output that is bounded while it is produced: the head is kept, the rest is counted.

/// What is kept of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    bytes: Vec<u8>,
    most: usize,
    all: u64,
}

impl Kept {
    /// Nothing yet; at most this many bytes will be kept.
    pub fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), most, all: 0 }
    }

    /// Takes what was written.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = self.most.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.all = self.all.saturating_add(bytes.len() as u64);
    }

    /// What was kept.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.all == 0
    }

    /// The stream under its name, with a line above it that says how long it is: what a command prints
    /// cannot be mistaken for what the shell says of it.
    pub fn section(&self, name: &str) -> String {
        let whole = self.all == self.bytes.len() as u64;
        let text = if whole {
            String::from_utf8_lossy(&self.bytes)
        } else {
            String::from_utf8_lossy(whole_characters(&self.bytes))
        };
        let length = if whole {
            format!("{} bytes", text.len())
        } else {
            format!("the first {} of {} bytes", text.len(), self.all)
        };
        let end = if text.ends_with('\n') { "" } else { "\n" };
        format!("{name} ({length}):\n{text}{end}")
    }
}

/// The bytes without a character that was cut in half at their end.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

/// What the model reads: the exit code, what went wrong, what was printed.
pub fn text(code: i32, stderr: &Kept, stdout: &Kept) -> String {
    let mut text = format!("exit code {code}\n");
    for (name, stream) in [("stderr", stderr), ("stdout", stdout)] {
        if !stream.is_empty() {
            text += &stream.section(name);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(most: usize, bytes: &[u8]) -> Kept {
        let mut kept = Kept::new(most);
        bytes.chunks(3).for_each(|chunk| kept.push(chunk));
        kept
    }

    #[test]
    fn the_head_is_kept_and_the_rest_is_counted() {
        assert_eq!(kept(5, b"abcdefgh").section("stdout"), "stdout (the first 5 of 8 bytes):\nabcde\n");
        assert_eq!(kept(8, b"abcdefg\n").section("stdout"), "stdout (8 bytes):\nabcdefg\n");
    }

    #[test]
    fn a_character_is_not_cut_in_half() {
        assert_eq!(kept(4, "abüüü".as_bytes()).section("x"), "x (the first 4 of 8 bytes):\nabü\n");
        assert_eq!(kept(3, "abüüü".as_bytes()).section("x"), "x (the first 2 of 8 bytes):\nab\n");
    }

    #[test]
    fn streams_are_told_apart_and_those_that_are_empty_left_out() {
        let (none, some) = (Kept::new(9), kept(9, b"a"));
        assert_eq!(text(0, &none, &none), "exit code 0\n");
        assert_eq!(text(3, &some, &none), "exit code 3\nstderr (1 bytes):\na\n");
        assert_eq!(text(0, &some, &some), "exit code 0\nstderr (1 bytes):\na\nstdout (1 bytes):\na\n");
    }
}
