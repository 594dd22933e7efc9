//! What a client is told of a tool beside its description. Derived from what the tool may touch, not from what it
//! says of itself, so that it is true of a tool that nobody trusts.

use palisade_grants::Grants;
use rmcp::model::ToolAnnotations;

/// What a client is told of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing, because it cannot.
    pub read_only: bool,
    /// Calling it twice has the effect of calling it once.
    pub idempotent: bool,
    /// It reaches something outside of this machine.
    pub open_world: bool,
}

impl Hints {
    /// What follows from all that a call may touch. Whether calling it twice matters is known to the tool alone; who
    /// changes nothing can be called as often as wanted.
    pub fn of(reach: &Grants, idempotent: bool) -> Self {
        let read_only = reach.only_read();
        Self { read_only, idempotent: idempotent || read_only, open_world: !reach.http.is_empty() }
    }

    /// The same of something that speaks to others than those it was granted, such as an agent whose model is elsewhere.
    pub fn reaching_out(self, reaches_out: bool) -> Self {
        Self { open_world: self.open_world || reaches_out, ..self }
    }

    pub(crate) fn annotations(self) -> ToolAnnotations {
        let Self { read_only, idempotent, open_world } = self;
        // What may change something may also take it away: there are no grants that only add.
        ToolAnnotations::new()
            .read_only(read_only)
            .destructive(!read_only)
            .idempotent(idempotent)
            .open_world(open_world)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(grants: Value, idempotent: bool, expected: [bool; 4]) {
        let hints = Hints::of(&serde_json::from_value(grants.clone()).unwrap(), idempotent);
        let told = serde_json::to_value(hints.annotations()).unwrap();
        let [read_only, destructive, idempotent, open_world] = expected;
        let expected = json!({
            "readOnlyHint": read_only,
            "destructiveHint": destructive,
            "idempotentHint": idempotent,
            "openWorldHint": open_world,
        });
        assert_eq!(told, expected, "{grants}");
    }

    #[test]
    fn hints_follow_from_what_a_call_may_touch() {
        check(json!({}), false, [true, false, true, false]);
        check(json!({ "files": { ".": "read" } }), false, [true, false, true, false]);
        check(json!({ "files": { ".": "read-write" } }), false, [false, true, false, false]);
        check(json!({ "files": { ".": "read-write" } }), true, [false, true, true, false]);
        check(json!({ "http": ["docs.rs"] }), false, [true, false, true, true]);
        check(json!({ "http": ["GET,POST docs.rs"] }), false, [false, true, false, true]);
        check(json!({ "commands": ["ls"] }), false, [false, true, false, false]);
    }
}
