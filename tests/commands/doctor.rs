//! `palisade doctor`, `--version` and `--help`.

use crate::world::World;

#[test]
fn it_works_on_this_machine() {
    let ended = World::empty().palisade(&["doctor"]).with_code(0);
    assert!(!ended.stdout.contains("fail"), "{}", ended.stdout);
    let report = World::empty().palisade(&["doctor", "--json"]).with_code(0).json();
    assert_eq!(report["ok"], true);
    let names: Vec<&str> =
        report["checks"].as_array().unwrap().iter().filter_map(|check| check["name"].as_str()).collect();
    for name in ["version", "kernel", "engine", "clock", "tools", "compiler", "sandbox", "confinement", "model"] {
        assert!(names.contains(&name), "{name} is missing from {names:?}");
    }
}

#[test]
fn it_says_its_version_and_its_exit_codes() {
    let world = World::empty();
    assert_eq!(
        world.palisade(&["--version"]).with_code(0).stdout,
        concat!("palisade ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let help = world.palisade(&["run", "--help"]).with_code(0).stdout;
    assert!(help.contains("Examples:") && help.contains("130  cancelled"), "{help}");
    let help = world.palisade(&["--help"]).with_code(0).stdout;
    assert!(!help.contains("compile-worker"), "{help}");
    world.palisade(&[]).with_code(2);
}

#[test]
fn the_compile_worker_compiles_and_nothing_else() {
    let ended = World::empty().palisade_reading(&["compile-worker", "4294967296", "10"], "nonsense").with_code(1);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("not a WebAssembly component"), "{}", ended.stderr);
}
