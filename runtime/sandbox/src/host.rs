//! The state behind one guest: everything its host functions can reach.

use std::{sync::Arc, time::Instant};

use palisade_grants::Denial;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::{
    Limits,
    capabilities::{
        commands::Commands, http::Http, preopens::Files, process::Native, progress::Progress, shell::Session,
        storage::StorageSpace, trail::Trail,
    },
    meter::Meter,
    output::Sink,
    runner::Remote,
    sandbox::Call,
    scope::Tools,
};

/// The state behind one guest. It lives for one call.
pub(crate) struct Host {
    pub(crate) wasi: WasiCtx,
    pub(crate) table: ResourceTable,
    pub(crate) meter: Meter,
    pub(crate) files: Files,
    pub(crate) trail: Trail,
    pub(crate) storage: Option<StorageSpace>,
    /// The native programs that may be run.
    pub(crate) native: Option<Native>,
    /// Bytes of each stream that is kept of a native program.
    pub(crate) output: usize,
    pub(crate) session: Session,
    /// The tools that are commands of this guest, which is a shell.
    pub(crate) commands: Commands,
    pub(crate) http: Option<Box<Http>>,
    pub(crate) progress: Option<Arc<dyn Progress>>,
    /// The tools of the agent that this guest works for.
    pub(crate) tools: Tools,
    /// The host, if this is the process that guests run in: it has programs, storage, the network.
    pub(crate) asked: Option<Remote>,
    pub(crate) depth: u32,
    pub(crate) deadline: Instant,
    pub(crate) cancelled: Call,
    pub(crate) denials: Vec<Denial>,
    pub(crate) stdout: Sink,
    pub(crate) stderr: Sink,
    /// How often the clock interrupted it.
    pub(crate) epochs: u64,
}

/// A guest that is refused ten thousand times has made its point with the first few.
pub(crate) const MAX_DENIALS: usize = 32;

impl Host {
    pub(crate) fn deny(denials: &mut Vec<Denial>, denial: Denial) {
        if denials.len() < MAX_DENIALS && !denials.contains(&denial) {
            denials.push(denial);
        }
    }
}

/// Builds plain WASI: no environment, no arguments, no network, bounded output.
pub(crate) fn wasi(limits: &Limits, stdout: &Sink, stderr: &Sink) -> WasiCtx {
    let mut wasi = WasiCtx::builder();
    wasi.stdout(stdout.clone())
        .stderr(stderr.clone())
        .allow_blocking_current_thread(true)
        .max_random_size((limits.host_call as u64).min(64 << 10))
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false);
    wasi.build()
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}
