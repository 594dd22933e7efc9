//! Requests to a server, made as those of guests are.

use std::time::Duration;

use async_trait::async_trait;
use palisade_mcp::{Pieces, Posted, Posting};
use palisade_sandbox::{Outlet, OutletAnswer, OutletRequest};

/// Sends requests to one server.
pub(super) struct ToServer {
    pub(super) outlet: Outlet,
    pub(super) url: String,
    /// Headers beside those of the protocol.
    pub(super) headers: Vec<(String, String)>,
    pub(super) patience: Duration,
}

struct Body(OutletAnswer);

impl ToServer {
    async fn send(
        &self,
        method: &'static str,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Result<OutletAnswer, String> {
        let headers = self.headers.iter().cloned().chain(headers).collect();
        let request = OutletRequest { method, url: self.url.clone(), headers, body, patience: self.patience };
        self.outlet.send(request).await.map_err(|failure| failure.to_string())
    }
}

#[async_trait]
impl Posting for ToServer {
    async fn post(&self, headers: Vec<(String, String)>, body: Vec<u8>) -> Result<Posted, String> {
        let answer = self.send("POST", headers, body).await?;
        Ok(Posted { status: answer.status, headers: answer.headers.clone(), body: Box::new(Body(answer)) })
    }

    async fn delete(&self, headers: Vec<(String, String)>) -> Result<(), String> {
        self.send("DELETE", headers, Vec::new()).await.map(drop)
    }
}

#[async_trait]
impl Pieces for Body {
    async fn piece(&mut self) -> Result<Option<Vec<u8>>, String> {
        self.0.piece().await.map_err(|failure| failure.to_string())
    }
}
