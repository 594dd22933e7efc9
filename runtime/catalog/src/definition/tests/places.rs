//! Lines and columns.

use super::*;

/// Where the first notice about a text is.
fn place(result: Result<Parsed, Rejected>) -> (usize, usize) {
    let notices = match result {
        Ok(parsed) => parsed.warnings,
        Err(rejected) => rejected.notices,
    };
    let first = notices.first().unwrap();
    (first.line.unwrap(), first.column.unwrap())
}

#[test]
fn keys_and_values_are_found_in_every_style() {
    let check = |text: &str, expected| {
        assert_eq!(place(yaml(text)), expected, "{text:?}");
        let (line, column) = expected;
        let inside = format!("---\n{text}\n---\n");
        assert_eq!(place(markdown(&inside)), (line + 1, column), "{inside:?}");
    };
    // A value, a key, in a block.
    check("name: a\ndescription: b\ntemperature:   7", (3, 16));
    check("name: a\ncolor: red\ndescription: b", (2, 1));
    // The same, with braces.
    check("{name: a, description: b, temperature: 7}", (1, 40));
    check("{name: a, description: b, color: red}", (1, 27));
    // Deep inside, over several lines.
    check("name: a\ndescription: b\npermissions:\n  allow:\n    - read\n    - 7", (6, 7));
    check("name: a\ndescription: b\ntools: [read,\n  {x: 1}]", (4, 3));
    check("name: a\ndescription: b\ntools:\n  - read\n  - ''\n", (5, 5));
    // Behind characters of several bytes.
    check("{name: a, description: héé€😀, color: red}", (1, 31));
    // Through an alias: where the value is written.
    check("name: a\ndescription: &x b\ntemperature: *x", (2, 14));
    // Quoted keys, comments, empty values.
    check("# c\nname: a\n'description': b\n\"temperature\": 7 # x", (4, 16));
    check("name: a\ndescription: b\ntype:\n  [x]\n", (4, 3));
}

#[test]
fn json_is_found_as_exactly() {
    let source = Source { description: Presence::Optional, ..source() };
    let check = |text: &str, expected| {
        let rejected = parse_config(text.as_bytes(), &source).unwrap_err();
        let first = rejected.errors().next().unwrap();
        assert_eq!((first.line.unwrap(), first.column.unwrap()), expected, "{text}: {first}");
    };
    check("{\n  \"agents\": [\n    { \"name\": \"a\", \"temperature\":   7 }\n  ]\n}", (3, 37));
    check("{\"agents\":[{\"name\":\"a\",\"temperature\":7}]}", (1, 38));
    check("{ \"agents\": [{ \"name\": \"é€😀\" ,\"description\":7}] }", (1, 24));
    check("{ \"agents\": [{ \"name\": \"a\", \"tools\": [ \"x\" , 7 ] }] }", (1, 46));
    check("{ \"agents\": [{ \"name\": \"a\", \"toolz\": [] }] }", (1, 29));
    check("  7", (1, 3));
    check("{ \"a\": 1,, }", (1, 10));
    check("{ \"a\": tru }", (1, 11));
    check("{ \"a\": 1 } x", (1, 12));
    check("{ \"a\"", (1, 5));
}

/// A18
#[test]
fn everything_wrong_in_a_file_is_reported_at_once_in_its_order() {
    let text = "---\nname: a b\ncolor: red\ndescription: [x]\ntools: [read, 7]\nhidden: maybe\n---\n";
    let rejected = markdown(text).unwrap_err();
    let found: Vec<_> =
        rejected.notices.iter().map(|notice| (notice.severity, notice.line, notice.field.as_deref())).collect();
    assert_eq!(
        found,
        [
            (Severity::Error, Some(2), Some("name")),
            (Severity::Warning, Some(3), Some("color")),
            (Severity::Error, Some(4), Some("description")),
            (Severity::Error, Some(5), Some("tools[1]")),
            (Severity::Error, Some(6), Some("hidden")),
        ]
    );
    assert_eq!(rejected.to_string(), rejected.notices[0].to_string());
}

#[test]
fn a_notice_can_be_read_by_programs() {
    let notice = markdown("---\nname: a b\ndescription: b\n---\n").unwrap_err().notices.remove(0);
    let json = serde_json::to_value(&notice).unwrap();
    assert_eq!(json["severity"], "error");
    assert_eq!((&json["file"], &json["line"], &json["column"]), (&"a.md".into(), &2.into(), &7.into()));
    assert_eq!(
        serde_json::to_value(Notice::warning("f", "m")).unwrap(),
        serde_json::json!({ "severity": "warning", "file": "f", "message": "m" })
    );
}

#[test]
fn at_most_fifty_notices_are_kept_and_an_error_among_them() {
    let many: String = (0..200).map(|at| format!("x{at}: 1\n")).collect();
    let parsed = yaml(&format!("name: a\ndescription: b\n{many}")).unwrap();
    assert_eq!(parsed.warnings.len(), 51);
    assert_eq!(parsed.warnings[50].message, "150 more notices are not shown");
    let rejected = yaml(&format!("name: a\ndescription: b\n{many}temperature: 7\nhidden: 7\n")).unwrap_err();
    starts_with(&rejected.to_string(), "a.md: error: `temperature` must be");
    let entries = vec!["{}"; 5000].join(",");
    let manifest =
        parse_manifest(format!("{{\"name\":\"p\",\"agents\":[{entries}]}}").as_bytes(), "plugin.json").unwrap();
    assert_eq!((manifest.agents.len(), manifest.warnings.len()), (0, 51));
}
