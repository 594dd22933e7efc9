//! Registries that lie, flood, and send us elsewhere. All of them are on this machine.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
};

use serde_json::json;

use crate::{
    Package, Sha256,
    oci::{Credentials, Found, OciError, Pulled, Reference, Registry},
    pack,
    signature::{Key, Verdict},
};

/// What is answered to a path: the head's lines and the body.
type Answers = BTreeMap<String, (String, Vec<u8>)>;

/// A registry with fixed answers, which notes what it was asked.
struct Fake {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    /// `answers` are made when the port is known.
    fn start(answers: impl FnOnce(u16) -> Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let answers = answers(port);
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut head = Vec::new();
                for line in BufReader::new(stream.try_clone().unwrap()).lines() {
                    match line {
                        Ok(line) if !line.is_empty() => head.push(line),
                        _ => break,
                    }
                }
                let path = head.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
                let is_known = head.iter().any(|line| line.eq_ignore_ascii_case("authorization: Basic bWU6c2VjcmV0"));
                noted.lock().unwrap().push(format!("{path}{}", if is_known { " as me" } else { "" }));
                let key = if is_known && answers.contains_key(&format!("{path} as me")) {
                    format!("{path} as me")
                } else {
                    path
                };
                let missing = ("404 Not Found".to_owned(), Vec::new());
                let (status, body) = answers.get(&key).unwrap_or(&missing);
                let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
                drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)));
                drop(stream.shutdown(std::net::Shutdown::Write));
                drop(stream.read(&mut [0; 1]));
            }
        });
        Self { port, asked }
    }

    fn reference(&self, what: &str) -> Reference {
        format!("oci://127.0.0.1:{}/{what}", self.port).parse().unwrap()
    }

    fn pull(&self, what: &str) -> Result<Pulled, OciError> {
        run(Registry::of(&self.reference(what), None).unwrap().pull(&|_, _| {}))
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn package() -> Package {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("plugin.json"), r#"{"name": "ferry"}"#).unwrap();
    Package::of_folder(folder.path()).unwrap()
}

const LAYER: &str = "application/vnd.palisade.plugin.v1.tar+gzip";

fn manifest(kind: &str, blob: &[u8], size: u64) -> Vec<u8> {
    let config = json!({ "mediaType": "application/vnd.oci.empty.v1+json", "digest": Sha256::of(b"{}"), "size": 2 });
    json!({ "schemaVersion": 2, "config": config, "layers": [{ "mediaType": kind, "digest": Sha256::of(blob), "size": size }] })
        .to_string()
        .into_bytes()
}

fn ok(body: impl Into<Vec<u8>>) -> (String, Vec<u8>) {
    ("200 OK".to_owned(), body.into())
}

fn to(place: &str) -> (String, Vec<u8>) {
    (format!("307 Temporary Redirect\r\nLocation: {place}"), Vec::new())
}

/// A registry with one package, whose blob is answered so.
fn with_blob(answer: impl FnOnce(u16, &[u8]) -> (String, Vec<u8>)) -> Fake {
    Fake::start(|port| {
        let blob = pack(&package()).unwrap();
        Answers::from([
            ("/v2/ferry/manifests/1".to_owned(), ok(manifest(LAYER, &blob, blob.len() as u64))),
            (format!("/v2/ferry/blobs/{}", Sha256::of(&blob)), answer(port, &blob)),
            ("/moved".to_owned(), ok(blob)),
        ])
    })
}

#[test]
fn a_package_is_fetched_also_from_where_the_registry_itself_has_it() {
    for fake in [with_blob(|_, blob| ok(blob)), with_blob(|_, _| to("/moved"))] {
        let pulled = fake.pull("ferry:1").unwrap();
        assert!(matches!(pulled.found, Found::Package(found) if found.digest() == package().digest()));
        let pinned = fake.reference("ferry:1").pinned(pulled.digest).to_string();
        assert!(pinned.ends_with(&pulled.digest.to_string()));
    }
}

/// NET: what a registry names is looked at before anything is sent there.
#[test]
fn a_registry_does_not_send_us_into_the_private_network() {
    let inner = Fake::start(|_| Answers::from([("/secret".to_owned(), ok("secret"))]));
    let places = [
        format!("http://127.0.0.1:{}/secret", inner.port),
        format!("http://localhost:{}/secret", inner.port),
        format!("https://127.0.0.1:{}/secret", inner.port),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "https://[::ffff:7f00:1]/".to_owned(),
        "//127.0.0.2/secret".to_owned(),
        "file:///etc/passwd".to_owned(),
    ];
    for place in &places {
        let fake = with_blob(|_, _| to(place));
        assert!(matches!(fake.pull("ferry:1"), Err(OciError::Astray { .. })), "{place}");
        let realm = format!("401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"{place}\",service=\"x\"");
        let fake = Fake::start(|_| Answers::from([("/v2/ferry/manifests/1".to_owned(), (realm, Vec::new()))]));
        let error = fake.pull("ferry:1").unwrap_err();
        assert!(matches!(error, OciError::Astray { .. } | OciError::Refused { status: 401, .. }), "{place}: {error}");
    }
    assert_eq!(inner.asked(), Vec::<String>::new());
    let circle = with_blob(|_, blob| to(&format!("/v2/ferry/blobs/{}", Sha256::of(blob))));
    assert!(circle.pull("ferry:1").unwrap_err().to_string().contains("on and on"));
}

#[test]
fn what_comes_is_what_was_named_and_no_more() {
    let other = with_blob(|_, blob| ok([&blob[..blob.len() - 1], b"x"].concat()));
    assert!(matches!(other.pull("ferry:1"), Err(OciError::OtherDigest { .. })));
    let flood = with_blob(|_, blob| ok([blob, &[0; 4096]].concat()));
    assert!(matches!(flood.pull("ferry:1"), Err(OciError::TooLarge { .. })));
    let sound = with_blob(|_, blob| ok(blob));
    let wanted = format!("ferry@{}", Sha256::of(b"something else"));
    assert!(matches!(sound.pull(&wanted), Err(OciError::Refused { status: 404, .. })));
    let lying = Fake::start(|_| {
        let path = format!("/v2/ferry/manifests/{}", Sha256::of(b"something else"));
        Answers::from([(path, ok(manifest(LAYER, b"x", 1)))])
    });
    assert!(matches!(lying.pull(&wanted), Err(OciError::OtherDigest { .. })));
    let huge =
        Fake::start(|_| Answers::from([("/v2/ferry/manifests/1".to_owned(), ok(manifest(LAYER, b"x", 1 << 40)))]));
    assert!(matches!(huge.pull("ferry:1"), Err(OciError::TooLarge { .. })));
    assert_eq!(huge.asked().len(), 1, "it was not even asked for");
    for body in [&b""[..], b"[]", b"{\"layers\": [{}]}", b"{\"manifests\": []}", b"{\"layers\": []}"] {
        let nonsense = Fake::start(|_| Answers::from([("/v2/ferry/manifests/1".to_owned(), ok(body))]));
        assert!(matches!(nonsense.pull("ferry:1"), Err(OciError::Nonsense { .. })), "{}", body.escape_ascii());
    }
    let evil = Fake::start(|_| {
        let blob = b"no archive".to_vec();
        Answers::from([
            ("/v2/ferry/manifests/1".to_owned(), ok(manifest(LAYER, &blob, blob.len() as u64))),
            (format!("/v2/ferry/blobs/{}", Sha256::of(&blob)), ok(blob)),
        ])
    });
    assert!(matches!(evil.pull("ferry:1"), Err(OciError::Package(_))));
}

/// SEC-02
#[test]
fn who_we_are_is_told_to_the_registry_that_asks_and_to_nobody_else() {
    let asks = || ("401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"".to_owned(), Vec::new());
    let fake = Fake::start(|_| {
        let blob = pack(&package()).unwrap();
        Answers::from([
            ("/v2/ferry/manifests/1".to_owned(), asks()),
            ("/v2/ferry/manifests/1 as me".to_owned(), ok(manifest(LAYER, &blob, blob.len() as u64))),
            (format!("/v2/ferry/blobs/{}", Sha256::of(&blob)), ok(blob)),
        ])
    });
    let me = Credentials { user: "me".to_owned(), password: "secret".to_owned() };
    let registry = Registry::of(&fake.reference("ferry:1"), Some(me)).unwrap();
    run(registry.pull(&|_, _| {})).unwrap();
    assert_eq!(fake.asked()[..2], ["/v2/ferry/manifests/1", "/v2/ferry/manifests/1 as me"]);
    assert!(matches!(fake.pull("ferry:1"), Err(OciError::Refused { status: 401, .. })), "without a name");
}

fn signed_by_cosign(digest: &Sha256, about: &str) -> (Fake, Key) {
    let folder = tempfile::tempdir().unwrap();
    let payload = json!({
        "critical": {
            "identity": { "docker-reference": "x" },
            "image": { "docker-manifest-digest": about },
            "type": "cosign container image signature",
        },
        "optional": null,
    });
    std::fs::write(folder.path().join("payload"), payload.to_string()).unwrap();
    let script = "openssl ecparam -name prime256v1 -genkey -noout -out k && openssl ec -in k -pubout -out k.pub && \
                  openssl dgst -sha256 -sign k payload | base64 -w0 > sig";
    let made = std::process::Command::new("sh").arg("-c").arg(script).current_dir(folder.path()).output().unwrap();
    assert!(made.status.success());
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let payload = payload.to_string().into_bytes();
    let config =
        json!({ "mediaType": "application/vnd.oci.image.config.v1+json", "digest": Sha256::of(b"{}"), "size": 2 });
    let manifest = json!({ "schemaVersion": 2, "config": config, "layers": [{
        "mediaType": "application/vnd.dev.cosign.simplesigning.v1+json",
        "digest": Sha256::of(&payload),
        "size": payload.len(),
        "annotations": { "dev.cosignproject.cosign/signature": read("sig") },
    }] });
    let fake = Fake::start(|_| {
        Answers::from([
            (format!("/v2/ferry/manifests/sha256-{}.sig", digest.hex()), ok(manifest.to_string())),
            (format!("/v2/ferry/blobs/{}", Sha256::of(&payload)), ok(payload)),
        ])
    });
    (fake, Key::parse(&read("k.pub")).unwrap())
}

/// SUP-07
#[test]
fn a_signature_of_cosign_counts_for_the_artifact_it_is_about() {
    let digest = Sha256::of(b"a manifest");
    let verdict = |fake: &Fake, digest, key: &Key| {
        let registry = Registry::of(&fake.reference("ferry:1"), None).unwrap();
        run(registry.signed(digest, std::slice::from_ref(key))).unwrap()
    };
    let (fake, key) = signed_by_cosign(&digest, &digest.to_string());
    assert_eq!(verdict(&fake, digest, &key), Verdict::Signed { by: key.id().to_owned() });
    assert_eq!(verdict(&fake, Sha256::of(b"another"), &key), Verdict::Unsigned);
    let (about_another, other) = signed_by_cosign(&digest, &Sha256::of(b"another").to_string());
    assert_eq!(verdict(&about_another, digest, &other), Verdict::Unknown);
    assert_eq!(verdict(&fake, digest, &other), Verdict::Unknown, "somebody else's key");
}
