//! Bare wasmtime in its best configuration, without any limit: the floor that our calls stand on.

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store,
    component::{Component, Linker, ResourceTable},
};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

mod bindings {
    wasmtime::component::bindgen!({ path: "../wit", world: "palisade:tool/tool-world" });
}

use bindings::ToolWorldPre;

/// A linked `echo` with nothing around it.
#[derive(Clone)]
pub(crate) struct Floor {
    engine: Engine,
    pre: ToolWorldPre<State>,
}

struct State {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl Floor {
    /// Pooled, pages kept resident, the kernel asked which were touched, no concurrency support, no
    /// epochs, synchronous.
    pub(crate) fn new(wasm: &[u8]) -> anyhow::Result<Self> {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(100)
            .total_core_instances(400)
            .total_memories(100)
            .total_tables(200)
            .linear_memory_keep_resident(2 << 20)
            .table_keep_resident(2 << 20)
            .pagemap_scan(Enabled::Auto);
        let mut config = Config::new();
        config.concurrency_support(false).allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config).map_err(bare)?;
        let component = Component::new(&engine, wasm).map_err(bare)?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_sync(&mut linker).map_err(bare)?;
        let pre = linker.instantiate_pre(&component).and_then(ToolWorldPre::new).map_err(bare)?;
        Ok(Self { engine, pre })
    }

    pub(crate) fn call(&self, input: &str) -> anyhow::Result<String> {
        let state = State { wasi: WasiCtx::builder().build(), table: ResourceTable::new() };
        let mut store = Store::new(&self.engine, state);
        let tool = self.pre.instantiate(&mut store).map_err(bare)?;
        let output = tool.palisade_tool_tool().call_call(&mut store, input).map_err(bare)?;
        output.map_err(|failure| anyhow::anyhow!("{failure:?}"))
    }
}

fn bare(error: wasmtime::Error) -> anyhow::Error {
    anyhow::anyhow!("{error:#}")
}
