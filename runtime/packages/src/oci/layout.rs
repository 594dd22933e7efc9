//! How a package lies in a registry.
//!
//! The words of the specification (manifests, descriptors, the configuration of a component) are those of
//! `oci-client` and `oci-wasm`, so that what we publish is what their users read. How they are carried is ours.

use oci_client::manifest::{OCI_IMAGE_MEDIA_TYPE, OciDescriptor, OciImageManifest};
use oci_wasm::{ToConfig, WASM_LAYER_MEDIA_TYPE, WasmConfig};

use crate::{Sha256, oci::OciError};

/// A manifest of one artifact.
pub(super) const MANIFEST: &str = OCI_IMAGE_MEDIA_TYPE;
/// A whole package.
pub(super) const PACKAGE: &str = "application/vnd.palisade.plugin.v1.tar+gzip";
/// What such an artifact is.
const PLUGIN: &str = "application/vnd.palisade.plugin.v1";
/// One component, as the CNCF's layout has it.
pub(super) const WASM: &str = WASM_LAYER_MEDIA_TYPE;
const EMPTY_CONFIG: &str = "application/vnd.oci.empty.v1+json";

/// An artifact that is to be published: its blobs, each with its digest, and its manifest.
pub(super) struct Artifact {
    pub(super) blobs: Vec<Vec<u8>>,
    pub(super) manifest: Vec<u8>,
}

/// A whole package; equal packages are equal artifacts.
pub(super) fn of_package(packed: Vec<u8>) -> Result<Artifact, OciError> {
    artifact(Some(PLUGIN), (EMPTY_CONFIG, b"{}".to_vec()), (PACKAGE, packed))
}

/// One component, for everybody's use; equal components are equal artifacts.
pub(super) fn of_component(wasm: Vec<u8>) -> Result<Artifact, OciError> {
    let unfit = |error: anyhow::Error| OciError::Unfit(format!("{error:#}"));
    let (mut config, layer) = WasmConfig::from_raw_component(wasm, None).map_err(unfit)?;
    // When it was made is nobody's business, and would make equal components different artifacts.
    config.created = Default::default();
    let config = config.to_config().map_err(unfit)?;
    artifact(None, (&config.media_type, config.data.to_vec()), (&layer.media_type, layer.data.to_vec()))
}

fn artifact(kind: Option<&str>, config: (&str, Vec<u8>), layer: (&str, Vec<u8>)) -> Result<Artifact, OciError> {
    let manifest = OciImageManifest {
        media_type: Some(MANIFEST.to_owned()),
        artifact_type: kind.map(ToOwned::to_owned),
        config: descriptor(config.0, &config.1),
        layers: vec![descriptor(layer.0, &layer.1)],
        ..OciImageManifest::default()
    };
    let manifest = serde_json::to_vec(&manifest).map_err(|error| OciError::Unfit(error.to_string()))?;
    Ok(Artifact { blobs: vec![config.1, layer.1], manifest })
}

fn descriptor(kind: &str, blob: &[u8]) -> OciDescriptor {
    OciDescriptor {
        media_type: kind.to_owned(),
        digest: Sha256::of(blob).to_string(),
        size: i64::try_from(blob.len()).unwrap_or(i64::MAX),
        ..OciDescriptor::default()
    }
}
