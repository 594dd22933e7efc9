use std::{collections::BTreeMap, os::unix::fs::PermissionsExt as _};

use palisade_model::KeySource;

use super::*;
use crate::web::SecretSettings;

const VALUE: &str = "sk-canary-0123456789";

fn lent(named: &[&str], operators: &[&str]) -> Lent {
    let secret = |name: &&str| {
        let source = Some(KeySource::Command(vec!["echo".into(), format!("of-the-operator-{name}")]));
        let host = Some("operator.example.com".parse().unwrap());
        ((*name).to_owned(), SecretSettings { host, header: None, source })
    };
    let keys = Keys::from(operators.iter().map(secret).collect::<BTreeMap<_, _>>());
    Lent { named: named.iter().map(|name| name.parse().unwrap()).collect(), keys }
}

fn new(host: &str, header: Option<&str>, value: &str) -> NewSecret {
    NewSecret { host: host.into(), header: header.map(Into::into), value: SecretString::from(value) }
}

fn own() -> (tempfile::TempDir, OwnSecrets) {
    let folder = tempfile::tempdir().unwrap();
    let own = OwnSecrets::below(folder.path());
    (folder, own)
}

/// SEC-04
#[test]
fn a_secret_is_kept_where_only_its_owner_reads() {
    let (folder, own) = own();
    let nobodys = lent(&[], &[]);
    assert!(own.list(&nobodys).unwrap().is_empty());
    let card = own.keep("A.b-c_1", &new("api.example.com:8443", Some("X-Api-Key"), VALUE), &nobodys).unwrap();
    assert_eq!((card.host.as_str(), card.header.as_str(), card.is_used), ("api.example.com:8443", "x-api-key", true));
    let listed = own.list(&nobodys).unwrap();
    assert_eq!(listed.iter().map(|card| (&*card.name, &*card.host)).collect::<Vec<_>>(), [("A.b-c_1", &*card.host)]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let below = folder.path().join("secrets");
    assert_eq!((mode(&below), mode(&below.join("A.b-c_1.json"))), (0o700, 0o600));
    assert_eq!(fs::read_dir(&below).unwrap().count(), 1, "nothing else is left");
    own.remove("A.b-c_1").unwrap();
    assert!(matches!(own.remove("A.b-c_1"), Err(Refused::Unknown(_))));
    own.forget().unwrap();
    own.forget().unwrap();
    assert!(!below.exists());
}

#[test]
fn what_is_no_secret_is_refused_and_not_repeated() {
    let (_folder, own) = own();
    let nobodys = lent(&[], &[]);
    let good = new("api.example.com", None, VALUE);
    for name in ["", "a/b", "../a", "a b", "é", "a*", &"a".repeat(65)] {
        assert!(matches!(own.keep(name, &good, &nobodys), Err(Refused::Unusable(_))), "{name}");
        assert!(matches!(own.remove(name), Err(Refused::Unknown(_))), "{name}");
    }
    for wrong in [
        new("*.example.com", None, VALUE),
        new("*", None, VALUE),
        new("http://api.example.com", None, VALUE),
        new("", None, VALUE),
        new("api.example.com", Some("x y"), VALUE),
        new("api.example.com", None, " "),
        new("api.example.com", None, "sk-canary\r\nx: y"),
        new("api.example.com", None, &"sk-canary".repeat(4000)),
    ] {
        let error = own.keep("A", &wrong, &nobodys).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("sk-canary"), "{error}");
    }
    assert!(own.names().unwrap().is_empty());
}

#[test]
fn nothing_of_the_operators_is_replaced_or_reached_that_is_not_lent() {
    let (_folder, own) = own();
    let lends = || lent(&["SHARED", "team-*"], &["SHARED", "HIDDEN"]);
    let own_secret = new("api.example.com", None, VALUE);
    let error = own.keep("SHARED", &own_secret, &lends()).unwrap_err();
    assert!(error.to_string().contains("take another name"), "{error}");
    // Of the same name as one that it does not know of, or one that is named and is not there.
    own.keep("HIDDEN", &own_secret, &lends()).unwrap();
    own.keep("team-1", &own_secret, &lends()).unwrap();
    let vault = TenantVault::over(lends(), own.clone());
    let at = |name: &str| vault.binding(name).map(|binding| binding.host.to_string());
    assert_eq!(at("SHARED").as_deref(), Some("operator.example.com"));
    assert_eq!(at("HIDDEN").as_deref(), Some("api.example.com"));
    assert_eq!(vault.value("HIDDEN").unwrap().expose_secret(), VALUE);
    assert_eq!(at("team-1").as_deref(), Some("api.example.com"));
    own.remove("HIDDEN").unwrap();
    assert_eq!((at("HIDDEN"), vault.value("HIDDEN").is_err()), (None, true), "the operator's is not what is left");
    for name in ["OTHER", "../secrets/team-1", "team-1.json", ""] {
        assert_eq!((at(name), vault.value(name).is_err()), (None, true), "{name}");
    }
    // The operator has one of that name later on, and lends it: then it is that one, and the tenant's waits.
    let later = || lent(&["team-*"], &["team-1"]);
    let vault = TenantVault::over(later(), own.clone());
    assert_eq!(vault.value("team-1").unwrap().expose_secret(), "of-the-operator-team-1");
    assert!(!own.list(&later()).unwrap()[0].is_used);
}

/// SEC-06
#[test]
fn what_was_replaced_or_damaged_is_not_used() {
    let (folder, own) = own();
    let nobodys = || lent(&[], &[]);
    let vault = TenantVault::over(nobodys(), own.clone());
    own.keep("A", &new("one.example.com", None, VALUE), &nobodys()).unwrap();
    own.keep("A", &new("two.example.com", None, "sk-other"), &nobodys()).unwrap();
    assert_eq!(vault.binding("A").unwrap().host.to_string(), "two.example.com");
    assert_eq!(vault.value("A").unwrap().expose_secret(), "sk-other");
    fs::write(folder.path().join("secrets/A.json"), format!("{{\"value\": \"{VALUE}\"}}")).unwrap();
    let (told, listed) = (vault.value("A").unwrap_err(), own.list(&nobodys()).unwrap_err());
    assert!(vault.binding("A").is_none() && !format!("{told} {listed}").contains(VALUE), "{told} {listed}");
    assert!(listed.to_string().contains("set it anew"), "{listed}");
    own.keep("A", &new("two.example.com", None, "sk-other"), &nobodys()).unwrap();
    assert!(vault.binding("A").is_some());
}

#[test]
fn a_tenant_has_only_so_many() {
    let (_folder, own) = own();
    let nobodys = lent(&[], &[]);
    let secret = new("api.example.com", None, VALUE);
    for number in 0..MOST {
        own.keep(&format!("s{number}"), &secret, &nobodys).unwrap();
    }
    assert!(matches!(own.keep("more", &secret, &nobodys), Err(Refused::Unusable(_))));
    own.keep("s7", &secret, &nobodys).unwrap();
}
