//! Components written as text: for what no compiler would produce.

use palisade_sandbox::{Artifact, Compiled, Engine, Failure, digest, precompile};

/// A tool whose parts can be replaced one by one. The default is sound and answers `ok`.
#[derive(Clone)]
pub struct Handmade {
    /// Definitions of the component before its core module: imports, resources, other modules.
    pub around: String,
    /// What the core module is instantiated with.
    pub with: String,
    /// The core module's imports.
    pub imports: String,
    /// The limits of its memory, in pages.
    pub memory: String,
    /// More of the core module: functions, tables, a start function.
    pub inside: String,
    /// What runs before memory is handed out to the host.
    pub realloc: String,
    /// What runs when the tool is asked what it is; it gives the address of its description.
    pub describe: String,
    /// What runs when the tool is called, before it answers `ok`.
    pub call: String,
    /// What runs after the host has read the answer.
    pub post: String,
}

/// Instructions that never end.
pub const FOR_EVER: &str = "(loop $for_ever (br $for_ever))";

impl Default for Handmade {
    fn default() -> Self {
        let none = String::new;
        Self {
            around: none(),
            with: none(),
            imports: none(),
            memory: "1".to_owned(),
            inside: none(),
            realloc: none(),
            describe: "unreachable".to_owned(),
            call: none(),
            post: none(),
        }
    }
}

impl Handmade {
    /// The same, saying this of itself; `before` runs before it does.
    #[must_use]
    pub fn saying(self, name: &str, description: &str, schema: &str, before: &str) -> Self {
        let (record, text) = (2048, 4096);
        let all = format!("{name}{description}{schema}");
        let pages = (text + all.len()) / 65_536 + 1;
        let data: String = all.bytes().map(|byte| format!("\\{byte:02x}")).collect();
        let mut describe = before.to_owned();
        let mut at = text;
        for (field, part) in [name, description, schema].into_iter().enumerate() {
            for (offset, value) in [(0, at), (4, part.len())] {
                describe += &format!("(i32.store (i32.const {}) (i32.const {value}))", record + 8 * field + offset);
            }
            at += part.len();
        }
        describe += &format!("(i32.const {record})");
        let inside = format!("{} (data (i32.const {text}) \"{data}\")", self.inside);
        Self { memory: pages.to_string(), inside, describe, ..self }
    }

    /// A tool that describes itself by eight letters of chance, and so otherwise each time it is asked.
    #[must_use]
    pub fn fickle(name: &str) -> Self {
        let fickle = Self {
            around: r#"(import "wasi:random/insecure@0.2.0" (instance $random
                (export "get-insecure-random-u64" (func (result u64)))))
              (core func $random-lowered (canon lower (func $random "get-insecure-random-u64")))"#
                .to_owned(),
            with: r#"(with "host" (instance (export "random" (func $random-lowered))))"#.to_owned(),
            imports: r#"(import "host" "random" (func $random (result i64)))"#.to_owned(),
            ..Self::default()
        };
        // Letters from `a` to `p` in place of the description, which follows the name.
        let before = format!(
            "(i64.store (i32.const {}) (i64.add (i64.const 0x6161616161616161)
               (i64.and (call $random) (i64.const 0x0f0f0f0f0f0f0f0f))))",
            4096 + name.len()
        );
        fickle.saying(name, "12345678", r#"{"type":"object"}"#, &before)
    }

    /// The component.
    pub fn wasm(&self) -> Result<Vec<u8>, wat::Error> {
        wat::parse_str(self.text())
    }

    /// Compiles it here and loads it.
    pub fn load(&self, engine: &Engine) -> Result<Compiled, Failure> {
        let bad = |reason: String| Failure::BadComponent { reason };
        let wasm = self.wasm().map_err(|error| bad(error.to_string()))?;
        let code = precompile(&wasm).map_err(|error| bad(error.to_string()))?;
        Compiled::load(engine, &Artifact::built_in(digest(&wasm), Vec::leak(code)))
    }

    fn text(&self) -> String {
        let Self { around, with, imports, memory, inside, realloc, describe, call, post } = self;
        format!(
            r#"(component
  {around}
  (core module $main
    {imports}
    (memory (export "memory") {memory})
    (data (i32.const 32) "ok")
    (global $free (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      {realloc}
      (global.set $free (i32.add (global.get $free) (i32.and (i32.add (local.get 3) (i32.const 15)) (i32.const -16))))
      (i32.sub (global.get $free) (i32.and (i32.add (local.get 3) (i32.const 15)) (i32.const -16))))
    (func (export "describe") (result i32) {describe})
    (func (export "call") (param i32 i32) (result i32)
      {call}
      (i32.store (i32.const 16) (i32.const 0))
      (i32.store (i32.const 20) (i32.const 32))
      (i32.store (i32.const 24) (i32.const 2))
      (i32.const 16))
    (func (export "post") (param i32) {post})
    {inside})
  (core instance $guest (instantiate $main {with}))
  (alias core export $guest "memory" (core memory $memory))
  (alias core export $guest "realloc" (core func $realloc))
  (alias core export $guest "describe" (core func $core-describe))
  (alias core export $guest "call" (core func $core-call))
  (alias core export $guest "post" (core func $core-post))
  (type $description {DESCRIPTION})
  (type $failure {FAILURE})
  (func $describe (result $description)
    (canon lift (core func $core-describe) (memory $memory) (realloc $realloc)))
  (func $call (param "input" string) (result (result string (error $failure)))
    (canon lift (core func $core-call) (memory $memory) (realloc $realloc) (post-return $core-post)))
  (component $named
    (type $description-shape {DESCRIPTION})
    (type $failure-shape {FAILURE})
    (import "import-type-description" (type $description (eq $description-shape)))
    (import "import-type-failure" (type $failure (eq $failure-shape)))
    (import "import-func-describe" (func $describe (result $description)))
    (import "import-func-call" (func $call (param "input" string) (result (result string (error $failure)))))
    (export $description-named "description" (type $description))
    (export $failure-named "failure" (type $failure))
    (export "describe" (func $describe) (func (result $description-named)))
    (export "call" (func $call) (func (param "input" string) (result (result string (error $failure-named))))))
  (instance $tool (instantiate $named
    (with "import-type-description" (type $description))
    (with "import-type-failure" (type $failure))
    (with "import-func-describe" (func $describe))
    (with "import-func-call" (func $call))))
  (export "palisade:tool/tool@0.1.0" (instance $tool)))"#
        )
    }
}

const DESCRIPTION: &str = r#"(record (field "name" string) (field "description" string) (field "input-schema" string) (field "capabilities" (list string)) (field "read-only" bool) (field "idempotent" bool))"#;
const FAILURE: &str = r#"(variant (case "invalid-input" string) (case "denied" string) (case "failed" string))"#;
