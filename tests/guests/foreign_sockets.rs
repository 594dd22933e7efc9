//! Would speak to others over sockets, as any program does. It knows nothing of Palisade.
#![cfg(target_family = "wasm")]
#![expect(clippy::disallowed_methods, reason = "components of others use the standard library")]
#![expect(unsafe_code, reason = "what is generated for an export")]

use std::net::{TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};

mod bindings {
    wit_bindgen::generate!({
        inline: "
            package guests:sockets;
            interface talk {
                connect: func(address: string) -> result<string, string>;
                listen: func(address: string) -> result<string, string>;
                send: func(address: string) -> result<string, string>;
                look-up: func(name: string) -> result<string, string>;
                idle: func() -> string;
            }
            world sockets { export talk; }
        ",
    });
}

struct Sockets;

impl bindings::exports::guests::sockets::talk::Guest for Sockets {
    fn connect(address: String) -> Result<String, String> {
        TcpStream::connect(address).map(|_| "connected".to_owned()).map_err(|error| error.to_string())
    }

    fn listen(address: String) -> Result<String, String> {
        TcpListener::bind(address).map(|_| "listening".to_owned()).map_err(|error| error.to_string())
    }

    fn send(address: String) -> Result<String, String> {
        let socket = UdpSocket::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        socket.send_to(b"x", address).map(|_| "sent".to_owned()).map_err(|error| error.to_string())
    }

    fn look_up(name: String) -> Result<String, String> {
        let found = (name.as_str(), 80).to_socket_addrs().map_err(|error| error.to_string())?;
        Ok(found.map(|address| address.to_string()).collect::<Vec<_>>().join(" "))
    }

    fn idle() -> String {
        "nothing was asked of anybody".to_owned()
    }
}

bindings::export!(Sockets with_types_in bindings);
