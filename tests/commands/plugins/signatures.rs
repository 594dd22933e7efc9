//! Plugins that somebody vouches for.

use std::{fs, path::PathBuf, process::Command};

use serde_json::json;

use super::Shop;

/// A key on the curve P-256, made by openssl.
struct Signer(PathBuf);

impl Signer {
    fn new(shop: &Shop, name: &str) -> Self {
        let key = shop.world.add(&format!("../keys/{name}.pem"), "");
        let signer = Self(key);
        signer.openssl("ecparam -name prime256v1 -genkey -noout -out $KEY");
        signer.openssl("ec -in $KEY -pubout -out $KEY.pub");
        signer
    }

    fn openssl(&self, line: &str) {
        let output = Command::new("sh").arg("-c").arg(format!("openssl {line}")).env("KEY", &self.0).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn public(&self) -> String {
        format!("{}.pub", self.0.display())
    }

    /// Signs the plugin as docs/plugins.md says.
    fn sign(&self, shop: &Shop) {
        let digest = shop.plugins(&["digest", &shop.wares()]).with_code(0).stdout;
        fs::write(self.0.with_extension("digest"), digest).unwrap();
        let digest = self.0.with_extension("digest");
        self.openssl(&format!(
            "dgst -sha256 -sign $KEY {} | base64 -w0 > {}/palisade.sig",
            digest.display(),
            shop.wares()
        ));
    }
}

/// SUP-07
#[test]
fn only_what_a_known_key_has_signed_is_installed_where_that_is_required() {
    let shop = Shop::with_ferry("1.0.0");
    let (own, other) = (Signer::new(&shop, "own"), Signer::new(&shop, "other"));
    let refused = |arguments: &[&str], expected: &str| {
        let ended = shop.install(&[arguments, &["--yes"]].concat()).with_code(1);
        assert!(ended.stderr.contains(expected), "{arguments:?}: {}", ended.stderr);
        assert!(!shop.installed("ferry").exists());
    };
    refused(&["--require-signature"], "no key is known");
    refused(&["--key", &own.public()], "the package is not signed");
    refused(&["--key", "README.md"], "this is no public key");
    own.sign(&shop);
    refused(&["--key", &other.public()], "signed by nobody whose key is known");
    // A word more, and it is not what was signed.
    let sound = fs::read(shop.add("agents/more.md", "---\nname: more\ndescription: m\n---\nMore.\n")).unwrap();
    assert!(!sound.is_empty());
    refused(&["--key", &own.public()], "or was changed after it was signed");
    fs::remove_file(shop.wares() + "/agents/more.md").unwrap();
    let report = shop.install(&["--key", &own.public(), "--yes", "--json"]).with_code(0).json();
    assert!(report["signer"].as_str().unwrap().starts_with("ecdsa:"), "{report}");
    assert_eq!(shop.locked()["plugins"]["ferry"]["signer"], report["signer"]);
    assert!(!shop.installed("ferry/palisade.sig").exists(), "it is no part of the plugin");
    // An update by somebody else is told.
    let ended = shop.plugins(&["update", "ferry", "--yes"]).with_code(0);
    assert!(ended.stdout.contains("→ nobody"), "{}", ended.stdout);
}

/// SUP-07
#[test]
fn the_configuration_of_the_operator_requires_signatures_and_a_projects_does_not_lower_it() {
    let shop = Shop::with_ferry("1.0.0");
    let own = Signer::new(&shop, "own");
    shop.world.configure_operator(&format!("[plugins]\nrequire_signature = true\nkeys = [\"{}\"]\n", own.public()));
    shop.world.add(".palisade/config.toml", "[plugins]\nrequire_signature = false\n");
    let ended = shop.install(&["--yes"]).with_code(1);
    assert!(ended.stderr.contains("a signature is required"), "{}", ended.stderr);
    own.sign(&shop);
    shop.install(&["--yes"]).with_code(0);
    assert_eq!(shop.listed()["status"], json!("ok"));
}

/// SUP-07
#[test]
fn a_key_of_minisign_in_the_configuration_counts() {
    if Command::new("minisign").arg("-v").output().is_err() {
        eprintln!("SKIPPED: minisign is not here; what it made once is tested in runtime/packages");
        return;
    }
    let shop = Shop::with_ferry("1.0.0");
    let folder = shop.world.workspace();
    let minisign = |line: &str| {
        let output =
            Command::new("sh").arg("-c").arg(format!("minisign {line}")).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    minisign("-G -W -p own.pub -s own.key");
    fs::write(folder.join("ferry.digest"), shop.plugins(&["digest", &shop.wares()]).with_code(0).stdout).unwrap();
    minisign(&format!("-S -s own.key -m ferry.digest -x {}/palisade.minisig", shop.wares()));
    let key = fs::read_to_string(folder.join("own.pub")).unwrap();
    let key = key.lines().last().unwrap();
    shop.world.configure(&format!("[plugins]\nrequire_signature = true\nkeys = [\"{key}\"]\n"));
    let report = shop.install(&["--yes", "--json"]).with_code(0).json();
    assert_eq!(report["signer"], json!(format!("minisign:{key}")));
    // Changed after it was signed: refused, even where nobody requires a signature.
    shop.world.configure(&format!("[plugins]\nkeys = [\"{key}\"]\n"));
    shop.add("agents/more.md", "---\nname: more\ndescription: m\n---\nMore.\n");
    let ended = shop.plugins(&["update", "ferry", "--yes"]).with_code(1);
    assert!(ended.stderr.contains("the package, or the signature, was changed"), "{}", ended.stderr);
}

/// SUP-07: a signature is over one package, whose name and version are part of it.
#[test]
fn a_signature_of_one_plugin_is_none_of_another_and_an_older_one_is_not_taken_unasked() {
    let shop = Shop::with_ferry("2.0.0");
    let own = Signer::new(&shop, "own");
    own.sign(&shop);
    let signed = fs::read(shop.wares() + "/palisade.sig").unwrap();
    shop.install(&["--key", &own.public(), "--yes"]).with_code(0);
    // Another name, and everything else as it was signed.
    shop.manifest(&json!({ "name": "barge", "version": "2.0.0", "tools": [] }));
    fs::write(shop.wares() + "/palisade.sig", &signed).unwrap();
    let ended = shop.install(&["--key", &own.public(), "--yes"]).with_code(1);
    assert!(ended.stderr.contains("or was changed after it was signed"), "{}", ended.stderr);
    assert!(!shop.installed("barge").exists());
    // An earlier version with a sound signature of its own.
    shop.ferry("1.0.0");
    own.sign(&shop);
    let ended = shop.install(&["--key", &own.public(), "--yes"]).with_code(1);
    assert!(ended.stderr.contains("--older"), "{}", ended.stderr);
    assert_eq!(shop.listed()["version"], "2.0.0");
    shop.install(&["--key", &own.public(), "--yes", "--older"]).with_code(0);
    assert_eq!(shop.listed()["version"], "1.0.0", "the control");
}
