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
        let (manifest, digest) = self.manifest(&self.reference.wanted()).await?;
        if let Some(expected) = self.reference.digest.filter(|expected| *expected != digest) {
            return Err(OciError::OtherDigest { expected, found: digest });
        }
        let what = self.reference.to_string();
        let found = match layer(&manifest) {
            Some(layer) if layer.kind == layout::PACKAGE => {
                Found::Package(archive::unpack(&self.blob(layer, Limits::PLUGIN.total, watch).await?, &what)?)
            }
            Some(layer) => Found::Component(self.blob(layer, Limits::PLUGIN.file, watch).await?),
            None => {
                let kinds: Vec<&str> = manifest.layers.iter().map(|layer| layer.kind.as_str()).collect();
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

    /// A manifest, with the digest of what came.
    pub(super) async fn manifest(&self, wanted: &str) -> Result<(Manifest, Sha256), OciError> {
        let answer = self.transport.get(&format!("manifests/{wanted}"), layout::MANIFEST).await?;
        let answer = self.transport.succeeded(answer)?;
        let manifest = serde_json::from_slice(&answer.body)
            .map_err(|error| self.transport.nonsense(&format!("the manifest cannot be read: {error}")))?;
        Ok((manifest, Sha256::of(&answer.body)))
    }

    /// A blob that is what its description says.
    pub(super) async fn blob(&self, layer: &Descriptor, most: u64, watch: Watch<'_>) -> Result<Vec<u8>, OciError> {
        if layer.size > most {
            return Err(OciError::TooLarge { what: self.reference.to_string(), most });
        }
        let bytes = self.transport.get_blob(&format!("blobs/{}", layer.digest), layer.size, watch).await?;
        match Sha256::of(&bytes) {
            found if found == layer.digest => Ok(bytes),
            found => Err(OciError::OtherDigest { expected: layer.digest, found }),
        }
    }
}

/// The layer that is meant: our package, or the one component there is.
fn layer(manifest: &Manifest) -> Option<&Descriptor> {
    let of_kind = |kind: &'static str| manifest.layers.iter().filter(move |layer| layer.kind == kind);
    of_kind(layout::PACKAGE).next().or_else(|| {
        let mut components = of_kind(layout::WASM);
        components.next().filter(|_| components.next().is_none())
    })
}
