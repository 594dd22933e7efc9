//! A network of a test's own. Names lead where the test says, every lookup and every connection is written down, and
//! whatever address is dialled, nothing but a server of the test on loopback is reached.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test listens on loopback, and ends when something is not as it should be"
)]

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use async_trait::async_trait;
use palisade_grants::PermittedAddress;
use palisade_sandbox::{Connection, Connector, Network, Resolver};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};

/// A network of a test's own. Cheap to clone.
#[derive(Clone, Default)]
pub struct Web(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The answers for each name, the next first; the last one stays.
    names: BTreeMap<String, Vec<Vec<IpAddr>>>,
    /// Where what is dialled really leads; anywhere, if it is not here but there is a place for the rest.
    places: BTreeMap<SocketAddr, SocketAddr>,
    looked_up: Vec<String>,
    dialled: Vec<SocketAddr>,
}

/// Which certificate a server shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// The right one: for `api.example.test`, `*.example.test`, `other.test` and `elsewhere.test`.
    Right,
    /// For another name.
    WrongName,
    /// Expired.
    Expired,
    /// Signed by nobody but itself.
    SelfSigned,
    /// None: it speaks without encryption.
    None,
}

/// What a server was asked.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The request line and the headers.
    pub head: String,
    /// What followed them, as far as it was read.
    pub body: Vec<u8>,
}

/// The authority that signed the right certificate.
pub const AUTHORITY: &[u8] = include_bytes!("../certificates/authority.pem");

/// The address that names lead to unless a test says otherwise: one of the public internet.
pub const PUBLIC: &str = "93.184.216.34";

impl Web {
    /// A network where every name leads to [`PUBLIC`] and nobody answers.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is said about a name when it is looked up, one after the other; the last answer stays.
    pub fn name(&self, host: &str, answers: &[&[&str]]) -> &Self {
        let address = |text: &&str| text.parse().expect("an address");
        let answers = answers.iter().map(|answer| answer.iter().map(address).collect()).collect();
        self.state().names.insert(host.to_owned(), answers);
        self
    }

    /// Puts a server at an address such as `93.184.216.34:443`. It answers one request on each connection, once it has
    /// read all of it.
    pub fn serve(
        &self,
        at: &str,
        certificate: Certificate,
        answer: impl Fn(&Asked, &mut dyn Write) -> io::Result<()> + Send + Sync + 'static,
    ) -> &Self {
        self.lead(at, listen(certificate, answer))
    }

    /// The same, but it answers as soon as it has read the headers, and closes.
    pub fn serve_early(
        &self,
        at: &str,
        certificate: Certificate,
        answer: impl Fn(&Asked, &mut dyn Write) -> io::Result<()> + Send + Sync + 'static,
    ) -> &Self {
        self.lead(at, start(certificate, Reads::Head, answer))
    }

    fn lead(&self, at: &str, place: SocketAddr) -> &Self {
        self.state().places.insert(at.parse().expect("an address with a port"), place);
        self
    }

    /// A server that answers with a text.
    pub fn say(&self, at: &str, body: &'static str) -> &Self {
        self.serve(at, Certificate::Right, move |_, out| plain(out, body))
    }

    /// What guests reach it through.
    pub fn network(&self) -> Network {
        let network = Network::new(Arc::new(self.clone()), Arc::new(self.clone()));
        network.trusting(AUTHORITY).expect("an authority")
    }

    /// The names that were looked up.
    pub fn looked_up(&self) -> Vec<String> {
        self.state().looked_up.clone()
    }

    /// The addresses that were dialled.
    pub fn dialled(&self) -> Vec<String> {
        self.state().dialled.iter().map(ToString::to_string).collect()
    }

    /// Asserts that nothing was dialled.
    pub fn nothing_dialled(&self) {
        assert_eq!(self.dialled(), Vec::<String>::new(), "something was dialled");
    }

    /// Forgets what was looked up and dialled.
    pub fn forget(&self) {
        let mut state = self.state();
        state.looked_up.clear();
        state.dialled.clear();
    }
}

#[async_trait]
impl Resolver for Web {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let mut state = self.state();
        state.looked_up.push(host.to_owned());
        Ok(match state.names.get_mut(host) {
            Some(answers) if answers.len() > 1 => answers.remove(0),
            Some(answers) => answers.first().cloned().unwrap_or_default(),
            None => vec![PUBLIC.parse().map_err(io::Error::other)?],
        })
    }
}

#[async_trait]
impl Connector for Web {
    async fn connect(&self, to: PermittedAddress) -> io::Result<Box<dyn Connection>> {
        let place = {
            let mut state = self.state();
            state.dialled.push(to.get());
            state.places.get(&to.get()).copied()
        };
        match place {
            Some(place) => Ok(Box::new(tokio::net::TcpStream::connect(place).await?)),
            None => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }
}

impl Certificate {
    fn config(self) -> Option<Arc<ServerConfig>> {
        let pem: &[u8] = match self {
            Self::Right => include_bytes!("../certificates/server.pem"),
            Self::WrongName => include_bytes!("../certificates/wrong-name.pem"),
            Self::Expired => include_bytes!("../certificates/expired.pem"),
            Self::SelfSigned => include_bytes!("../certificates/self-signed.pem"),
            Self::None => return None,
        };
        let chain = vec![CertificateDer::from_pem_slice(pem).expect("a certificate")];
        let key = PrivateKeyDer::from_pem_slice(include_bytes!("../certificates/server.key")).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = builder.expect("versions").with_no_client_auth().with_single_cert(chain, key);
        Some(Arc::new(config.expect("a key that fits")))
    }
}

/// How much of a request a server reads before it answers.
#[derive(Clone, Copy)]
enum Reads {
    Head,
    All,
}

/// A server on loopback. It answers one request on each connection, and ends with the process.
pub fn listen(
    certificate: Certificate,
    answer: impl Fn(&Asked, &mut dyn Write) -> io::Result<()> + Send + Sync + 'static,
) -> SocketAddr {
    start(certificate, Reads::All, answer)
}

fn start(
    certificate: Certificate,
    reads: Reads,
    answer: impl Fn(&Asked, &mut dyn Write) -> io::Result<()> + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = listener.local_addr().expect("an address");
    let (config, answer) = (certificate.config(), Arc::new(answer));
    let serve = move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (config, answer) = (config.clone(), Arc::clone(&answer));
            thread::spawn(move || drop(talk(stream, config, reads, answer.as_ref())));
        }
    };
    thread::Builder::new().name("a server::of a test".to_owned()).spawn(serve).expect("a thread");
    place
}

/// Writes an answer with a text.
pub fn plain(out: &mut dyn Write, body: &str) -> io::Result<()> {
    write!(out, "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// Writes an answer that leads elsewhere.
pub fn redirect(out: &mut dyn Write, to: &str) -> io::Result<()> {
    write!(out, "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
}

impl Asked {
    /// The path that was asked for.
    pub fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    /// The value of a header, whose name is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (own, value) = line.split_once(':')?;
            own.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

type Answer = dyn Fn(&Asked, &mut dyn Write) -> io::Result<()> + Send + Sync;

fn talk(stream: TcpStream, config: Option<Arc<ServerConfig>>, reads: Reads, answer: &Answer) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    stream.set_write_timeout(Some(Duration::from_secs(20)))?;
    // What is written leaves at once, also if the connection is closed right after.
    stream.set_nodelay(true)?;
    match config {
        Some(config) => {
            let connection = ServerConnection::new(config).map_err(io::Error::other)?;
            let mut stream = StreamOwned::new(connection, stream);
            exchange(&mut stream, reads, answer)?;
            stream.conn.send_close_notify();
            stream.flush()
        }
        None => exchange(&mut { stream }, reads, answer),
    }
}

fn exchange(stream: &mut (impl Read + Write), reads: Reads, answer: &Answer) -> io::Result<()> {
    let mut asked = Asked { head: until(stream, "\r\n\r\n")?, body: Vec::new() };
    // Who closes while something is still to be read makes the kernel reset the connection, and the other end may
    // notice that before it notices the answer.
    if matches!(reads, Reads::All) {
        asked.body = body(stream, &asked)?;
    }
    answer(&asked, stream)?;
    stream.flush()
}

fn until(stream: &mut impl Read, end: &str) -> io::Result<String> {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(end.as_bytes()) {
        stream.read_exact(&mut byte)?;
        text.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn body(stream: &mut impl Read, asked: &Asked) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if let Some(length) = asked.header("content-length") {
        stream.take(length.parse().map_err(io::Error::other)?).read_to_end(&mut body)?;
        return Ok(body);
    }
    if asked.header("transfer-encoding") != Some("chunked") {
        return Ok(body);
    }
    loop {
        let length = u64::from_str_radix(until(stream, "\r\n")?.trim(), 16).map_err(io::Error::other)?;
        Read::by_ref(stream).take(length).read_to_end(&mut body)?;
        until(stream, "\r\n")?;
        if length == 0 {
            return Ok(body);
        }
    }
}
