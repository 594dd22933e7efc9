//! What the author of a tool imports.
//!
//! A tool is a typed function with a doc comment. The comment is what the model reads, the input
//! type gives the JSON Schema, and [`tool!`] makes the component:
//!
//! ```
//! use palisade_sdk::Failure;
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! pub struct Input {
//!     /// Who to greet.
//!     name: String,
//! }
//!
//! palisade_sdk::tool! {
//!     /// Greets someone by name.
//!     #[tool(needs = [], read_only = true, idempotent = true)]
//!     pub fn greet(input: Input) -> Result<String, Failure> {
//!         Ok(format!("Hello, {}!", input.name))
//!     }
//! }
//! # fn main() { assert_eq!(call(r#"{"name":"Ada"}"#), Ok("Hello, Ada!".to_owned())); }
//! ```
//!
//! The same crate builds natively, so a tool's logic is tested with plain `cargo test`.

#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod bindings;
mod describe;
mod failure;
pub mod files;
pub mod http;
pub mod process;
pub mod progress;
mod replace;
pub mod text;
pub mod walk;

pub use describe::{Description, describe, parse};
pub use failure::Failure;
pub use replace::{Replaced, replace};

/// Turns a typed function into a tool; see the [crate documentation](crate).
///
/// It defines the function, `describe()` and `call(&str)` beside it, and on WebAssembly exports
/// both as `palisade:tool/tool`.
#[macro_export]
macro_rules! tool {
    (
        $(#[doc = $doc:literal])+
        #[tool(needs = [$($need:literal),*], read_only = $read_only:literal, idempotent = $idempotent:literal)]
        pub fn $name:ident($input:ident: $Input:ty) -> $Output:ty $body:block
    ) => {
        $(#[doc = $doc])+
        pub fn $name($input: $Input) -> $Output $body

        /// Says what the tool is.
        pub fn describe() -> $crate::Description {
            $crate::describe::<$Input>(
                stringify!($name),
                &[$($doc),+],
                &[$($need),*],
                $read_only,
                $idempotent,
            )
        }

        /// Parses the input and does the work.
        pub fn call(input: &str) -> Result<String, $crate::Failure> {
            $name($crate::parse::<$Input>(input)?)
        }

        #[cfg(target_family = "wasm")]
        mod component {
            struct Component;

            impl $crate::bindings::tool::Guest for Component {
                fn describe() -> $crate::bindings::tool::Description {
                    super::describe().into()
                }

                fn call(input: String) -> Result<String, $crate::bindings::tool::Failure> {
                    super::call(&input).map_err(Into::into)
                }
            }

            $crate::bindings::export!(Component with_types_in $crate::bindings);
        }
    };
}
