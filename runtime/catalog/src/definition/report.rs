//! What is found while one file is read.

use std::cell::{Cell, RefCell};

use super::{
    Notice, Rejected, Severity,
    document::Document,
    node::Id,
    text::{NotText, place, visible},
};

/// The notices about one file, in the making. Readers report and go on, so that everything that is
/// wrong comes out at once.
pub(super) struct Report<'a> {
    file: &'a str,
    /// The whole file; places are counted in it.
    text: &'a [u8],
    document: Option<Document<'a>>,
    notices: RefCell<Vec<Notice>>,
    /// All errors, also those that are left out.
    errors: Cell<usize>,
    left_out: Cell<usize>,
    /// How many bytes may still be read to find places.
    search: Cell<usize>,
}

/// Where something is.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    /// Nowhere in particular.
    File,
    /// At a byte of the file.
    Byte(usize),
    /// At a node or a key.
    Node(Id),
}

/// Beyond this nobody reads on, and each place costs a reading of the file.
const MAX_NOTICES: usize = 50;

/// All places in any file that people write; a few in one of the largest size.
const MAX_SEARCH: usize = 16 * super::MAX_FILE;

impl<'a> Report<'a> {
    pub(super) fn new(file: &'a str, text: &'a [u8]) -> Self {
        Self {
            file,
            text,
            document: None,
            notices: RefCell::default(),
            errors: Cell::new(0),
            left_out: Cell::new(0),
            search: Cell::new(MAX_SEARCH),
        }
    }

    /// The same, with a document whose nodes can be pointed at.
    pub(super) fn about(self, document: Document<'a>) -> Self {
        Self { document: Some(document), ..self }
    }

    pub(super) fn document(&self) -> Option<Document<'a>> {
        self.document
    }

    /// Takes a notice that concerns the whole file or a place in it.
    pub(super) fn add(&self, severity: Severity, at: At, field: Option<&str>, message: String, fix: Option<String>) {
        let is_first_error = severity == Severity::Error && self.errors.get() == 0;
        if severity == Severity::Error {
            self.errors.set(self.errors.get() + 1);
        }
        let mut notices = self.notices.borrow_mut();
        let is_full = notices.len() >= MAX_NOTICES;
        if is_full && !is_first_error {
            self.left_out.set(self.left_out.get() + 1);
            return;
        }
        let place = if is_full { None } else { self.place(at) };
        notices.push(Notice {
            severity,
            file: self.file.to_owned(),
            line: place.map(|(line, _)| line),
            column: place.map(|(_, column)| column),
            // Parts of these are copied from the file, also by errors that are not ours.
            field: field.map(|field| visible(field, 100)),
            message: visible(&message, 500),
            fix: fix.map(|fix| visible(&fix, 500)),
        });
    }

    /// How many errors there are so far.
    pub(super) fn errors(&self) -> usize {
        self.errors.get()
    }

    /// Makes warnings of the errors since there were `errors` of them: what they concern is left out,
    /// the rest of the file is not.
    pub(super) fn forgive(&self, errors: usize) {
        let mut notices = self.notices.borrow_mut();
        let later = notices.iter_mut().filter(|notice| notice.severity == Severity::Error).skip(errors);
        later.for_each(|notice| notice.severity = Severity::Warning);
        let more = notices.len().saturating_sub(MAX_NOTICES);
        if errors == 0 && more > 0 {
            notices.truncate(MAX_NOTICES);
            self.left_out.set(self.left_out.get() + more);
        }
        self.errors.set(errors);
    }

    /// Takes out the warnings that came since there were `count` notices.
    pub(super) fn take_warnings(&self, count: usize) -> Vec<Notice> {
        let mut notices = self.notices.borrow_mut();
        let count = count.min(notices.len());
        let later = notices.split_off(count);
        let (warnings, errors) = later.into_iter().partition(|notice| notice.severity == Severity::Warning);
        notices.extend::<Vec<Notice>>(errors);
        warnings
    }

    /// Puts a notice back.
    pub(super) fn push(&self, notice: Notice) {
        self.notices.borrow_mut().push(notice);
    }

    /// How many notices there are so far.
    pub(super) fn len(&self) -> usize {
        self.notices.borrow().len()
    }

    /// The warnings, or everything if there is an error.
    pub(super) fn finish(self) -> Result<Vec<Notice>, Rejected> {
        let is_rejected = self.errors() > 0;
        let mut notices = self.notices.into_inner();
        notices.sort_by_key(|notice| (notice.line, notice.column));
        if self.left_out.get() > 0 {
            notices.push(Notice::warning(self.file, format!("{} more notices are not shown", self.left_out.get())));
        }
        if is_rejected { Err(Rejected { notices }) } else { Ok(notices) }
    }

    /// Rejects the file for one reason, with whatever was found before.
    pub(super) fn reject(self, at: At, message: String, fix: Option<String>) -> Rejected {
        self.add(Severity::Error, at, None, message.clone(), fix);
        match self.finish() {
            Err(rejected) => rejected,
            Ok(notices) => Rejected { notices },
        }
    }

    /// Rejects bytes that are no text.
    pub(super) fn reject_bytes(self, error: &NotText) -> Rejected {
        let at = error.offset().map_or(At::File, At::Byte);
        self.reject(at, error.to_string(), Some(error.fix().to_owned()))
    }

    fn place(&self, at: At) -> Option<(usize, usize)> {
        let offset = match at {
            At::File => None,
            At::Byte(offset) => Some(offset),
            At::Node(id) => self.search.get().checked_sub(self.text.len()).and_then(|left| {
                self.search.set(left);
                self.document.and_then(|document| document.offset(id))
            }),
        };
        offset.map(|offset| place(self.text, offset))
    }
}
