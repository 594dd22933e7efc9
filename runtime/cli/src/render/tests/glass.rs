//! What a terminal shows after some bytes: enough of one to see whether lines were left behind.

/// The rows of a terminal, with all that was scrolled away.
pub(crate) struct Glass {
    width: usize,
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

impl Glass {
    /// The rows after these bytes, without blanks at their ends.
    pub(crate) fn after(bytes: &[u8], width: usize) -> Vec<String> {
        let mut glass = Self { width, rows: vec![Vec::new()], row: 0, column: 0 };
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                '\r' => glass.column = 0,
                '\n' => glass.next_row(),
                '\x07' => {}
                '\x08' => glass.column = glass.column.saturating_sub(1),
                '\x1b' => glass.escape(&mut characters),
                character => glass.put(character),
            }
        }
        let mut rows: Vec<String> =
            glass.rows.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned()).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    fn next_row(&mut self) {
        self.row += 1;
        self.column = 0;
        if self.row == self.rows.len() {
            self.rows.push(Vec::new());
        }
    }

    fn put(&mut self, character: char) {
        if self.column >= self.width {
            self.next_row();
        }
        let row = &mut self.rows[self.row];
        if row.len() <= self.column {
            row.resize(self.column + 1, ' ');
        }
        row[self.column] = character;
        self.column += 1;
    }

    /// `ESC [ number letter`; others change nothing that can be read.
    fn escape(&mut self, characters: &mut std::str::Chars<'_>) {
        if characters.next() != Some('[') {
            return;
        }
        let mut number = String::new();
        let letter = loop {
            match characters.next() {
                Some(character) if character.is_ascii_alphabetic() => break character,
                Some(character) => number.push(character),
                None => return,
            }
        };
        let count: usize = number.parse().unwrap_or(1);
        match letter {
            'A' => self.row = self.row.saturating_sub(count),
            'B' => self.row = (self.row + count).min(self.rows.len() - 1),
            'C' => self.column += count,
            'D' => self.column = self.column.saturating_sub(count),
            'J' => {
                self.rows.truncate(self.row + 1);
                self.rows[self.row].truncate(self.column);
            }
            'K' => self.rows[self.row].truncate(self.column),
            _ => {}
        }
    }
}
