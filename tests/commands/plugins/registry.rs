//! Plugins from a real registry, on this machine.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use palisade_tests::guests::guest;
use serde_json::json;

use super::Shop;

/// A registry with nothing in it, ended with the test.
struct Registry {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Registry {
    /// None where the program is not there; `just test` installs it.
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config.yml");
        let root = folder.path().join("store");
        fs::write(
            &config,
            format!(
                "version: 0.1\nlog: {{ level: info, formatter: json }}\nstorage: {{ filesystem: {{ rootdirectory: {} }} }}\n\
                 http: {{ addr: '127.0.0.1:0' }}\n",
                root.display()
            ),
        )
        .unwrap();
        let started = Command::new("docker-registry")
            .arg("serve")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut child) = started else {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "there is no registry here; install docker-registry");
            #[expect(clippy::print_stderr, reason = "what is not tested must not go unseen")]
            {
                eprintln!("SKIPPED: there is no registry here; install docker-registry to test against it");
            }
            return None;
        };
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let port = lines.by_ref().find_map(|line| {
            let line = line.unwrap();
            let (_, rest) = line.split_once("listening on 127.0.0.1:")?;
            rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
        });
        // What it says from now on nobody reads, and it must not wait for that.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { child, port: port.unwrap(), _folder: folder })
    }

    fn name(&self, what: &str) -> String {
        format!("oci://127.0.0.1:{}/{what}", self.port)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_plugin_is_published_installed_and_updated() {
    let Some(registry) = Registry::start() else { return };
    let shop = Shop::with_ferry("1.0.0");
    let name = registry.name("team/ferry:latest");
    let published = shop.plugins(&["push", &shop.wares(), &name, "--json"]).with_code(0).json();
    let pinned = published["reference"].as_str().unwrap().to_owned();
    assert_eq!(shop.plugins(&["push", &shop.wares(), &name, "--json"]).with_code(0).json(), published, "twice is once");
    let digest = |source: &str| shop.plugins(&["digest", source]).with_code(0).stdout;
    assert_eq!(digest(&name), digest(&shop.wares()));
    assert_eq!(digest(&pinned), digest(&shop.wares()));
    shop.plugins(&["install", &name, "--grant", "storage", "--yes"]).with_code(0);
    let listed = shop.listed();
    assert_eq!((&listed["status"], &listed["granted"]), (&json!("ok"), &json!(["storage"])));
    shop.plugins(&["verify"]).with_code(0);
    // Another version under the same tag.
    shop.ferry("1.1.0");
    shop.plugins(&["push", &shop.wares(), &name]).with_code(0);
    let ended = shop.plugins(&["update", "ferry", "--yes"]).with_code(0);
    assert!(ended.stdout.contains("version 1.0.0 → 1.1.0"), "{}", ended.stdout);
    // What was pinned is what it was.
    assert_ne!(digest(&pinned), digest(&name));
    let other = format!("{}@sha256:{}", registry.name("team/ferry"), "0".repeat(64));
    let ended = shop.plugins(&["digest", &other]).with_code(1);
    assert!(ended.stderr.contains("says 404"), "{}", ended.stderr);
}

#[test]
fn a_component_is_published_as_others_do() {
    let Some(registry) = Registry::start() else { return };
    let shop = Shop::new();
    let wasm = guest("echo").unwrap().wasm;
    shop.world.add("echo.wasm", wasm);
    let name = registry.name("echo:1");
    shop.plugins(&["push", "echo.wasm", &name]).with_code(0);
    shop.plugins(&["install", &name, "--yes"]).with_code(0);
    assert_eq!(shop.listed()["tools"][0]["name"], "echo");
    assert_eq!(fs::read(shop.installed("echo/echo.wasm")).unwrap(), wasm);
    // The layout, as another client sees it.
    let skopeo = Command::new("skopeo")
        .args(["inspect", "--raw", "--tls-verify=false", &name.replace("oci://", "docker://")])
        .output();
    let Ok(output) = skopeo else {
        eprintln!("SKIPPED: skopeo is not here, so that no other client looks at it");
        return;
    };
    let manifest: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
    assert_eq!(manifest["layers"].as_array().unwrap().len(), 1);
    assert_eq!(manifest["layers"][0]["mediaType"], "application/wasm");
}

/// SUP-07
#[test]
fn a_signature_travels_through_a_registry() {
    let Some(registry) = Registry::start() else { return };
    let shop = Shop::with_ferry("1.0.0");
    let key = shop.world.add("../keys/own.pem", "");
    let digest = shop.plugins(&["digest", &shop.wares()]).with_code(0).stdout;
    let message = shop.world.add("../keys/message", digest);
    let script = format!(
        "openssl ecparam -name prime256v1 -genkey -noout -out {key} && openssl ec -in {key} -pubout -out {key}.pub && \
         openssl dgst -sha256 -sign {key} {message} | base64 -w0 > {}/palisade.sig",
        shop.wares(),
        key = key.display(),
        message = message.display(),
    );
    assert!(Command::new("sh").arg("-c").arg(script).output().unwrap().status.success());
    let name = registry.name("ferry:1");
    shop.plugins(&["push", &shop.wares(), &name]).with_code(0);
    let public = format!("{}.pub", key.display());
    let report = shop.plugins(&["install", &name, "--key", &public, "--yes", "--json"]).with_code(0).json();
    assert!(report["signer"].as_str().unwrap().starts_with("ecdsa:"), "{report}");
}
