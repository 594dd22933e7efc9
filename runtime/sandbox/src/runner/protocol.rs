//! What the host and its tool runner say to each other: one message a frame, each with its length before it.
//!
//! Both are the same program, so there is one version and no other is understood. The host believes nothing: a frame
//! that is too long, that cannot be read, or that has anything behind its message ends the process that sent it.

use std::{
    fmt,
    io::{self, Read, Write},
    path::PathBuf,
    time::Duration,
};

use palisade_grants::Denial;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, de::DeserializeOwned};
use wasmtime_wasi_http::RequestOptions;

use crate::{
    Entry, Failure, Limits, Report, Settings, StorageError,
    bindings::process::{Command, Error, Outcome},
    component::Digest,
};

/// Changes whenever a message does.
pub(super) const VERSION: u32 = 3;

/// The largest message of the process: a value to be stored, or what a program is given to read.
pub(super) const MAX_WORD: usize = 24 << 20;
/// The largest message of the host: machine code.
pub(super) const MAX_ORDER: usize = 320 << 20;

/// The most plugins whose folders come along: the kernel passes no more than 253 at once.
pub(super) const MAX_PACKAGES: usize = 128;

/// The first message, which comes with the open workspace if there is one, and with the folders of plugins.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) version: u32,
    /// Stands for the compiler's version and settings.
    pub(super) fingerprint: Digest,
    pub(super) settings: Settings,
    /// Whether the open workspace comes along.
    pub(super) workspace: bool,
    /// Whether it may be changed.
    pub(super) writes: bool,
    /// A folder of the process's own, for scratch folders.
    pub(super) scratch: Option<PathBuf>,
    /// The plugins whose open folders come along, in this order.
    pub(super) packages: Vec<String>,
}

/// What the host says afterwards.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Machine code that the process does not have.
    Code {
        digest: Digest,
        code: Blob,
    },
    /// Opens folders, for a scope. The grant is written as JSON, its own form.
    Open {
        scope: u64,
        files: String,
    },
    /// Adds a tool to a scope.
    Add {
        scope: u64,
        name: String,
        tool: Box<Told>,
    },
    /// A scope is no more.
    Close {
        scope: u64,
    },
    Call {
        call: u64,
        scope: u64,
        tool: String,
        input: String,
        is_watched: bool,
    },
    Cancel {
        call: u64,
    },
    Answer {
        ask: u64,
        answer: Answer,
    },
}

/// What a tool has.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) digest: Digest,
    /// Where in the component it begins.
    pub(super) entry: Entry,
    pub(super) limits: Limits,
    /// Written as JSON, its own form.
    pub(super) files: String,
    /// The most bytes it may keep, if it may keep any.
    pub(super) storage: Option<u64>,
    /// Whether there are programs for it.
    pub(super) process: bool,
    /// Whether there are hosts for it.
    pub(super) http: bool,
    /// The plugin whose folder it sees.
    pub(super) package: Option<String>,
}

/// What the process says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Word {
    /// The walls are up, and it waits for orders. It has the machine code of these components.
    Ready(Vec<Digest>),
    /// It cannot be what it should, and ends.
    Refused(String),
    /// A guest wants something. `depth` says which: 0 is the tool that was called, 1 the one that it calls.
    Ask {
        call: u64,
        depth: u32,
        ask: u64,
        what: Ask,
    },
    Done {
        call: u64,
        report: Report,
    },
}

/// What a guest wants. All but [`Ask::Web`] are one at a time: the guest waits.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Ask {
    /// To call another tool; `depth` is the caller's.
    Enter {
        tool: String,
        input: String,
    },
    /// The called tool is done; `depth` is its own.
    Leave,
    Get {
        key: String,
    },
    Set {
        key: String,
        value: Blob,
    },
    Delete {
        key: String,
    },
    Keys {
        prefix: String,
    },
    Programs,
    Run(Command),
    Progress(String),
    Web(WebAsk),
    /// A command of a shell: a program, or a tool.
    Command(Command),
}

/// What a request needs, piece by piece: whoever asks for the next piece has taken the last.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum WebAsk {
    /// Begins a request, which is called so from now on.
    Begin { request: u64, head: Head },
    /// A piece of its body.
    Write { request: u64, piece: Blob },
    /// The end of its body, whole or not.
    Finish { request: u64, is_whole: bool },
    /// The beginning of the answer.
    Answer { request: u64 },
    /// A piece of the answer's body.
    Read { request: u64 },
    /// Nobody wants the rest.
    Forget { request: u64 },
}

/// A request without its body.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) method: String,
    pub(super) uri: String,
    pub(super) headers: Vec<(String, Blob)>,
    /// How long the body is, where that is known.
    pub(super) length: Option<u64>,
    pub(super) waits: Waits,
}

/// How long each part of a request may take.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Waits {
    connect: Option<Duration>,
    first_byte: Option<Duration>,
    between_bytes: Option<Duration>,
}

/// What the host answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    Done,
    /// Another tool may be called, or why not and what was denied.
    Entered(Result<(), (Failure, Vec<Denial>)>),
    /// What was denied to the tool that is done.
    Left(Vec<Denial>),
    Value(Result<Option<Blob>, StorageError>),
    Kept(Result<(), StorageError>),
    Keys(Result<Vec<String>, StorageError>),
    Programs(Vec<String>),
    Ran(Result<Outcome, Error>, Vec<Denial>),
    /// The command is a tool that is to be called with this.
    Call {
        tool: String,
        input: String,
    },
    Web(Result<WebAnswer, WebError>),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum WebAnswer {
    Done,
    Head {
        status: u16,
        headers: Vec<(String, Blob)>,
    },
    /// A piece of a body; none is its end.
    Piece(Option<Blob>),
}

/// Why there is no answer to a request: what the interface knows and this program says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum WebError {
    RequestBodySize(Option<u64>),
    Dns { rcode: Option<String>, info_code: Option<u16> },
    AddressProhibited,
    Refused,
    Terminated,
    ConnectTimeout,
    ReadTimeout,
    TooMany,
    TlsProtocol,
    TlsCertificate,
    Denied,
    UriInvalid,
    RequestHeaderSize(Option<u32>),
    ResponseIncomplete,
    ResponseHeaderSize(Option<u32>),
    ResponseBodySize(Option<u64>),
    ResponseContentCoding(Option<String>),
    ResponseTimeout,
    UpgradeFailed,
    Protocol,
    Configuration,
    Internal(Option<String>),
}

/// Bytes, written as they are.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Blob(pub(super) Vec<u8>);

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl de::Visitor<'_> for Bytes {
            type Value = Blob;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Blob, E> {
                Ok(Blob(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

impl From<RequestOptions> for Waits {
    fn from(options: RequestOptions) -> Self {
        let RequestOptions { connect_timeout, first_byte_timeout, between_bytes_timeout } = options;
        Self { connect: connect_timeout, first_byte: first_byte_timeout, between_bytes: between_bytes_timeout }
    }
}

impl From<Waits> for RequestOptions {
    fn from(waits: Waits) -> Self {
        let Waits { connect, first_byte, between_bytes } = waits;
        Self { connect_timeout: connect, first_byte_timeout: first_byte, between_bytes_timeout: between_bytes }
    }
}

/// Why a message cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    #[error("{0}")]
    Lost(#[from] io::Error),
    #[error("a message of {0} bytes")]
    TooLarge(usize),
    #[error("a message that cannot be read")]
    Malformed,
}

/// A message as it goes over the socket.
pub(super) fn frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = postcard::to_extend(message, vec![0; 4]).map_err(io::Error::other)?;
    let length = u32::try_from(frame.len() - 4).map_err(io::Error::other)?.to_le_bytes();
    for (place, byte) in frame.iter_mut().zip(length) {
        *place = byte;
    }
    Ok(frame)
}

pub(super) fn write(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    stream.write_all(&frame(message)?)
}

/// Reads a message; none at the end.
pub(super) fn read<T: DeserializeOwned>(stream: &mut impl Read, most: usize) -> Result<Option<T>, FrameError> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    read_body(stream, length, most).map(Some)
}

/// Reads the message behind a length. What was announced takes no memory before it is there.
pub(super) fn read_body<T: DeserializeOwned>(
    stream: &mut impl Read,
    length: [u8; 4],
    most: usize,
) -> Result<T, FrameError> {
    let length = u32::from_le_bytes(length) as usize;
    if length > most {
        return Err(FrameError::TooLarge(length));
    }
    let mut body = Vec::with_capacity(length.min(64 << 10));
    if stream.take(length as u64).read_to_end(&mut body)? < length {
        return Err(FrameError::Lost(io::ErrorKind::UnexpectedEof.into()));
    }
    match postcard::take_from_bytes(&body) {
        Ok((message, [])) => Ok(message),
        _ => Err(FrameError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(bytes: &[u8]) -> Result<Option<Word>, FrameError> {
        read(&mut &*bytes, MAX_WORD)
    }

    #[test]
    fn a_message_is_the_same_after_it_was_written_and_read() {
        let ask =
            Word::Ask { call: 7, depth: 1, ask: 9, what: Ask::Set { key: "k".to_owned(), value: Blob(vec![0, 255]) } };
        let written = frame(&ask).unwrap();
        assert_eq!(format!("{:?}", word(&written).unwrap().unwrap()), format!("{ask:?}"));
        assert!(word(&[]).unwrap().is_none());
    }

    #[test]
    fn what_is_too_long_cut_off_or_followed_by_more_is_refused() {
        assert!(matches!(word(&u32::MAX.to_le_bytes()), Err(FrameError::TooLarge(_))));
        assert!(matches!(word(&[9, 0, 0, 0, 1]), Err(FrameError::Lost(_))));
        assert!(matches!(word(&[0, 0, 0, 0]), Err(FrameError::Malformed)));
        assert!(matches!(word(&[1, 0, 0, 0, 200]), Err(FrameError::Malformed)));
        // That it is ready, and something behind it in the same frame.
        assert!(matches!(word(&[3, 0, 0, 0, 0, 0, 0]), Err(FrameError::Malformed)));
        // A text that says it is longer than everything.
        assert!(matches!(word(&[6, 0, 0, 0, 1, 255, 255, 255, 255, 15]), Err(FrameError::Malformed)));
        assert!(matches!(word(&[2, 0, 0, 0, 0, 0]), Ok(Some(Word::Ready(_)))));
    }
}
