//! A component that was not written for Palisade, as text: functions that give back what they take, for types that
//! compilers do not make, and functions that give what they should not.

use palisade_sandbox::{Artifact, Compiled, Engine, Failure, digest, precompile};

/// The component's parts that a test adds: definitions, and exported functions.
#[derive(Clone, Debug, Default)]
pub struct Foreign {
    /// Imports and what is made of them, before the core module is instantiated.
    pub around: String,
    /// What the core module is instantiated with.
    pub with: String,
    /// The core module's imports.
    pub imports: String,
    /// More of the core module.
    pub inside: String,
    /// More that is exported. `$guest` is the core instance, `$memory` and `$realloc` are its own.
    pub exports: String,
}

impl Foreign {
    /// A function `same` that gives back a list of the type, with the definitions that the type needs.
    pub fn same(types: &str, item: &str) -> Self {
        let exports = format!(
            r#"{types}
  (func (export "same") (param "items" (list {item})) (result (list {item}))
    (canon lift (core func $guest "pair") (memory $memory) (realloc $realloc)))"#
        );
        Self { exports, ..Self::default() }
    }

    /// A function of this name and result without parameters, which does this.
    pub fn giving(name: &str, result: &str, flat: &str, body: &str) -> Self {
        Self {
            inside: format!(r#"(func (export "{name}") (result {flat}) {body})"#),
            exports: format!(
                r#"(func (export "{name}") (result {result})
    (canon lift (core func $guest "{name}") (memory $memory) (realloc $realloc)))"#
            ),
            ..Self::default()
        }
    }

    /// The component.
    pub fn wasm(&self) -> Result<Vec<u8>, wat::Error> {
        let Self { around, with, imports, inside, exports } = self;
        wat::parse_str(format!(
            r#"(component
  {around}
  (core module $main
    {imports}
    (memory (export "memory") 1 2000)
    (global $free (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.set $free (i32.and (i32.add (global.get $free) (i32.const 15)) (i32.const -16)))
      (global.set $free (i32.add (global.get $free) (local.get 3)))
      (block $fits
        (br_if $fits (i32.le_u (global.get $free) (i32.mul (memory.size) (i32.const 65536))))
        (drop (memory.grow (i32.add (i32.div_u (local.get 3) (i32.const 65536)) (i32.const 1)))))
      (i32.sub (global.get $free) (local.get 3)))
    (func (export "pair") (param i32 i32) (result i32)
      (i32.store (i32.const 16) (local.get 0))
      (i32.store (i32.const 20) (local.get 1))
      (i32.const 16))
    {inside})
  (core instance $guest (instantiate $main {with}))
  (alias core export $guest "memory" (core memory $memory))
  (alias core export $guest "realloc" (core func $realloc))
  {exports})"#
        ))
    }

    /// Compiles it here and loads it.
    pub fn load(&self, engine: &Engine) -> Result<Compiled, Failure> {
        let bad = |reason: String| Failure::BadComponent { reason };
        let wasm = self.wasm().map_err(|error| bad(error.to_string()))?;
        let code = precompile(&wasm).map_err(|error| bad(error.to_string()))?;
        Ok(Compiled::load(engine, &Artifact::built_in(digest(&wasm), Vec::leak(code)))?.documented_by(&wasm))
    }
}
