//! Calling other tools of the same agent. A tool declares `tools`.
//!
//! Each is there only for an agent that has it in its scope: a tool that calls [`write()`] cannot be linked for one
//! that may not write. What another tool may do is what it may do for that agent, and no more than its caller.
//!
//! A tool of any other name is imported in the same way:
//!
//! ```ignore
//! mod bindings {
//!     palisade_tool::wit_bindgen::generate!({
//!         inline: "
//!             package palisade:toolbox@0.1.0;
//!             interface todo-add { call: func(input: string) -> result<string, string>; }
//!             world caller { import todo-add; }
//!         ",
//!         runtime_path: "palisade_tool::wit_bindgen::rt",
//!     });
//! }
//! let said = bindings::palisade::toolbox::todo_add::call(r#"{"text":"milk"}"#);
//! ```

use crate::Failure;

macro_rules! tools {
    ($($name:ident),*) => {$(
        #[doc = concat!("Calls `", stringify!($name), "` with its input, a JSON object.")]
        pub fn $name(input: &str) -> Result<String, Failure> {
            #[cfg(target_family = "wasm")]
            return crate::bindings::toolbox::$name::call(input).map_err(Failure::Failed);
            #[cfg(not(target_family = "wasm"))]
            return Err(Failure::Failed(format!("`{}` can be called by a host alone: {input}", stringify!($name))));
        }
    )*};
}

tools!(read, ls, tree, glob, grep, write, edit, think);
