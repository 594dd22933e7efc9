//! How a package lies in a registry.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Sha256;

/// A manifest of one artifact.
pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// A whole package.
pub(super) const PACKAGE: &str = "application/vnd.palisade.plugin.v1.tar+gzip";
/// What such an artifact is.
const PLUGIN: &str = "application/vnd.palisade.plugin.v1";
/// One component, as the CNCF's layout has it.
pub(super) const WASM: &str = "application/wasm";
const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";
const EMPTY_CONFIG: &str = "application/vnd.oci.empty.v1+json";

/// A manifest, as far as it is read.
#[derive(Debug, Deserialize)]
pub(super) struct Manifest {
    #[serde(default)]
    pub(super) layers: Vec<Descriptor>,
}

/// What a manifest says of one blob.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Descriptor {
    #[serde(rename = "mediaType")]
    pub(super) kind: String,
    pub(super) digest: Sha256,
    pub(super) size: u64,
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub(super) annotations: std::collections::BTreeMap<String, String>,
}

/// An artifact that is to be published: its blobs, each with its digest, and its manifest.
pub(super) struct Artifact {
    pub(super) blobs: Vec<Vec<u8>>,
    pub(super) manifest: Vec<u8>,
}

fn descriptor(kind: &str, blob: &[u8]) -> Descriptor {
    let annotations = std::collections::BTreeMap::new();
    Descriptor { kind: kind.to_owned(), digest: Sha256::of(blob), size: blob.len() as u64, annotations }
}

/// A whole package; equal packages are equal artifacts.
pub(super) fn of_package(packed: Vec<u8>) -> Artifact {
    let config = b"{}".to_vec();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": PLUGIN,
        "config": descriptor(EMPTY_CONFIG, &config),
        "layers": [descriptor(PACKAGE, &packed)],
    });
    Artifact { blobs: vec![config, packed], manifest: manifest.to_string().into_bytes() }
}

/// One component, for everybody's use.
pub(super) fn of_component(wasm: Vec<u8>, imports: &[String], exports: &[String]) -> Artifact {
    let config: Value = json!({
        // When it was made is nobody's business, and would make equal components different artifacts.
        "created": "1970-01-01T00:00:00Z",
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [Sha256::of(&wasm)],
        "component": { "exports": exports, "imports": imports, "target": null },
    });
    let config = config.to_string().into_bytes();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": descriptor(WASM_CONFIG, &config),
        "layers": [descriptor(WASM, &wasm)],
    });
    Artifact { blobs: vec![config, wasm], manifest: manifest.to_string().into_bytes() }
}
