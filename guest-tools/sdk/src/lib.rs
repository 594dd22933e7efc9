//! What the author of a tool imports.
//!
//! A tool is a typed function with doc comments. What stands above it is what the model reads, what
//! stands above its arguments and their types give the JSON Schema, and [`tool!`] makes the component:
//!
//! ```
//! palisade_tool::tool! {
//!     /// Greets someone by name.
//!     #[tool(needs = [], read_only = true, idempotent = true)]
//!     pub fn greet(
//!         /// Who to greet.
//!         name: String,
//!         /// What to say instead of `Hello`.
//!         greeting: Option<String>,
//!     ) -> Result<String, palisade_tool::Failure> {
//!         let greeting = greeting.unwrap_or_else(|| "Hello".to_owned());
//!         Ok(format!("{greeting}, {name}!"))
//!     }
//! }
//! # fn main() { assert_eq!(call(r#"{"name":"Ada"}"#), Ok("Hello, Ada!".to_owned())); }
//! ```
//!
//! An input that is shared or has attributes of its own is a type; then the function has it as its only argument:
//!
//! ```
//! use palisade_tool::{Failure, schemars, schemars::JsonSchema, serde, serde::Deserialize};
//!
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! pub struct Input {
//!     /// Who to greet.
//!     name: String,
//! }
//!
//! palisade_tool::tool! {
//!     /// Greets someone by name.
//!     #[tool(needs = [], read_only = true, idempotent = true)]
//!     pub fn greet(input: Input) -> Result<String, Failure> {
//!         Ok(format!("Hello, {}!", input.name))
//!     }
//! }
//! # fn main() { assert_eq!(call(r#"{"name":"Ada"}"#), Ok("Hello, Ada!".to_owned())); }
//! ```
//!
//! `needs` has the powers that the tool cannot do without, such as `fs.read`. Any error that `?` meets is a
//! failed call, and a panic is one that names its place in the source.
//!
//! The same crate builds natively, so a tool's logic is tested with plain `cargo test`.

// The types that the macro makes name this crate, also from inside it.
extern crate self as palisade_tool;

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
pub mod storage;
pub mod text;
pub mod toolbox;
#[cfg(feature = "walk")]
pub mod walk;

pub use schemars;
pub use serde;
pub use wit_bindgen;

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
    (
        $(#[doc = $doc:literal])+
        #[tool(needs = [$($need:literal),*], read_only = $read_only:literal, idempotent = $idempotent:literal)]
        pub fn $name:ident($($(#[$about:meta])+ $field:ident: $Field:ty),* $(,)?) -> $Output:ty $body:block
    ) => {
        #[derive($crate::serde::Deserialize, $crate::schemars::JsonSchema)]
        #[serde(crate = "palisade_tool::serde", deny_unknown_fields)]
        #[schemars(crate = "palisade_tool::schemars")]
        /// The input of the tool.
        pub struct Input {
            $($(#[$about])+ $field: $Field,)*
        }

        $crate::tool! {
            $(#[doc = $doc])+
            #[tool(needs = [$($need),*], read_only = $read_only, idempotent = $idempotent)]
            pub fn $name(input: Input) -> $Output {
                let Input { $($field),* } = input;
                $body
            }
        }
    };
}

#[cfg(test)]
#[expect(unreachable_pub, reason = "what the macro writes is for hosts, which a test is not")]
mod tests {
    use crate::Failure;

    mod repeat {
        crate::tool! {
            /// Says a word again and again.
            #[tool(needs = [], read_only = true, idempotent = false)]
            pub fn repeat(
                /// The word.
                word: String,
                /// How often.
                #[serde(default = "twice")]
                times: i64,
            ) -> Result<String, crate::Failure> {
                let times: usize = times.try_into()?;
                Ok(word.repeat(times))
            }
        }

        fn twice() -> i64 {
            2
        }
    }

    mod nothing {
        crate::tool! {
            /// Wants nothing.
            #[tool(needs = ["fs.read"], read_only = true, idempotent = true)]
            pub fn nothing() -> Result<String, crate::Failure> {
                Ok(String::from_utf8(vec![0xff])?)
            }
        }
    }

    #[test]
    fn arguments_with_comments_become_the_schema() {
        let described = repeat::describe();
        assert_eq!(
            (described.name.as_str(), described.description.as_str()),
            ("repeat", "Says a word again and again.")
        );
        let schema: serde_json::Value = serde_json::from_str(&described.input_schema).unwrap();
        assert_eq!(schema["properties"]["word"]["description"], "The word.");
        assert_eq!(schema["required"], serde_json::json!(["word"]));
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(repeat::call(r#"{"word":"la","times":3}"#), Ok("lalala".to_owned()));
        assert_eq!(repeat::call(r#"{"word":"la","times":null}"#), Ok("lala".to_owned()));
        assert!(matches!(repeat::call(r#"{"words":"la"}"#), Err(Failure::InvalidInput(_))));
    }

    #[test]
    fn an_error_is_a_failed_call() {
        let Err(Failure::Failed(text)) = nothing::call("{}") else { panic!("it should fail") };
        assert!(text.contains("utf-8"), "{text}");
        assert_eq!(nothing::describe().capabilities, ["fs.read"]);
    }
}
