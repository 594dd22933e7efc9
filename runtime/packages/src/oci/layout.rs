//! The layout of a package in a registry: manifests, descriptors and the configuration of a component.
//!
//! These are the few fields of the OCI image specification and of the CNCF's layout for WebAssembly that
//! this crate reads and writes. Fields that it does not know are ignored when reading.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::IgnoredAny};
use wit_component::DecodedWasm;

use crate::{Sha256, oci::OciError};

/// The media type of the manifest of one artifact.
pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media type of a whole package.
pub(super) const PACKAGE: &str = "application/vnd.palisade.plugin.v1.tar+gzip";
/// The artifact type of a package.
const PLUGIN: &str = "application/vnd.palisade.plugin.v1";
/// The media type of one component in the CNCF's layout, and of its configuration.
pub(super) const WASM: &str = "application/wasm";
const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";
const EMPTY_CONFIG: &str = "application/vnd.oci.empty.v1+json";

/// A reference to a blob: its kind, digest and size.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    pub(super) media_type: String,
    pub(super) digest: String,
    pub(super) size: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) annotations: BTreeMap<String, String>,
}

/// A manifest as registries send it.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Manifest {
    /// One artifact.
    Image(ImageManifest),
    /// An index of several artifacts, which has no layers of its own.
    Index {
        #[serde(rename = "manifests")]
        _manifests: IgnoredAny,
    },
}

/// The manifest of one artifact.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ImageManifest {
    schema_version: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    config: Descriptor,
    pub(super) layers: Vec<Descriptor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_type: Option<String>,
}

/// The configuration of a component.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WasmConfig {
    created: &'static str,
    author: Option<String>,
    architecture: &'static str,
    os: &'static str,
    layer_digests: Vec<String>,
    component: World,
}

/// The interfaces that a component exports and imports.
#[derive(Serialize)]
struct World {
    exports: Vec<String>,
    imports: Vec<String>,
    target: Option<String>,
}

/// An artifact that is to be published: its blobs, each with its digest, and its manifest.
pub(super) struct Artifact {
    pub(super) blobs: Vec<Vec<u8>>,
    pub(super) manifest: Vec<u8>,
}

/// A whole package; equal packages are equal artifacts.
pub(super) fn of_package(packed: Vec<u8>) -> Result<Artifact, OciError> {
    artifact(Some(PLUGIN), (EMPTY_CONFIG, b"{}".to_vec()), (PACKAGE, packed))
}

/// Makes an artifact of one component; equal components are equal artifacts.
pub(super) fn of_component(wasm: Vec<u8>) -> Result<Artifact, OciError> {
    let config = WasmConfig {
        // The time of publishing would make equal components different artifacts.
        created: "1970-01-01T00:00:00Z",
        author: None,
        architecture: "wasm",
        os: "wasip2",
        layer_digests: vec![Sha256::of(&wasm).to_string()],
        component: world(&wasm)?,
    };
    let config = serde_json::to_vec(&config).map_err(|error| OciError::Unfit(error.to_string()))?;
    artifact(None, (WASM_CONFIG, config), (WASM, wasm))
}

/// Reads the world of a component from its types.
fn world(wasm: &[u8]) -> Result<World, OciError> {
    let decoded = wit_component::decode(wasm).map_err(|error| OciError::Unfit(format!("{error:#}")))?;
    let DecodedWasm::Component(resolve, id) = decoded else {
        return Err(OciError::Unfit("it is a package of WIT interfaces, not a component".to_owned()));
    };
    let world = &resolve.worlds[id];
    let exports = world.exports.keys().map(|key| resolve.name_world_key(key)).collect();
    let imports = world.imports.keys().map(|key| resolve.name_world_key(key)).collect();
    Ok(World { exports, imports, target: None })
}

fn artifact(kind: Option<&str>, config: (&str, Vec<u8>), layer: (&str, Vec<u8>)) -> Result<Artifact, OciError> {
    let manifest = ImageManifest {
        schema_version: 2,
        media_type: Some(MANIFEST.to_owned()),
        config: descriptor(config.0, &config.1),
        layers: vec![descriptor(layer.0, &layer.1)],
        artifact_type: kind.map(ToOwned::to_owned),
    };
    let manifest = serde_json::to_vec(&manifest).map_err(|error| OciError::Unfit(error.to_string()))?;
    Ok(Artifact { blobs: vec![config.1, layer.1], manifest })
}

fn descriptor(kind: &str, blob: &[u8]) -> Descriptor {
    Descriptor {
        media_type: kind.to_owned(),
        digest: Sha256::of(blob).to_string(),
        size: blob.len() as u64,
        annotations: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_component_has_the_fields_that_readers_of_the_layout_look_for() {
        let component = b"\0asm\x0d\0\x01\0".to_vec();
        let digest = Sha256::of(&component).to_string();
        let artifact = of_component(component).unwrap();
        let manifest: serde_json::Value = serde_json::from_slice(&artifact.manifest).unwrap();
        let config: serde_json::Value = serde_json::from_slice(&artifact.blobs[0]).unwrap();
        assert_eq!(manifest["schemaVersion"], 2);
        assert_eq!(manifest["mediaType"], MANIFEST);
        assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
        assert_eq!(manifest["layers"][0]["mediaType"], "application/wasm");
        assert_eq!(manifest["layers"][0]["digest"], digest);
        assert_eq!(config["architecture"], "wasm");
        assert_eq!(config["os"], "wasip2");
        assert_eq!(config["layerDigests"], serde_json::json!([digest]));
        assert_eq!(config["component"]["exports"], serde_json::json!([]));
    }
}
