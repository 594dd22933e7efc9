//! A process that should run guests and does something else: what, is its own name. Messages are written by hand, as
//! somebody would who has taken the real one over.

use std::{
    io::{self, Read as _, Write as _},
    os::{fd::AsFd as _, unix::net::UnixStream},
    process::ExitCode,
    thread,
    time::Duration,
};

/// It is ready, and has no machine code.
const READY: &[u8] = &[0, 0];
/// `Done` of the first call, with the text `ok`, in no time.
const DONE: &[u8] = &[3, 1, 0, 2, b'o', b'k', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// The order to call a tool.
const CALL: u8 = 4;

fn main() -> ExitCode {
    match play() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn play() -> io::Result<()> {
    let part = std::env::args().next().unwrap_or_default();
    let part = part.rsplit('/').next().unwrap_or_default();
    let mut socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    match part {
        "leaves-at-once" => return Ok(()),
        "begins-with-noise" => return socket.write_all(&[0x5a; 4096]),
        "begins-with-an-end" => return say(&mut socket, DONE),
        _ => {}
    }
    let _hello = hear(&mut socket)?;
    if part == "refuses" {
        return say(&mut socket, &[&[1, 7][..], b"I won't"].concat());
    }
    say(&mut socket, READY)?;
    while hear(&mut socket)?.first() != Some(&CALL) {}
    match part {
        "works" => say(&mut socket, DONE)?,
        "sends-a-length-without-end" => socket.write_all(&u32::MAX.to_le_bytes())?,
        "sends-noise" => say(&mut socket, &[0xff; 64])?,
        "sends-more-than-a-message" => say(&mut socket, &[DONE, &[0]].concat())?,
        "is-cut-off" => socket.write_all(&[100, 0, 0, 0, 3, 1])?,
        "begins-twice" => say(&mut socket, READY)?,
        "ends-the-call-of-another" => say(&mut socket, &[&[3, 77][..], DONE.get(2..).unwrap_or_default()].concat())?,
        "ends-a-call-twice" => {
            say(&mut socket, DONE)?;
            say(&mut socket, DONE)?;
        }
        "asks-for-another-call" => say(&mut socket, &[2, 77, 0, 1, 6])?,
        "asks-as-a-deeper-tool" => say(&mut socket, &[2, 1, 3, 1, 6])?,
        "calls-a-tool-that-is-not-its-own" => {
            say(&mut socket, &[&[2, 1, 0, 1, 0, 5][..], b"write", &[2], b"{}"].concat())?;
        }
        "leaves-a-tool-that-it-did-not-call" => say(&mut socket, &[2, 1, 0, 1, 1])?,
        "asks-without-waiting" => {
            for _ in 0..100 {
                say(&mut socket, &[2, 1, 0, 1, 6])?;
            }
        }
        "sends-a-long-result" => {
            let text = vec![b'x'; 5000];
            say(&mut socket, &[&[3, 1, 0, 0x88, 0x27][..], &text, DONE.get(6..).unwrap_or_default()].concat())?;
        }
        // What it is not granted is answered, and it is none the wiser.
        "asks-for-what-is-not-granted" => {
            // Storage, programs, a program, a request.
            say(&mut socket, &[&[2, 1, 0, 1, 2, 1][..], b"k"].concat())?;
            let no_space = hear(&mut socket)?;
            say(&mut socket, &[2, 1, 0, 2, 6])?;
            let no_names = hear(&mut socket)?;
            say(&mut socket, &[&[2, 1, 0, 3, 7, 2][..], b"id", &[0, 0, 0]].concat())?;
            let no_program = hear(&mut socket)?;
            say(
                &mut socket,
                &[&[2, 1, 0, 4, 9, 0, 1, 3][..], b"GET", &[20], b"https://example.com/", &[0, 0, 0, 0, 0]].concat(),
            )?;
            let no_request = hear(&mut socket)?;
            let told = [no_space, no_names, no_program, no_request].concat();
            let is_refused = String::from_utf8_lossy(&told).contains("no program is granted") && told.len() < 200;
            say(&mut socket, if is_refused { DONE } else { READY })?;
        }
        "aborts" => std::process::abort(),
        // Whatever else it is called, it says nothing and stays.
        _ => thread::sleep(Duration::from_secs(600)),
    }
    // Until the host has had enough.
    while hear(&mut socket).is_ok() {}
    thread::sleep(Duration::from_secs(600));
    Ok(())
}

fn say(socket: &mut UnixStream, message: &[u8]) -> io::Result<()> {
    let length = u32::try_from(message.len()).map_err(io::Error::other)?.to_le_bytes();
    socket.write_all(&[&length, message].concat())
}

fn hear(socket: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    socket.read_exact(&mut length)?;
    let mut message = vec![0; u32::from_le_bytes(length) as usize];
    socket.read_exact(&mut message)?;
    Ok(message)
}
