//! Databases that cannot be used, and what is in those that can.
#![expect(clippy::disallowed_methods, reason = "the test's own files")]

use std::{fs, os::unix::fs::PermissionsExt as _};

use sqlx::{Connection as _, SqliteConnection};

use super::id;
use crate::world::World;

/// Runs are refused before anybody is asked, and the file stays as it is.
#[track_caller]
fn refuses(world: &World, why: &str) {
    let before = fs::read(world.database()).unwrap();
    let model = world.script("answers.json", super::ANSWERS);
    for arguments in [
        &["run", "explore", "parcels", "--model", &model][..],
        &["run", "explore", "--continue", "parcels", "--model", &model],
        &["sessions", "list"],
        &["stats"],
    ] {
        let ended = world.palisade(arguments).with_code(1);
        assert!(ended.stderr.contains("error: sessions cannot be kept in sqlite:"), "{}", ended.stderr);
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
        assert_eq!(ended.stdout, "", "no model was asked");
    }
    let report = world.palisade(&["doctor", "--offline", "--json"]).with_code(1).json();
    let checks = report["checks"].as_array().unwrap();
    let database = checks.iter().find(|check| check["name"] == "database").unwrap();
    assert_eq!(database["health"], "fail");
    assert!(database["found"].as_str().unwrap().contains(why), "{database}");
    assert_eq!(fs::read(world.database()).unwrap(), before);
    world.palisade(&["run", "explore", "parcels", "--ephemeral", "--model", &model]).with_code(0);
}

/// STO-08
#[test]
fn a_database_that_is_damaged_is_refused_and_stays_as_it_is() {
    let world = World::new();
    world.asked(&["parcels"]);
    let whole = fs::read(world.database()).unwrap();
    for damaged in [&b"no database at all"[..], b"", &whole[..whole.len() / 2]] {
        for rest in ["palisade.db-wal", "palisade.db-shm"] {
            drop(fs::remove_file(world.database().with_file_name(rest)));
        }
        fs::write(world.database(), damaged).unwrap();
        refuses(&world, "the database is damaged");
    }
}

/// STO-08
#[tokio::test]
async fn a_database_of_a_newer_program_is_refused_and_stays_as_it_is() {
    let world = World::new();
    world.asked(&["parcels"]);
    let mut database = SqliteConnection::connect(&format!("sqlite:{}", world.database().display())).await.unwrap();
    sqlx::query("UPDATE palisade_version SET version = 9000").execute(&mut database).await.unwrap();
    database.close().await.unwrap();
    refuses(&world, "the database has version 9000");
}

/// SEC-04
#[test]
fn sessions_are_for_their_owner_alone_and_hold_no_key() {
    let world = World::new();
    world.configure(
        "model = \"anthropic:claude-sonnet-4-5\"\n[providers.anthropic]\nbase_url = \"http://127.0.0.1:1\"\nretries = 0\n",
    );
    let key = [("ANTHROPIC_API_KEY", "sk-canary-1234")];
    world.palisade_with(&key, &["run", "explore", "parcels"]).with_code(4);
    world.palisade_with(&key, &["run", "explore", "--continue"]).with_code(4);
    let folder = world.database().parent().unwrap().to_owned();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let files = World::files_below(&folder);
    assert!(files.contains(&world.database()), "{files:?}");
    for file in files {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", file.display());
        let bytes = fs::read(&file).unwrap();
        assert!(!bytes.windows(9).any(|part| part == b"sk-canary"), "{}", file.display());
    }
    fs::set_permissions(world.database(), fs::Permissions::from_mode(0o644)).unwrap();
    let ended = world.sessions(&["list"]).with_code(1);
    assert!(ended.stderr.contains("chmod 600"), "{}", ended.stderr);
}

/// SEC-03
#[test]
fn the_password_of_a_database_is_said_nowhere() {
    let world = World::new();
    let address = "postgres://me:hunter2@localhost/palisade?host=/nowhere&password=hunter2";
    let store = [("PALISADE_STORE", address)];
    for arguments in [&["run", "explore", "parcels"][..], &["sessions", "list"], &["doctor", "--offline"]] {
        let ended = world.palisade_with(&store, arguments).with_code(1);
        assert!(!format!("{ended:?}").contains("hunter2"), "{ended:?}");
        assert!(format!("{ended:?}").contains("postgres://me:***@localhost/palisade"), "{ended:?}");
    }
    let shown = world.palisade_with(&store, &["config", "show", "--json"]).with_code(0).stdout;
    assert!(shown.contains("postgres://me:***@localhost/palisade") && !shown.contains("hunter2"), "{shown}");
    let words = "[store]\nurl_command = [\"printf\", \"postgres://me:hunter2@localhost/palisade?host=/nowhere\"]\n";
    world.configure(words);
    let ended = world.sessions(&["list"]).with_code(1);
    assert!(!ended.stderr.contains("hunter2") && ended.stderr.contains("postgres://me:***@"), "{}", ended.stderr);
}

/// INJ-03
#[test]
fn a_database_that_agents_could_change_is_refused() {
    let world = World::new();
    let inside = format!("sqlite:{}/kept/palisade.db", world.workspace().display());
    let ended = world.palisade_with(&[("PALISADE_STORE", &inside)], &["run", "explore", "parcels"]).with_code(1);
    assert!(ended.stderr.contains("lies in the folder that is worked in"), "{}", ended.stderr);
    assert_eq!((ended.stdout.as_str(), world.read("kept/palisade.db")), ("", None));
    // The data folder is there for no agent, so in the home folder all is well.
    let home = world.home().display().to_string();
    world.palisade(&["run", "explore", "parcels", "--workspace", &home]).with_code(0);
    assert!(world.database().exists());
}

#[test]
fn a_database_can_be_elsewhere_and_a_project_has_no_say_in_that() {
    let world = World::new();
    world.add(".palisade/config.toml", "[store]\nurl = \"memory:\"\n");
    let address = format!("sqlite:{}/other/kept.db", world.home().display());
    world.configure(&format!("[store]\nurl = \"{address}\"\n"));
    let result = world.palisade(&["run", "explore", "parcels", "--json"]).with_code(0);
    assert!(result.stderr.contains("a project does not decide on `store.url`"), "{}", result.stderr);
    assert!(world.home().join("other/kept.db").exists() && !world.database().exists());
    assert_eq!(world.listed(&[])[0]["sessionId"].as_str(), Some(id(&result.json())));
    let report = world.palisade(&["doctor", "--offline", "--json"]).json();
    let checks = report["checks"].as_array().unwrap();
    let database = checks.iter().find(|check| check["name"] == "database").unwrap();
    let found = database["found"].as_str().unwrap();
    for part in [address.as_str(), "is in order: version ", "SQLite 3.", "synchronous FULL"] {
        assert!(found.contains(part), "{part}: {found}");
    }
}
