//! What is said about a file: what is wrong, where, and what would help.

use std::fmt;

use serde::Serialize;

/// One thing that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// Whether the file can be used nevertheless.
    pub severity: Severity,
    /// The file, as it is shown to people.
    pub file: String,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The character in the line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The field as it is written, if it is about one: `maxSteps`, `permissions.allow`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What would help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// Whether a file can be used although something is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It cannot.
    Error,
    /// It can.
    Warning,
}

/// A file that cannot be used. It shows as its first error; the notices hold everything that was
/// found, and at least one of them is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// All that was found, in the order of reading.
    pub notices: Vec<Notice>,
}

impl Notice {
    /// A warning about a file as a whole.
    pub fn warning(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, file.into(), message.into())
    }

    /// An error in a file as a whole.
    pub fn error(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, file.into(), message.into())
    }

    /// `file:line:column`, as far as it is known.
    pub fn place(&self) -> String {
        let numbers = self.line.into_iter().chain(self.line.and(self.column));
        numbers.fold(self.file.clone(), |place, number| format!("{place}:{number}"))
    }

    /// `file:line:column: message; fix`, where it is clear that it is a warning.
    pub fn without_severity(&self) -> String {
        let fix = self.fix.as_ref().map(|fix| format!("; {fix}")).unwrap_or_default();
        format!("{}: {}{fix}", self.place(), self.message)
    }

    fn new(severity: Severity, file: String, message: String) -> Self {
        Self { severity, file, line: None, column: None, field: None, message, fix: None }
    }
}

impl Rejected {
    /// The errors alone.
    pub fn errors(&self) -> impl Iterator<Item = &Notice> {
        self.notices.iter().filter(|notice| notice.severity == Severity::Error)
    }

    /// The same notices as warnings, for a file that others can do without.
    pub fn into_warnings(self) -> Vec<Notice> {
        self.notices.into_iter().map(|notice| Notice { severity: Severity::Warning, ..notice }).collect()
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.errors().next() {
            Some(first) => first.fmt(f),
            None => f.write_str("the file cannot be used"),
        }
    }
}

impl std::error::Error for Rejected {}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// `file:line:column: error: message; fix`
impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.place(), self.severity, self.message)?;
        match &self.fix {
            Some(fix) => write!(f, "; {fix}"),
            None => Ok(()),
        }
    }
}
