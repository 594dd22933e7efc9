//! Signatures as minisign and openssl make them. Both programs are used where they are there; what they made once
//! is used everywhere.

use std::{fs, path::Path, process::Command};

use crate::{
    Package, pack,
    signature::{BadSignature, Enclosed, Key, Kind, Verdict, statement, verify},
    unpack,
};

fn package(name: &str) -> Package {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plugin.json"), format!("{{\"name\": \"{name}\"}}")).unwrap();
    Package::of_folder(folder.path()).unwrap()
}

fn run(folder: &Path, line: &str) -> bool {
    let output = Command::new("sh").arg("-c").arg(line).current_dir(folder).output().unwrap();
    output.status.success()
}

/// A key of openssl's on the curve P-256, and what it signs.
struct Openssl(tempfile::TempDir);

impl Openssl {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = "openssl ecparam -name prime256v1 -genkey -noout -out key.pem && openssl ec -in key.pem -pubout -out key.pub";
        assert!(run(folder.path(), made), "openssl is needed for this test");
        Self(folder)
    }

    fn key(&self) -> Key {
        Key::parse(&fs::read_to_string(self.0.path().join("key.pub")).unwrap()).unwrap()
    }

    fn sign(&self, message: &str) -> Enclosed {
        fs::write(self.0.path().join("message"), message).unwrap();
        assert!(run(self.0.path(), "openssl dgst -sha256 -sign key.pem message | base64 -w0 > message.sig"));
        Enclosed { kind: Kind::Ecdsa, bytes: fs::read(self.0.path().join("message.sig")).unwrap() }
    }
}

/// SUP-07
#[test]
fn a_signature_by_openssl_is_one_of_its_package_alone() {
    let (own, other) = (Openssl::new(), Openssl::new());
    let package = package("ferry");
    let signature = own.sign(&statement(&package.digest()));
    let signed = package.clone().signed_by(signature.clone());
    let by = own.key().id().to_owned();
    assert_eq!(verify(&signed, &[other.key(), own.key()]), Ok(Verdict::Signed { by: by.clone() }));
    // It goes with the package, and is no part of what is signed.
    let travelled = unpack(&pack(&signed).unwrap(), "it").unwrap();
    assert_eq!(travelled.digest(), package.digest());
    assert_eq!(verify(&travelled, &[own.key()]), Ok(Verdict::Signed { by }));
    assert_eq!(verify(&package, &[own.key()]), Ok(Verdict::Unsigned));
    assert_eq!(verify(&signed, &[other.key()]), Ok(Verdict::Unknown), "somebody else's key");
    assert_eq!(verify(&signed, &[]), Ok(Verdict::Unknown));
    let foreign = self::package("other").signed_by(signature.clone());
    assert_eq!(verify(&foreign, &[own.key()]), Ok(Verdict::Unknown), "a signature of another package");
    for (what, bytes) in [
        ("cut", signature.bytes[..signature.bytes.len() / 2].to_vec()),
        ("empty", Vec::new()),
        ("other words", own.sign(&package.digest().to_string()).bytes),
        ("another's", other.sign(&statement(&package.digest())).bytes),
    ] {
        let changed = package.clone().signed_by(Enclosed { bytes, ..signature.clone() });
        let verdict = verify(&changed, &[own.key()]);
        assert!(!matches!(verdict, Ok(Verdict::Signed { .. } | Verdict::Unsigned)), "{what}: {verdict:?}");
    }
    let noise = package.clone().signed_by(Enclosed { bytes: vec![0xff; 70], ..signature });
    assert!(matches!(verify(&noise, &[own.key()]), Err(BadSignature::Damaged(_))));
}

/// Made by `minisign -S` over the line of the package `{"name": "ferry"}`.
const MINISIGN_KEY: &str = include_str!("minisign.pub");
const MINISIGN_SIGNATURE: &str = include_str!("minisign.minisig");
const OTHER_KEY: &str = include_str!("other.pub");

/// SUP-07
#[test]
fn a_signature_by_minisign_is_one_of_its_package_alone() {
    let [own, other] = [MINISIGN_KEY, OTHER_KEY].map(|text| Key::parse(text).unwrap());
    let enclosed = |text: &str| Enclosed { kind: Kind::Minisign, bytes: text.as_bytes().to_vec() };
    let signed = package("ferry").signed_by(enclosed(MINISIGN_SIGNATURE));
    assert_eq!(verify(&signed, &[other.clone(), own.clone()]), Ok(Verdict::Signed { by: own.id().to_owned() }));
    assert_eq!(verify(&signed, &[other]), Ok(Verdict::Unknown), "somebody else's key");
    let foreign = package("other").signed_by(enclosed(MINISIGN_SIGNATURE));
    assert!(
        matches!(verify(&foreign, std::slice::from_ref(&own)), Err(BadSignature::Wrong { .. })),
        "of another package"
    );
    let cut = &MINISIGN_SIGNATURE[..MINISIGN_SIGNATURE.len() / 2];
    let commented = MINISIGN_SIGNATURE.replace("timestamp:", "timestamp:9");
    for text in ["", cut, "untrusted comment: x\nRW", &commented] {
        let changed = package("ferry").signed_by(enclosed(text));
        assert!(verify(&changed, std::slice::from_ref(&own)).is_err(), "{text}");
    }
}

#[test]
fn what_is_no_key_is_refused() {
    let rsa = "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAK8=\n-----END PUBLIC KEY-----";
    for text in ["", "RW", "not a key", rsa, "-----BEGIN PUBLIC KEY-----", "-----BEGIN EC PRIVATE KEY-----"] {
        assert!(Key::parse(text).is_err(), "{text}");
    }
    let bare = MINISIGN_KEY.lines().last().unwrap();
    assert_eq!(Key::parse(bare).unwrap().id(), Key::parse(MINISIGN_KEY).unwrap().id());
}
