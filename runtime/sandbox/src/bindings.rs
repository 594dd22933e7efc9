//! The only `bindgen!`: the host's side of `wit/`.

mod tool {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "palisade:tool/tool-world",
        exports: { default: async },
    });
}

mod host {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "palisade:tool/host-world",
        // A shell's command may be another tool, which may wait; so may a host that is asked.
        imports: {
            "palisade:host/shell.run": async | trappable,
            "palisade:host/http.send": async | trappable,
            default: trappable,
        },
        // They also go to and from the process that guests run in.
        additional_derives: [serde::Serialize, serde::Deserialize],
    });
}

pub(crate) use host::palisade::host::{files, http, process, progress, shell, storage};
pub(crate) use tool::{ToolWorldPre as ToolPre, exports::palisade::tool::tool as exports};
