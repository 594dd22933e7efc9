//! The contract of a tool as files for compilers, and a core module made a component by it.

use std::{collections::BTreeSet, path::Path};

use anyhow::Context as _;
use palisade_grants::Capability;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::{files, template};

/// What a C library may ask the host for, of those interfaces only the functions that are asked for.
const SYSTEM: &str = "
package wasi:io@0.2.0 {
    interface error { resource error; }
    interface streams {
        use error.{error};
        variant stream-error { last-operation-failed(error), closed }
        resource output-stream { blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>; }
    }
}
package wasi:cli@0.2.0 {
    interface stderr {
        use wasi:io/streams@0.2.0.{output-stream};
        get-stderr: func() -> output-stream;
    }
}
package wasi:clocks@0.2.0 {
    interface wall-clock {
        record datetime { seconds: u64, nanoseconds: u32 }
        now: func() -> datetime;
    }
    interface monotonic-clock { now: func() -> u64; }
}
package wasi:random@0.2.0 {
    interface random { get-random-u64: func() -> u64; }
}
";

const IMPORTS: &str = "
world module {
    include tool-world;
    import wasi:io/streams@0.2.0;
    import wasi:cli/stderr@0.2.0;
    import wasi:clocks/wall-clock@0.2.0;
    import wasi:clocks/monotonic-clock@0.2.0;
    import wasi:random/random@0.2.0;
}
";

/// The contract without the host's own interfaces, which need files of their own: what a tool exports.
fn exports() -> &'static str {
    let contract = template::contract();
    let end = contract.find("/// What every guest").unwrap_or(contract.len());
    &contract[..end]
}

/// The host's interface for a power, in languages whose compilers leave WASI out.
fn interface(power: Capability) -> Option<&'static str> {
    match power {
        Capability::FsRead => Some("files"),
        Capability::Storage => Some("storage"),
        Capability::Http => Some("http"),
        _ => None,
    }
}

/// The interfaces of the host for these powers, by name.
pub(super) fn interfaces(powers: &BTreeSet<Capability>) -> Vec<&'static str> {
    powers.iter().filter_map(|power| interface(*power)).collect()
}

/// An interface of the host, as a compiler's input names it.
pub(super) fn import(interface: &str) -> String {
    format!("palisade:host/{interface}@0.1.0")
}

/// The world that a tool with these powers is built for.
pub(super) const WORLD: &str = "built-world";

/// Writes the contract for a compiler that wants it as a folder, with what the host offers for these powers and nothing
/// else: a compiler imports all that is in the world, and a component is refused that imports more than it declares.
pub(super) fn write(folder: &Path, powers: &BTreeSet<Capability>) -> anyhow::Result<()> {
    let unwritable = || format!("{} cannot be written", folder.display());
    let interfaces = interfaces(powers);
    let imports: String = interfaces.iter().map(|name| format!("    import {};\n", import(name))).collect();
    let text = format!("{}\nworld {WORLD} {{\n    include tool-world;\n{imports}}}\n", exports());
    files::write(&folder.join("tool.wit"), text.as_bytes()).with_context(unwritable)?;
    for name in interfaces {
        let text = template::interface(name).with_context(|| format!("there is no interface `{name}`"))?;
        files::write(&folder.join(format!("deps/host/{name}.wit")), text.as_bytes()).with_context(unwritable)?;
    }
    Ok(())
}

/// Makes a core module that exports the functions of the contract a component.
pub(super) fn componentise(mut module: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    let mut resolve = Resolve::default();
    let (package, rest) = exports().split_once(';').context("the contract names no package")?;
    let text = format!("{package};\n{SYSTEM}\n{rest}\n{IMPORTS}");
    let package = resolve.push_str("tool.wit", &text)?;
    let world = resolve.select_world(&[package], Some("module"))?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    ComponentEncoder::default().validate(true).module(&module)?.encode()
}
