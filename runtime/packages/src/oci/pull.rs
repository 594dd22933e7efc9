//! Fetching a package.

use crate::{
    Limits, Package, Sha256, archive,
    oci::{
        OciError, Registry,
        layout::{self, Descriptor, Manifest},
        transport::Watch,
    },
    signature::{Key, Verdict},
};

/// What was fetched.
#[derive(Debug)]
pub struct Pulled {
    /// What it is.
    pub found: Found,
    /// What its manifest is known by, whatever tag it was asked for with.
    pub digest: Sha256,
}

/// What a registry has.
#[derive(Debug)]
pub enum Found {
    /// A whole package.
    Package(Package),
    /// One component, without a manifest of ours.
    Component(Vec<u8>),
}

impl Registry {
    /// Fetches the package. `watch` is told how many bytes there are, and of how many.
    pub async fn pull(&self, watch: Watch<'_>) -> Result<Pulled, OciError> {
        let (layers, digest) = self.manifest(&self.reference.wanted()).await?;
        if let Some(expected) = self.reference.digest.filter(|expected| *expected != digest) {
            return Err(OciError::OtherDigest { expected, found: digest });
        }
        let what = self.reference.to_string();
        let found = match layer(&layers) {
            Some(layer) if layer.media_type == layout::PACKAGE => {
                Found::Package(archive::unpack(&self.blob(layer, Limits::PLUGIN.total, watch).await?, &what)?)
            }
            Some(layer) => Found::Component(self.blob(layer, Limits::PLUGIN.file, watch).await?),
            None => {
                let kinds: Vec<&str> = layers.iter().map(|layer| layer.media_type.as_str()).collect();
                let kinds: String = kinds.join(", ").chars().take(200).collect();
                return Err(self.transport.nonsense(&format!(
                    "it has neither a plugin nor one component under that name, but: {}",
                    if kinds.is_empty() { "nothing, or an index of several" } else { &kinds }
                )));
            }
        };
        Ok(Pulled { found, digest })
    }

    /// What cosign's signatures in the registry say of an artifact.
    pub async fn signed(&self, digest: Sha256, keys: &[Key]) -> Result<Verdict, OciError> {
        super::signed::verdict(self, digest, keys).await
    }

    /// The layers of a manifest, with the digest of what came; an index of several artifacts has none of its own.
    pub(super) async fn manifest(&self, wanted: &str) -> Result<(Vec<Descriptor>, Sha256), OciError> {
        let answer = self.transport.get(&format!("manifests/{wanted}"), layout::MANIFEST).await?;
        let answer = self.transport.succeeded(answer)?;
        let layers = match serde_json::from_slice(&answer.body) {
            Ok(Manifest::Image(manifest)) => manifest.layers,
            Ok(Manifest::Index { .. }) => Vec::new(),
            Err(error) => return Err(self.transport.nonsense(&format!("the manifest cannot be read: {error}"))),
        };
        Ok((layers, Sha256::of(&answer.body)))
    }

    /// A blob that is what its description says.
    pub(super) async fn blob(&self, layer: &Descriptor, most: u64, watch: Watch<'_>) -> Result<Vec<u8>, OciError> {
        let nonsense = |what: &str| self.transport.nonsense(&format!("a layer of the manifest has {what}"));
        let expected: Sha256 =
            layer.digest.parse().map_err(|_| nonsense("a digest of another form than `sha256:…`"))?;
        if layer.size > most {
            return Err(OciError::TooLarge { what: self.reference.to_string(), most });
        }
        let bytes = self.transport.get_blob(&format!("blobs/{expected}"), layer.size, watch).await?;
        match Sha256::of(&bytes) {
            found if found == expected => Ok(bytes),
            found => Err(OciError::OtherDigest { expected, found }),
        }
    }
}

/// The layer that is meant: our package, or the one component there is.
fn layer(layers: &[Descriptor]) -> Option<&Descriptor> {
    let of_kind = |kind: &'static str| layers.iter().filter(move |layer| layer.media_type == kind);
    of_kind(layout::PACKAGE).next().or_else(|| {
        let mut components = of_kind(layout::WASM);
        components.next().filter(|_| components.next().is_none())
    })
}
