//! Who vouches for a package.
//!
//! What is signed is one line with the package's digest ([`statement`]), by minisign or by a key on the
//! curve P-256 as cosign and openssl have them. A signature travels in the package, where it is not part
//! of the digest, or lies beside it.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

use crate::{Package, Sha256};

/// The files of a package that are signatures.
pub const ENCLOSED: [(&str, Kind); 2] = [("palisade.minisig", Kind::Minisign), ("palisade.sig", Kind::Ecdsa)];

/// How something was signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By minisign.
    Minisign,
    /// By a key on the curve P-256 over SHA-256, the signature in base64.
    Ecdsa,
}

impl Kind {
    /// The ending of a signature that lies beside a package.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Minisign => ".minisig",
            Self::Ecdsa => ".sig",
        }
    }
}

/// A signature that came with a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enclosed {
    /// How it was made.
    pub kind: Kind,
    /// As it was found.
    pub bytes: Vec<u8>,
}

/// Somebody whose signatures count.
#[derive(Clone)]
pub struct Key {
    id: String,
    public: Public,
}

#[derive(Clone)]
enum Public {
    Minisign(minisign_verify::PublicKey),
    /// A point on the curve, as it is.
    Ecdsa([u8; 65]),
}

/// A text that is no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is no public key: minisign's (`RW…`) and those of the curve P-256 in PEM (`-----BEGIN PUBLIC KEY-----`) are read"
)]
pub struct BadKey;

/// A signature that was made for something else, or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSignature {
    /// It does not fit the package.
    #[error("the signature is not one of this package by {key}: the package, or the signature, was changed")]
    Wrong {
        /// Whose it says it is.
        key: String,
    },
    /// It cannot be read.
    #[error("the signature cannot be read: {0}")]
    Damaged(&'static str),
}

/// What the signatures of a package say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Somebody known has signed it.
    Signed {
        /// By which key.
        by: String,
    },
    /// It is signed, by nobody who is known.
    Unknown,
    /// It is not signed.
    Unsigned,
}

/// What is signed: one line, with its line break.
pub fn statement(digest: &Sha256) -> String {
    format!("palisade plugin {digest}\n")
}

/// What a public key of the curve P-256 begins with in DER; the point follows.
const P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

impl Key {
    /// Reads a public key: minisign's, with or without its comment, or PEM.
    pub fn parse(text: &str) -> Result<Self, BadKey> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("-----BEGIN PUBLIC KEY-----") {
            let (body, _) = rest.split_once("-----END PUBLIC KEY-----").ok_or(BadKey)?;
            let der = STANDARD.decode(body.split_whitespace().collect::<String>()).map_err(|_| BadKey)?;
            let point: [u8; 65] = der.strip_prefix(&P256).and_then(|point| point.try_into().ok()).ok_or(BadKey)?;
            let id = format!("ecdsa:{}", &Sha256::of(&der).hex()[..16]);
            return Ok(Self { id, public: Public::Ecdsa(point) });
        }
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).ok_or(BadKey)?;
        let public = minisign_verify::PublicKey::from_base64(line).map_err(|_| BadKey)?;
        Ok(Self { id: format!("minisign:{line}"), public: Public::Minisign(public) })
    }

    /// What it is known by.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether it is a key of this kind.
    fn is(&self, kind: Kind) -> bool {
        matches!((&self.public, kind), (Public::Minisign(_), Kind::Minisign) | (Public::Ecdsa(_), Kind::Ecdsa))
    }

    /// Whether a signature over some bytes is this key's; an error if it claims to be and is not.
    fn verifies(&self, message: &[u8], signature: &[u8]) -> Result<bool, BadSignature> {
        let text = std::str::from_utf8(signature).map_err(|_| BadSignature::Damaged("it is no text"))?;
        match &self.public {
            Public::Minisign(key) => {
                let signature = minisign_verify::Signature::decode(text)
                    .map_err(|_| BadSignature::Damaged("it is not what minisign writes"))?;
                match key.verify(message, &signature, false) {
                    Ok(()) => Ok(true),
                    Err(minisign_verify::Error::UnexpectedKeyId) => Ok(false),
                    Err(_) => Err(BadSignature::Wrong { key: self.id.clone() }),
                }
            }
            Public::Ecdsa(point) => {
                let signature = STANDARD
                    .decode(text.split_whitespace().collect::<String>())
                    .map_err(|_| BadSignature::Damaged("it is not base64"))?;
                Ok(UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point).verify(message, &signature).is_ok())
            }
        }
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.id)
    }
}

/// Whose package it is, of those who are known. A signature that claims to be of somebody known and is not, is an
/// error even where none is required.
pub fn verify(package: &Package, keys: &[Key]) -> Result<Verdict, BadSignature> {
    let statement = statement(&package.digest());
    let signatures = package.signatures().iter().map(|enclosed| (enclosed.kind, enclosed.bytes.as_slice()));
    judge(signatures.map(|(kind, signature)| (kind, statement.as_bytes(), signature)), keys)
}

/// The same for messages, each with its signature.
pub(crate) fn judge<'a>(
    signed: impl Iterator<Item = (Kind, &'a [u8], &'a [u8])>,
    keys: &[Key],
) -> Result<Verdict, BadSignature> {
    let mut verdict = Verdict::Unsigned;
    for (kind, message, signature) in signed {
        verdict = Verdict::Unknown;
        for key in keys.iter().filter(|key| key.is(kind)) {
            if key.verifies(message, signature)? {
                return Ok(Verdict::Signed { by: key.id.clone() });
            }
        }
    }
    Ok(verdict)
}
