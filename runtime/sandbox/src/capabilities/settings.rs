//! `wasi:config/store`: the settings of a component that was not written for Palisade. There are none, so it carries
//! no authority. A secret is never a setting: the host puts it into requests to the host that it is bound to.

use wasmtime::component::{Linker, Val};

use crate::host::Host;

/// Links each of these imports. They are drafts of one interface, which differ in their version alone.
pub(crate) fn link(linker: &mut Linker<Host>, imports: &[String]) -> wasmtime::Result<()> {
    for import in imports {
        let mut instance = linker.instance(import)?;
        instance.func_new("get", |_, _, _, results| answer(results, Val::Option(None)))?;
        instance.func_new("get-all", |_, _, _, results| answer(results, Val::List(Vec::new())))?;
    }
    Ok(())
}

fn answer(results: &mut [Val], value: Val) -> wasmtime::Result<()> {
    if let [result] = results {
        *result = Val::Result(Ok(Some(Box::new(value))));
    }
    Ok(())
}
