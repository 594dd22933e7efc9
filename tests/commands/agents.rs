//! `palisade agents`.

use serde_json::json;

use crate::world::World;

#[test]
fn agents_are_listed_with_what_they_may_do() {
    let world = World::empty();
    let list = world.palisade(&["agents", "list", "--json"]).with_code(0).json();
    assert_eq!(list[0]["name"], "explore");
    assert_eq!(list[0]["grants"], json!({ "files": { ".": "read" } }));
    assert_eq!(list[1]["grants"], json!({ "files": { ".": "read-write" } }));
    let text = world.palisade(&["agents", "list"]).with_code(0).stdout;
    assert!(text.contains("files: . read-only"), "{text}");
}
