//! Attempts to speak with somebody.
#![expect(clippy::disallowed_methods, reason = "a program that tries everything")]

use std::{
    io,
    io::Write as _,
    net::{TcpListener, TcpStream, UdpSocket},
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixDatagram, UnixStream},
    },
};

use crate::{Came, Told, kernel};

pub(crate) fn attempt(name: &str, told: &Told) -> Option<Came> {
    Some(match name {
        "connect" => told.number("tcp").and_then(|port| {
            TcpStream::connect(("127.0.0.1", port as u16))?.write_all(b"told")?;
            Ok("told".to_owned())
        }),
        "listen" => TcpListener::bind("127.0.0.1:0").map(|_| "listens".to_owned()),
        "listen-everywhere" => TcpListener::bind("[::]:0").map(|_| "listens".to_owned()),
        "send" => told.number("udp").and_then(|port| {
            UdpSocket::bind("127.0.0.1:0")?.send_to(b"told", ("127.0.0.1", port as u16))?;
            Ok("told".to_owned())
        }),
        "connect-named" => told.text("socket").and_then(|path| {
            UnixStream::connect(path)?.write_all(b"told")?;
            Ok("told".to_owned())
        }),
        "connect-abstract" => told.text("abstract").and_then(|name| {
            UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?.write_all(b"told")?;
            Ok("told".to_owned())
        }),
        "listen-abstract" => SocketAddr::from_abstract_name(format!("trespass-{}", std::process::id()))
            .and_then(|name| std::os::unix::net::UnixListener::bind_addr(&name))
            .map(|_| "listens".to_owned()),
        "send-named" => told.text("datagrams").and_then(|path| {
            UnixDatagram::unbound()?.send_to(b"told", path)?;
            Ok("told".to_owned())
        }),
        "send-named-from-a-pair" => told.text("datagrams").and_then(|path| {
            let (one, _other) = UnixDatagram::pair()?;
            one.send_to(b"told", path)?;
            Ok("told".to_owned())
        }),
        "netlink" => socket(libc::AF_NETLINK, libc::SOCK_RAW, 0),
        "packet" => socket(libc::AF_PACKET, libc::SOCK_RAW, 0),
        "raw" => socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP),
        "machine-socket" => socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0),
        "crypto-socket" => socket(libc::AF_ALG, libc::SOCK_SEQPACKET, 0),
        "stream-pair" => UnixStream::pair().map(|_| "a pair".to_owned()),
        _ => return None,
    })
}

#[expect(unsafe_code, reason = "a socket of a family that the standard library does not know")]
fn socket(family: i32, kind: i32, protocol: i32) -> Came {
    // SAFETY: it takes numbers.
    kernel(unsafe { libc::socket(family, kind, protocol) }).map(|_| "open".to_owned()).map_err(|error| {
        match error.raw_os_error() {
            // The kernel has no such family: nothing can be learned of walls here.
            Some(libc::EAFNOSUPPORT) => io::Error::new(io::ErrorKind::Unsupported, "no such family"),
            _ => error,
        }
    })
}
