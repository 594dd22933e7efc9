//! Publishing a package.

use reqwest::{Method, StatusCode};

use crate::{
    Package, PackageError, Sha256, archive,
    oci::{
        OciError, Registry,
        layout::{self, Artifact},
        transport::{SMALL, Sent},
    },
};

impl Registry {
    /// Publishes a whole package under the reference's tag. Gives what it can be pinned by.
    pub async fn push(&self, package: &Package) -> Result<Sha256, OciError> {
        let packed = archive::pack(package).map_err(|error| PackageError::Archive(error.to_string()))?;
        self.publish(layout::of_package(packed)?).await
    }

    /// Publishes one component as others do, for everybody's use.
    pub async fn push_component(&self, wasm: Vec<u8>) -> Result<Sha256, OciError> {
        self.publish(layout::of_component(wasm)?).await
    }

    async fn publish(&self, artifact: Artifact) -> Result<Sha256, OciError> {
        for blob in artifact.blobs {
            self.upload(blob).await?;
        }
        let digest = Sha256::of(&artifact.manifest);
        let tag = self.reference.tag.clone().unwrap_or_else(|| "latest".to_owned());
        let url = self.transport.url(&format!("manifests/{tag}"))?;
        let kind = Some(layout::MANIFEST);
        let sent = Sent { method: Method::PUT, url, accept: "*/*", kind, body: artifact.manifest };
        self.transport.succeeded(self.transport.send(sent, SMALL, &|_, _| {}).await?)?;
        Ok(digest)
    }

    /// Puts a blob into the registry, unless it is there.
    async fn upload(&self, blob: Vec<u8>) -> Result<(), OciError> {
        let digest = Sha256::of(&blob);
        let empty = |method, url| Sent { method, url, accept: "*/*", kind: None, body: Vec::new() };
        let there = empty(Method::HEAD, self.transport.url(&format!("blobs/{digest}"))?);
        // Such an answer says how long the blob is, and does not hold it.
        if self.transport.send(there, u64::MAX, &|_, _| {}).await?.status == StatusCode::OK {
            return Ok(());
        }
        let start = empty(Method::POST, self.transport.url("blobs/uploads/")?);
        let started = self.transport.succeeded(self.transport.send(start, SMALL, &|_, _| {}).await?)?;
        let mut url = self.transport.location(&started)?;
        url.query_pairs_mut().append_pair("digest", &digest.to_string());
        let kind = Some("application/octet-stream");
        let put = Sent { method: Method::PUT, url, accept: "*/*", kind, body: blob };
        self.transport.succeeded(self.transport.send(put, SMALL, &|_, _| {}).await?)?;
        Ok(())
    }
}
