//! Signatures as cosign puts them into a registry: under a tag that is made from the digest of what is signed.

use serde::Deserialize;

use crate::{
    Sha256,
    oci::{OciError, Registry},
    signature::{self, Key, Kind, Verdict},
};

const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
/// A payload is a few lines.
const LARGEST: u64 = 64 << 10;
/// Signatures of one artifact that are looked at.
const MOST: usize = 20;

/// What is signed, as far as it is read.
#[derive(Deserialize)]
struct Payload {
    critical: Critical,
}

#[derive(Deserialize)]
struct Critical {
    image: Image,
}

#[derive(Deserialize)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

pub(super) async fn verdict(registry: &Registry, digest: Sha256, keys: &[Key]) -> Result<Verdict, OciError> {
    let layers = match registry.manifest(&format!("sha256-{}.sig", digest.hex())).await {
        Ok((layers, _)) => layers,
        Err(OciError::Refused { status: 404, .. }) => return Ok(Verdict::Unsigned),
        Err(error) => return Err(error),
    };
    let mut verdict = Verdict::Unsigned;
    for layer in layers.iter().filter(|layer| layer.media_type == PAYLOAD).take(MOST) {
        let Some(signature) = layer.annotations.get(SIGNATURE) else { continue };
        let payload = registry.blob(layer, LARGEST, &|_, _| {}).await?;
        // A good signature of another artifact says nothing of this one.
        let is_about_it = serde_json::from_slice(&payload)
            .is_ok_and(|payload: Payload| payload.critical.image.digest == digest.to_string());
        if !is_about_it {
            verdict = Verdict::Unknown;
            continue;
        }
        match signature::judge([(Kind::Ecdsa, payload.as_slice(), signature.as_bytes())].into_iter(), keys)? {
            signed @ Verdict::Signed { .. } => return Ok(signed),
            other => verdict = other,
        }
    }
    Ok(verdict)
}
