//! `palisade:toolbox/<tool>`: another tool of the same agent, called from a component.
//!
//! The interface is in a guest's linker only if the tool is in the agent's scope. The called tool
//! runs in a store of its own, with its own grants, on what is left of the caller's time.

use wasmtime::{StoreContextMut, component::Linker};

use crate::{capabilities::trail::Trail, host::Host, sandbox};

pub(crate) fn link(linker: &mut Linker<Host>, tool: &str) -> wasmtime::Result<()> {
    let name = tool.to_owned();
    linker.instance(&format!("palisade:toolbox/{tool}@0.1.0"))?.func_wrap_async(
        "call",
        move |mut store: StoreContextMut<'_, Host>, (input,): (String,)| {
            let name = name.clone();
            Box::new(async move { Ok((call(store.data_mut(), &name, &input).await,)) })
        },
    )
}

async fn call(host: &mut Host, tool: &str, input: &str) -> Result<String, String> {
    let report = Box::pin(sandbox::call_from(host, tool, input)).await;
    // The other tool may have moved what this one remembers.
    host.trail = Trail::default();
    for denial in report.denials {
        Host::deny(&mut host.denials, denial);
    }
    report.outcome.map_err(|failure| failure.to_string())
}
