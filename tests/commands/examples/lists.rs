//! `reading-list`, `todo` and `journal`: what their agents have. The tools themselves are called in `tests/suite`.

use super::{Packages, names, reason};
use crate::world::World;

/// E12, E21, P14. The lists of the example are kept as they are: the agent adds, lists, searches and marks, and deletes nothing.
#[test]
fn each_agent_has_the_tools_of_its_list_and_no_others() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    for (agent, name, own, denied) in [
        (
            "reading-list",
            "Reading List Manager",
            &["reading_list_add", "reading_list_list", "reading_list_mark_read", "reading_list_search"][..],
            Some(("reading_list_delete", "denied by `tool_denylist`")),
        ),
        (
            "todo",
            "Todo Manager",
            &["todo_add", "todo_complete", "todo_delete", "todo_list", "todo_remind"],
            Some(("journal_write", "not in `tool_allowlist`")),
        ),
        ("journal", "Personal Journal", &["journal_list", "journal_read", "journal_search", "journal_write"], None),
    ] {
        let explained = packages.explain(&world, agent);
        assert_eq!(explained["plugin"], agent);
        // Where the plugin was granted no storage, that alone is why a tool is not there.
        let mut tools = names(&explained["tools"]);
        let excluded = explained["excluded"].as_array().unwrap().iter();
        let wants = excluded.filter(|tool| tool["reason"].as_str().unwrap().contains("storage"));
        tools.extend(wants.map(|tool| tool["name"].as_str().unwrap()));
        tools.sort_unstable();
        assert_eq!(tools, own, "{agent}");
        if let Some((tool, why)) = denied {
            assert_eq!(reason(&explained, tool), why);
        }
        let shown = packages.palisade(&world, &["agents", "show", agent]).with_code(0).stdout;
        assert!(shown.contains(name), "{shown}");
    }
}

/// E21. What a tool needs decides as well as what it is called: without the list of names, `lists.write` is still denied.
#[test]
fn capabilities_decide_where_names_do_not() {
    let Some(packages) = Packages::built() else { return };
    let world = World::empty();
    world.add_agent(
        "librarian",
        "---\nname: librarian\ndescription: d\ncapability_allowlist: [\"lists.*\", storage]\ncapability_denylist: [lists.write]\n---\n",
    );
    let explained = packages.explain(&world, "librarian");
    for tool in ["reading_list_delete", "todo_delete"] {
        assert_eq!(reason(&explained, tool), "it needs `lists.write`, which `capability_denylist` denies");
    }
    assert_eq!(reason(&explained, "journal_read"), "it needs `journal.read`, which is not in `capability_allowlist`");
    assert_eq!(reason(&explained, "query_db"), "it needs `fs.read`, which is not in `capability_allowlist`");
}
