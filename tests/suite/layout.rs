//! Rules about the source itself that no compiler checks.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// Every file with this ending below a folder, without what is built.
pub(crate) fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let (mut found, mut waiting) = (Vec::new(), vec![root().join(folder)]);
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                if !["target", ".git", "node_modules"].contains(&name) {
                    waiting.push(path);
                }
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The sections of a manifest with the lines in each.
fn sections(manifest: &str) -> BTreeMap<String, Vec<String>> {
    let mut sections: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut section = String::new();
    for line in manifest.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(name) => section = name.trim_matches(['[', ']']).to_owned(),
            None => sections.entry(section.clone()).or_default().push(line.to_owned()),
        }
    }
    sections
}

/// The names that a manifest's ordinary and build dependencies have.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let sections = sections(manifest);
    let lines = ["dependencies", "build-dependencies"].iter().filter_map(|section| sections.get(*section)).flatten();
    lines.map(|line| line.split(['=', '.', ' ']).next().unwrap_or(line).to_owned()).collect()
}

fn manifests(folder: &str) -> impl Iterator<Item = (String, String)> {
    files(folder, "Cargo.toml").into_iter().map(|path| {
        let name = path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(&path).unwrap())
    })
}

/// SUP-08
#[test]
fn crates_depend_on_each_other_only_as_drawn() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("grants", &[][..]),
        ("sandbox", &["palisade-grants"]),
        ("agent", &["palisade-grants"]),
        ("model", &["palisade-agent"]),
        ("store", &["palisade-agent"]),
        ("packages", &["palisade-grants"]),
        ("mcp", &["palisade-agent", "palisade-grants"]),
        ("server", &["palisade-agent", "palisade-mcp", "palisade-store"]),
        (
            "catalog",
            &[
                "palisade-agent",
                "palisade-grants",
                "palisade-mcp",
                "palisade-sandbox",
                "palisade-components",
                "palisade-guest-build",
                "palisade-guest-embed",
            ],
        ),
        (
            "cli",
            &[
                "palisade-agent",
                "palisade-catalog",
                "palisade-grants",
                "palisade-mcp",
                "palisade-model",
                "palisade-packages",
                "palisade-sandbox",
                "palisade-server",
                "palisade-store",
            ],
        ),
        // Guests are built beside the sandbox, so what builds them does not know it.
        ("build", &[]),
        ("components", &["palisade-guest-build"]),
        ("embed", &["palisade-guest-build", "palisade-sandbox"]),
        ("sdk", &[]),
    ]);
    let mut seen = BTreeSet::new();
    for (name, manifest) in manifests("runtime").chain(manifests("guest-tools")) {
        let tool: &[&str] = &["palisade-tool"];
        let may = allowed.get(name.as_str()).copied().unwrap_or(tool);
        for dependency in dependencies(&manifest).iter().filter(|name| name.starts_with("palisade")) {
            assert!(may.contains(&dependency.as_str()), "{name} must not depend on {dependency}");
        }
        seen.insert(name);
    }
    for name in allowed.keys() {
        assert!(seen.contains(*name), "there is no crate {name}");
    }
}

/// SUP-08
#[test]
fn only_the_sandbox_and_the_benchmarks_name_wasmtime() {
    for folder in ["runtime", "guest-tools", "tests"] {
        for (name, manifest) in manifests(folder).filter(|(name, _)| name != "sandbox") {
            let named = sections(&manifest).into_iter().filter(|(section, _)| section.contains("dependencies"));
            for line in named.flat_map(|(_, lines)| lines) {
                assert!(!line.starts_with("wasmtime"), "{name} depends on {line}");
            }
        }
    }
}

/// SUP-08
#[test]
fn only_mcp_names_the_protocols_library() {
    for (name, manifest) in manifests("runtime").filter(|(name, _)| name != "mcp") {
        assert!(!dependencies(&manifest).contains("rmcp"), "{name} depends on rmcp");
    }
}

/// SUP-08
#[test]
fn only_packages_unpacks_archives_and_checks_signatures() {
    for (name, manifest) in manifests("runtime").filter(|(name, _)| name != "packages") {
        let dependencies = dependencies(&manifest);
        for fenced in ["tar", "flate2", "minisign-verify"] {
            assert!(!dependencies.contains(fenced), "{name} depends on {fenced}");
        }
    }
}

/// SUP-08
#[test]
fn machine_code_is_loaded_in_one_place() {
    // Assembled, so that this file does not name what it looks for.
    let loading = ["Component::", "Module::"].map(|kind| format!("{kind}{}", "deserialize"));
    let places: Vec<PathBuf> = ["runtime", "guest-tools", "tests"]
        .iter()
        .flat_map(|folder| files(folder, ".rs"))
        .filter(|path| loading.iter().any(|call| fs::read_to_string(path).unwrap().contains(call)))
        .collect();
    assert_eq!(places, [root().join("runtime/sandbox/src/artifact.rs")]);
}

/// NET-18: there is no switch that a plugin, an agent or a project could reach, because there is none.
#[test]
fn nothing_can_switch_the_check_of_certificates_off() {
    // Assembled, so that this file does not name what it looks for.
    let switches = [
        ["danger", "ous()"],
        ["danger_", "accept"],
        ["Server", "CertVerifier"],
        ["tls_danger", "_"],
        ["inse", "cure_tls"],
    ]
    .map(|parts| parts.concat());
    for path in ["runtime", "guest-tools"].iter().flat_map(|folder| files(folder, ".rs")) {
        let text = fs::read_to_string(&path).unwrap();
        for switch in &switches {
            assert!(!text.contains(switch), "{} has {switch}", path.display());
        }
    }
}

/// SUP-08
#[test]
fn wasmtime_is_the_version_that_was_chosen_with_no_more_features() {
    let manifest = text("Cargo.toml");
    let lines = sections(&manifest).remove("workspace.dependencies").unwrap();
    let wasmtime: Vec<&String> = lines.iter().filter(|line| line.starts_with("wasmtime")).collect();
    assert!(!wasmtime.is_empty());
    for line in wasmtime {
        assert!(line.contains("\"=48.0.8\"") && line.contains("default-features = false"), "{line}");
        for feature in [
            "winch",
            "\"cache\"",
            "threads",
            "\"gc",
            "component-model-async",
            "default-send-request",
            "\"p3\"",
            "\"p1\"",
            "\"p0\"",
            "\"wat\"",
        ] {
            assert!(!line.contains(feature), "{line} switches {feature} on");
        }
    }
    for (name, manifest) in manifests("runtime").chain(manifests("tests")) {
        for line in manifest.lines().filter(|line| line.starts_with("wasmtime")) {
            assert!(line.ends_with("= { workspace = true }"), "{name}: {line}");
        }
    }
}

/// SUP-08
#[test]
fn the_lock_file_holds_the_versions_that_are_safe() {
    let lock = text("Cargo.lock");
    let packages: Vec<(&str, &str)> = lock
        .split("[[package]]")
        .filter_map(|package| {
            let field = |name: &str| {
                package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"'))
            };
            Some((field("name")?, field("version")?))
        })
        .collect();
    let family = ["wasmtime", "wasmtime-wasi", "wasmtime-wasi-io", "wasmtime-environ", "wasmtime-internal-cranelift"];
    for (name, version) in packages.iter().filter(|(name, _)| family.contains(name)) {
        assert_eq!(*version, "48.0.8", "{name}");
    }
    assert!(packages.contains(&("wasmtime", "48.0.8")));
    for (name, version) in packages.iter().filter(|(name, _)| *name == "rmcp") {
        assert!(version.starts_with("3."), "{name} {version} is older than the fix of RUSTSEC-2026-0189");
    }
    for (name, version) in packages.iter().filter(|(name, _)| ["cap-std", "cap-primitives"].contains(name)) {
        assert!(*version >= "4.0.3", "{name} {version} is older than the fix of GHSA-vqjp-4c8c-hfgg");
    }
    for unwanted in [
        "wasmtime-internal-winch",
        "winch-codegen",
        "wasmtime-internal-cache",
        "serde_yml",
        "libyml",
        "yaml-rust",
        "tokio-tar",
    ] {
        assert!(!packages.iter().any(|(name, _)| *name == unwanted), "{unwanted} is in the lock file");
    }
}

/// Every hostile guest is used by a test or a benchmark.
#[test]
fn every_guest_has_a_test() {
    let users: String = ["tests/suite", "tests/commands", "benches", "tests/src"]
        .iter()
        .flat_map(|folder| files(folder, ".rs"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let declared = text("tests/guests/Cargo.toml");
    for path in fs::read_dir(root().join("tests/guests")).unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(users.contains(&format!("\"{name}\"")), "no test uses the guest {name}");
            assert!(declared.contains(&format!("path = \"{name}.rs\"")), "{name} is not in tests/guests/Cargo.toml");
        }
    }
}

/// Every interface of the host is implemented, or said to be only specified.
#[test]
fn every_host_interface_is_a_capability() {
    const ONLY_SPECIFIED: [&str; 1] = ["agents"];
    for path in files("wit/deps/host", ".wit") {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let implemented = root().join(format!("runtime/sandbox/src/capabilities/{name}.rs")).exists();
        assert_ne!(implemented, ONLY_SPECIFIED.contains(&name), "{name}");
        assert!(
            text("runtime/sandbox/src/needs.rs").contains(&format!("palisade:host/{name}@")),
            "{name} is not known to needs.rs"
        );
    }
}

#[test]
fn a_file_is_one_idea() {
    for path in ["runtime", "guest-tools", "tests", "benches"].iter().flat_map(|folder| files(folder, ".rs")) {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= 500, "{} has {lines} lines; split it", path.display());
    }
    if let Ok(architecture) = fs::read_to_string(root().join("ARCHITECTURE.md")) {
        assert!(architecture.lines().count() <= 150, "ARCHITECTURE.md is too long to be read");
    }
}

#[test]
fn nothing_is_left_to_do() {
    let unfinished = ["todo", "unimplemented"].map(|word| format!("{word}!("));
    for path in ["runtime", "guest-tools", "tests", "benches"].iter().flat_map(|folder| files(folder, ".rs")) {
        let text = fs::read_to_string(&path).unwrap();
        assert!(!unfinished.iter().any(|word| text.contains(word)), "{}", path.display());
    }
}

/// Every case of the threat model that this suite holds is named in front of a test.
#[test]
fn every_case_has_a_test() {
    let suite: String = ["tests", "runtime"]
        .iter()
        .flat_map(|folder| files(folder, ".rs"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let cases =
        |group: &str, numbers: &[u32]| numbers.iter().map(|number| format!("{group}-{number:02}")).collect::<Vec<_>>();
    let numbers: Vec<u32> = (1..=19).collect();
    // API-07 is a matter of the terminal.
    let without = |left_out: u32, most: usize| {
        numbers[..most].iter().copied().filter(|number| *number != left_out).collect::<Vec<_>>()
    };
    let expected = [
        cases("FS", &without(0, 17)),
        cases("NET", &without(0, 19)),
        cases("RES", &without(0, 16)),
        cases("API", &without(7, 8)),
        cases("SUP", &without(0, 9)),
        cases("CFG", &without(0, 15)),
        cases("PROV", &without(0, 10)),
        cases("INJ", &[1, 2, 3, 4]),
        cases("HTTP", &without(0, 17)),
    ];
    for case in expected.iter().flatten() {
        let prefix = format!("/// {}", case.split('-').next().unwrap());
        let named = suite
            .lines()
            .filter(|line| line.trim_start().starts_with(&prefix))
            .any(|line| line.contains(case.as_str()));
        assert!(named, "no test carries {case}");
    }
}
