//! What a component that was not written for Palisade imports and no tool may have. Its compiler put the imports there
//! unasked, so it runs without them: nothing is behind them, and a call of one ends the guest.

use wasmtime::component::{Component, Linker, ResourceType, types::ComponentItem};

use crate::host::Host;

/// The host ended a guest because it called such a function.
#[derive(Debug, thiserror::Error)]
#[error("it called `{0}`, which no tool may have")]
pub(crate) struct Called(String);

/// What its resources would be handles of. There never is one.
enum Nothing {}

/// Links these imports of a component, and no others: those that it may have are found by their version too, and
/// something under their exact name would take their place.
pub(crate) fn link(linker: &mut Linker<Host>, component: &Component, absent: &[String]) -> wasmtime::Result<()> {
    let engine = component.engine();
    let mut seen: Vec<ResourceType> = Vec::new();
    for (import, item) in component.component_type().imports(engine) {
        let is_absent = absent.iter().any(|absent| absent == import);
        let ComponentItem::ComponentInstance(instance) = item.ty else { continue };
        for (name, item) in instance.exports(engine) {
            match item.ty {
                // One that another import has already brought is known from there.
                ComponentItem::Resource(ty) if !seen.contains(&ty) => {
                    seen.push(ty);
                    if is_absent {
                        let ty = ResourceType::host::<Nothing>();
                        linker.instance(import)?.resource(name, ty, |_, _| Ok(()))?;
                    }
                }
                ComponentItem::ComponentFunc(_) if is_absent => {
                    let called = format!("{import}#{name}");
                    let end = move || Err(Called(called.clone()).into());
                    linker.instance(import)?.func_new(name, move |_, _, _, _| end())?;
                }
                _ => {}
            }
        }
    }
    Ok(())
}
