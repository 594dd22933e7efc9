//! Where keys come from: a variable, a program that prints it, or the kernel's keyring. A key is held in
//! a type that does not print, and no message here repeats it.

use std::{
    io::Read as _,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use linux_keyutils::{KeyError as KeyringError, KeyRing, KeyRingIdentifier};
use palisade_model::KeySource;
use secrecy::SecretString;
use thiserror::Error;

use crate::settings;

/// How long a program may take to print a key; somebody may have to type a passphrase first.
const COMMAND_TIME: Duration = Duration::from_secs(60);

/// No key is longer.
pub(crate) const LONGEST: usize = 16 * 1024;

/// Why there is no key.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum KeyError {
    #[error("the variable {0} is not set")]
    Unset(String),
    #[error("the program `{program}` gives no key: {why}")]
    Command { program: String, why: String },
    #[error("the key `{description}` cannot be read from the kernel's keyring: {why}")]
    Keyring { description: String, why: String },
    #[error("what {0} gives is no key: it is empty, too long, or has characters that no key has")]
    Unusable(String),
}

/// Reads a key.
pub(crate) fn fetch(source: &KeySource) -> Result<SecretString, KeyError> {
    let bytes = match source {
        KeySource::Variable(name) => {
            settings::secret(name).ok_or_else(|| KeyError::Unset(name.clone())).map(String::into_bytes)?
        }
        KeySource::Command(words) => printed_by(words, COMMAND_TIME)?,
        KeySource::Keyring(description) => of_keyring(description)
            .map_err(|error| KeyError::Keyring { description: description.clone(), why: in_words(error).to_owned() })?,
    };
    of_bytes(&bytes).ok_or_else(|| KeyError::Unusable(source.describe()))
}

/// A key, if it can be one: without the white space around it, and of characters that a header takes.
pub(crate) fn of_bytes(bytes: &[u8]) -> Option<SecretString> {
    let key = std::str::from_utf8(bytes).unwrap_or_default().trim();
    let is_key = !key.is_empty() && key.len() <= LONGEST && key.bytes().all(|byte| (b'!'..=b'~').contains(&byte));
    is_key.then(|| SecretString::from(key))
}

/// Whether a key is there, as far as that can be known without starting a program.
pub(crate) fn is_present(source: &KeySource) -> Option<bool> {
    match source {
        KeySource::Variable(_) | KeySource::Keyring(_) => Some(fetch(source).is_ok()),
        KeySource::Command(_) => None,
    }
}

/// Starts a program without a shell and takes the first line it prints. Its standard error is the
/// terminal's, because it may have a question.
#[expect(clippy::disallowed_methods, reason = "the one program that the operator or the user named for this")]
fn printed_by(words: &[String], time: Duration) -> Result<Vec<u8>, KeyError> {
    let (program, arguments) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let fail = |why: String| KeyError::Command { program: program.to_owned(), why };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| fail(error.to_string()))?;
    let Some(stdout) = child.stdout.take() else { return Err(fail("it has no output".to_owned())) };
    let (sender, receiver) = mpsc::channel();
    // Left behind if something holds the pipe open for ever; it ends with the program.
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.take(LONGEST as u64 + 1).read_to_end(&mut bytes);
        drop(sender.send(read.map(|_| bytes)));
    });
    let read = receiver.recv_timeout(time);
    if read.is_err() || matches!(&read, Ok(Ok(bytes)) if bytes.len() > LONGEST) {
        // It is gone already, or it goes now.
        drop(child.kill());
    }
    let status = child.wait().map_err(|error| fail(error.to_string()))?;
    let bytes = match read {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) => return Err(fail(error.to_string())),
        Err(_) => return Err(fail(format!("it took longer than {} seconds", time.as_secs()))),
    };
    if bytes.len() <= LONGEST && !status.success() {
        return Err(fail(format!("it ended with {status}")));
    }
    // Password stores keep notes below the first line.
    Ok(bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().to_vec())
}

/// A key of the type `user`, from the session's keyring, to which the user's is usually linked, or from
/// the user's.
fn of_keyring(description: &str) -> Result<Vec<u8>, KeyringError> {
    let search = |keyring| KeyRing::from_special_id(keyring, false)?.search(description);
    search(KeyRingIdentifier::Session).or_else(|_| search(KeyRingIdentifier::User))?.read_to_vec()
}

fn in_words(error: KeyringError) -> &'static str {
    match error {
        KeyringError::KeyDoesNotExist | KeyringError::KeyringDoesNotExist => {
            "it is not there; add it with `keyctl padd user DESCRIPTION @u`"
        }
        KeyringError::KeyExpired => "it has expired",
        KeyringError::KeyRevoked => "it was revoked",
        KeyringError::AccessDenied | KeyringError::PermissionDenied => "this process may not read it",
        KeyringError::OperationNotSupported => "this kernel has no keyring",
        _ => "the kernel refuses",
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn command(words: &[&str]) -> KeySource {
        KeySource::Command(words.iter().map(|word| (*word).to_owned()).collect())
    }

    #[test]
    fn a_program_prints_the_key_without_a_shell() {
        let key = fetch(&command(&["printf", "sk-%s\\nnotes below\\n", "$HOME;x"])).unwrap();
        assert_eq!(key.expose_secret(), "sk-$HOME;x");
        assert!(!format!("{key:?}").contains("sk-"));
    }

    #[test]
    fn a_program_that_prints_no_key_is_told_apart() {
        let error = |words: &[&str]| fetch(&command(words)).unwrap_err().to_string();
        assert!(error(&["false"]).starts_with("the program `false` gives no key: it ended with exit status: 1"));
        assert!(error(&["/no/such/program"]).contains("No such file"));
        assert!(error(&["true"]).starts_with("what the command true gives is no key"));
        // Endless output is not read to its end.
        assert!(error(&["yes", &"sk-secret".repeat(4000)]).starts_with("what the command yes gives is no key"));
        let words = ["sleep".to_owned(), "600".to_owned()];
        let error = printed_by(&words, Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.to_string(), "the program `sleep` gives no key: it took longer than 0 seconds");
    }

    /// SEC-03
    #[test]
    fn no_message_repeats_what_a_program_printed() {
        for words in [&["printf", "sk-secret key"][..], &["sh", "-c", "echo sk-secret; exit 3"]] {
            let error = fetch(&command(words)).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("sk-secret"), "{error}");
        }
    }

    #[test]
    fn a_key_that_is_not_in_the_keyring_is_an_error_with_a_reason() {
        let error = fetch(&KeySource::Keyring("palisade:no-such-key".to_owned())).unwrap_err();
        assert!(error.to_string().starts_with("the key `palisade:no-such-key` cannot be read"), "{error}");
        assert_eq!(is_present(&KeySource::Keyring("palisade:no-such-key".to_owned())), Some(false));
    }

    #[test]
    fn a_key_of_the_keyring_is_read() {
        let Ok(session) = KeyRing::from_special_id(KeyRingIdentifier::Session, true) else {
            eprintln!("NOT TESTED: this kernel has no keyring for us");
            return;
        };
        let added = session.add_key("palisade:test-of-keys", "sk-from-the-keyring").unwrap();
        let key = fetch(&KeySource::Keyring("palisade:test-of-keys".to_owned()));
        added.invalidate().unwrap();
        assert_eq!(key.unwrap().expose_secret(), "sk-from-the-keyring");
    }
}
