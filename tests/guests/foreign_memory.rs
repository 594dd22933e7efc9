//! Remembers what it is told about things, in a file. It knows nothing of Palisade.
#![cfg(target_family = "wasm")]
#![expect(clippy::disallowed_methods, reason = "components of others use the standard library")]
#![expect(unsafe_code, reason = "what is generated for an export")]

use std::fs;

mod bindings {
    wit_bindgen::generate!({
        inline: "
            package guests:memory@1.0.0;
            interface graph {
                enum kind { person, place, thing }
                record entity { name: string, kind: kind, observations: list<string>, seen: option<u64> }
                variant query { all, named(string), of-kind(kind) }
                add-entities: func(entities: list<entity>) -> result<u32, string>;
                find: func(query: query, limit: option<u32>) -> result<list<entity>, string>;
                resource cursor { next: func() -> option<entity>; }
                browse: func() -> cursor;
            }
            world memory { export graph; }
        ",
        additional_derives: [Clone, serde::Serialize, serde::Deserialize],
    });
}

use bindings::exports::guests::memory::graph::{Cursor, Entity, Guest, GuestCursor, Query};

const FILE: &str = "memory.jsonl";

struct Memory;

impl Guest for Memory {
    type Cursor = Nowhere;

    fn add_entities(entities: Vec<Entity>) -> Result<u32, String> {
        let mut all = entities_kept()?;
        all.extend(entities);
        let lines: Result<Vec<String>, _> = all.iter().map(serde_json::to_string).collect();
        let lines = lines.map_err(|error| error.to_string())?;
        fs::write(FILE, lines.join("\n")).map_err(|error| error.to_string())?;
        Ok(all.len() as u32)
    }

    fn find(query: Query, limit: Option<u32>) -> Result<Vec<Entity>, String> {
        let is_meant = |entity: &Entity| match &query {
            Query::All => true,
            Query::Named(name) => entity.name == *name,
            Query::OfKind(kind) => entity.kind == *kind,
        };
        Ok(entities_kept()?.into_iter().filter(is_meant).take(limit.unwrap_or(u32::MAX) as usize).collect())
    }

    fn browse() -> Cursor {
        Cursor::new(Nowhere)
    }
}

struct Nowhere;

impl GuestCursor for Nowhere {
    fn next(&self) -> Option<Entity> {
        None
    }
}

fn entities_kept() -> Result<Vec<Entity>, String> {
    let text = match fs::read_to_string(FILE) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error.to_string()),
    };
    text.lines().map(|line| serde_json::from_str(line).map_err(|error| error.to_string())).collect()
}

bindings::export!(Memory with_types_in bindings);
