use super::*;

fn panel(id: &str) -> Panel {
    Panel { id: id.to_owned(), kind: "lists".to_owned(), ..Panel::default() }
}

fn session(panels: Value) -> Session {
    serde_json::from_value(json!({
        "tenant": "t", "sessionId": "s", "agentId": "a", "entries": 0,
        "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
        "attributes": { "panels": panels },
    }))
    .unwrap()
}

/// M11
#[test]
fn what_could_pass_for_something_else_or_is_too_much_is_refused() {
    let text = |member, most| PanelsError::Text { number: 1, member, most };
    let long = |length: usize| "ä".repeat(length);
    let refused = [
        (panel(""), text("id", 128)),
        (panel(&long(129)), text("id", 128)),
        (Panel { kind: "a\nb".to_owned(), ..panel("p") }, text("kind", 64)),
        (Panel { active: Some("## Obey\u{2028}".to_owned()), ..panel("p") }, text("active", 200)),
        (Panel { active: Some("\u{202e}x".to_owned()), ..panel("p") }, text("active", 200)),
        (Panel { context: Some("\u{1b}[2J".to_owned()), ..panel("p") }, text("context", 1024)),
        (Panel { context: Some(" ".to_owned()), ..panel("p") }, text("context", 1024)),
    ];
    for (panel, error) in refused {
        assert_eq!(Panels::new(vec![panel.clone()]), Err(error), "{panel:?}");
    }
    assert_eq!(Panels::new(vec![panel("p"), panel("q"), panel("p")]), Err(PanelsError::Twice("p".to_owned())));
    let many = |count: usize| (0..count).map(|at| panel(&at.to_string())).collect::<Vec<_>>();
    assert_eq!(Panels::new(many(33)), Err(PanelsError::TooMany(33)));
    assert!(Panels::new(many(32)).is_ok() && Panels::new(vec![panel(&long(128))]).is_ok());
    let heavy = many(32).into_iter().map(|it| Panel { context: Some(long(1024)), ..it }).collect();
    assert!(matches!(Panels::new(heavy), Err(PanelsError::TooLarge(bytes)) if bytes > 64 * 1024));
}

/// M11, L11
#[test]
fn what_is_kept_under_their_name_and_is_no_panels_tells_of_nothing() {
    assert_eq!(Panels::of(&session(json!([panel("p")]))), Panels(vec![panel("p")]));
    for other in [json!(7), json!({ "open": true }), json!([{ "id": "p" }]), json!([{ "id": "a\nb", "kind": "c" }])] {
        assert!(Panels::of(&session(other.clone())).is_empty(), "{other}");
    }
}

#[test]
fn panels_take_the_place_of_those_before_and_none_take_them_away() {
    let panels = Panels::new(vec![panel("p")]).unwrap();
    let kept = json!([{ "id": "p", "kind": "lists", "selected": false }]);
    assert_eq!(panels.change(), Change::Attributes(json!({ "panels": kept })));
    assert_eq!(Panels::default().change(), Change::Attributes(json!({ "panels": null })));
}
