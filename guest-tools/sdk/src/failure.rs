//! Why a call gave no output; the model reads it.

use crate::files::FileError;

/// Why a call gave no output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The input does not fit the schema or makes no sense; the model can correct it.
    InvalidInput(String),
    /// Something the call needed was not granted.
    Denied(String),
    /// The call was tried and did not work.
    Failed(String),
}

impl Failure {
    /// The text the model reads.
    pub fn text(&self) -> &str {
        match self {
            Self::InvalidInput(text) | Self::Denied(text) | Self::Failed(text) => text,
        }
    }

    /// Describes a file error for the path it happened on.
    pub fn on_path(path: &str, error: FileError) -> Self {
        match error {
            FileError::Denied(reason) => Self::Denied(format!("{path}: {reason}")),
            FileError::NotFound => Self::Failed(format!(
                "{path} does not exist; look for it with glob or ls (paths are relative to the workspace)"
            )),
            FileError::NotADirectory => Self::Failed(format!("{path} is not a directory")),
            FileError::IsADirectory => Self::Failed(format!("{path} is a directory; list it with ls")),
            FileError::NotAFile => Self::Failed(format!("{path} is a device, socket or pipe and cannot be read")),
            FileError::Failed(reason) => Self::Failed(format!("{path}: {reason}")),
        }
    }

    /// Describes an error of `std::fs`, which on WebAssembly goes through the preopens.
    pub fn on_io(path: &str, error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                Self::Denied(format!("{path}: not permitted; this agent may not write there"))
            }
            std::io::ErrorKind::NotFound => Self::on_path(path, FileError::NotFound),
            _ => Self::Failed(format!("{path}: {error}")),
        }
    }
}

/// Whatever goes wrong is a failed call; say more with [`Failure::Failed`] where that helps the model.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Failed(error.to_string())
    }
}
