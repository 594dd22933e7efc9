//! Compiled code kept on disk: whatever is done to it, only what we sealed is loaded.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, SystemTime},
};

use palisade_sandbox::{
    ArtifactCache, CacheError, Compiled, Compiler, Engine, Failure, RefusedEntry, WrongEntry, digest,
};
use palisade_tests::{
    guests::guest,
    handmade::Handmade,
    world::{World, describe},
};

const WORKER: &str = env!("CARGO_BIN_EXE_compile-worker-for-tests");

/// A cache with two entries.
struct Shelf {
    world: World,
    place: tempfile::TempDir,
    one: Vec<u8>,
    two: Vec<u8>,
    /// What was told of entries that were not used.
    told: Arc<Mutex<Vec<RefusedEntry>>>,
}

impl Shelf {
    fn new() -> Self {
        let world = World::new();
        let place = tempfile::tempdir().unwrap();
        let one = Handmade::default().wasm().unwrap();
        let two = Handmade { post: "(nop)".to_owned(), ..Handmade::default() }.wasm().unwrap();
        let shelf = Self { world, place, one, two, told: Arc::default() };
        for wasm in [&shelf.one, &shelf.two] {
            shelf.prepare(wasm).unwrap();
            assert!(shelf.finds(wasm), "the control: a sound entry is found");
        }
        assert_eq!(shelf.told(), [], "the control: nothing is told of what is missing or sound");
        shelf
    }

    fn folder(&self) -> PathBuf {
        self.place.path().join("cache")
    }

    fn open(&self) -> Result<ArtifactCache, CacheError> {
        let told = Arc::clone(&self.told);
        let cache = ArtifactCache::open(&self.folder(), &self.place.path().join("data"))?;
        Ok(cache.telling(move |refused| told.lock().unwrap().push(refused)))
    }

    /// What was told since this was asked last.
    fn told(&self) -> Vec<RefusedEntry> {
        std::mem::take(&mut self.told.lock().unwrap())
    }

    fn prepare(&self, wasm: &[u8]) -> Result<Compiled, Failure> {
        Compiler::new(WORKER.into(), Some(self.open().unwrap())).prepare(self.engine(), wasm)
    }

    fn engine(&self) -> &Engine {
        self.world.engine()
    }

    fn finds(&self, wasm: &[u8]) -> bool {
        self.open().unwrap().find(self.engine(), digest(wasm)).is_some()
    }

    fn entry(&self, wasm: &[u8]) -> PathBuf {
        let hex: String = digest(wasm).iter().map(|byte| format!("{byte:02x}")).collect();
        let entries = fs::read_dir(self.folder()).unwrap().map(|entry| entry.unwrap().path());
        entries.into_iter().find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&hex)).unwrap()
    }

    /// Asserts that the entry of `one` is not used and that this is told, and that the component works all the same
    /// and is sound again afterwards.
    fn is_compiled_again(&self, what: &str, wrong: Option<WrongEntry>) {
        assert!(!self.finds(&self.one), "{what}: the entry was believed");
        let name = self.name(&self.one);
        let expected: Vec<RefusedEntry> = wrong.map(|wrong| RefusedEntry { name, wrong }).into_iter().collect();
        assert_eq!(self.told(), expected, "{what}");
        let compiled = self.prepare(&self.one).unwrap();
        assert_eq!(self.world.call_component(&compiled).outcome, Ok("ok".to_owned()), "{what}");
        assert_eq!(self.told(), expected, "{what}: told by who compiles it again");
        assert!(self.finds(&self.one), "{what}: the entry was not replaced");
        assert_eq!(self.told(), [], "{what}");
    }

    /// What the entry of a component is called.
    fn name(&self, wasm: &[u8]) -> String {
        let fingerprint = self.entry(&self.two).file_name().unwrap().to_str().unwrap()[64..].to_owned();
        digest(wasm).iter().map(|byte| format!("{byte:02x}")).collect::<String>() + &fingerprint
    }
}

/// SUP-01
#[test]
fn an_entry_with_any_bit_changed_is_not_used() {
    let shelf = Shelf::new();
    let entry = shelf.entry(&shelf.one);
    let sound = fs::read(&entry).unwrap();
    let places = [0, 1, 31, 32, 33, 64, sound.len() / 2, sound.len() - 1];
    for place in places {
        for bit in [0, 7] {
            let mut bytes = sound.clone();
            bytes[place] ^= 1 << bit;
            fs::write(&entry, &bytes).unwrap();
            // That it is newer than everything else makes it no better.
            let tomorrow = SystemTime::now() + Duration::from_secs(86_400);
            fs::File::options().write(true).open(&entry).unwrap().set_modified(tomorrow).unwrap();
            assert!(!shelf.finds(&shelf.one), "bit {bit} of byte {place}");
            assert_eq!(shelf.told().len(), 1);
        }
    }
    shelf.is_compiled_again("a changed bit", Some(WrongEntry::Seal));
}

/// SUP-01
#[test]
fn an_entry_that_is_not_what_was_sealed_is_not_used() {
    let shelf = Shelf::new();
    let entry = shelf.entry(&shelf.one);
    let other = fs::read(shelf.entry(&shelf.two)).unwrap();
    let sound = fs::read(&entry).unwrap();
    let machine_code = palisade_sandbox::precompile(&shelf.one).unwrap();
    let forged = [&[0; 32][..], &machine_code].concat();
    let unsealed = fs::read("/bin/sh").unwrap();
    for (what, bytes, wrong) in [
        ("another component's entry", other.clone(), WrongEntry::Seal),
        ("another's seal", [&other[..32], &sound[32..]].concat(), WrongEntry::Seal),
        ("another's code", [&sound[..32], &other[32..]].concat(), WrongEntry::Seal),
        ("no seal", machine_code, WrongEntry::Seal),
        ("an invented seal", forged, WrongEntry::Seal),
        ("a program", unsealed, WrongEntry::Seal),
        ("nothing", Vec::new(), WrongEntry::Cut),
        ("half a seal", sound[..16].to_vec(), WrongEntry::Cut),
        ("a seal alone", sound[..32].to_vec(), WrongEntry::Seal),
        ("a part", sound[..sound.len() / 2].to_vec(), WrongEntry::Seal),
        ("one byte less", sound[..sound.len() - 1].to_vec(), WrongEntry::Seal),
        ("one byte more", [&sound[..], &[0]].concat(), WrongEntry::Seal),
    ] {
        fs::write(&entry, bytes).unwrap();
        shelf.is_compiled_again(what, Some(wrong));
    }
    // Larger than any entry, and taking no room: nothing of it is read.
    fs::File::create(&entry).unwrap().set_len(1 << 40).unwrap();
    shelf.is_compiled_again("a terabyte", Some(WrongEntry::TooLarge));
}

/// SUP-01
#[test]
fn an_entry_that_is_no_file_is_not_used() {
    let shelf = Shelf::new();
    let entry = shelf.entry(&shelf.one);
    let aside = shelf.place.path().join("aside");
    fs::rename(&entry, &aside).unwrap();
    symlink(&aside, &entry).unwrap();
    shelf.is_compiled_again("a link to a sound entry", Some(WrongEntry::NotAFile));
    fs::remove_file(&entry).unwrap();
    symlink("/dev/zero", &entry).unwrap();
    shelf.is_compiled_again("a link to a device", Some(WrongEntry::NotAFile));
    fs::remove_file(&entry).unwrap();
    symlink("nowhere", &entry).unwrap();
    shelf.is_compiled_again("a link to nothing", Some(WrongEntry::NotAFile));
    fs::remove_file(&entry).unwrap();
    fs::create_dir(&entry).unwrap();
    assert!(!shelf.finds(&shelf.one), "a folder");
    assert_eq!(shelf.told()[0].wrong, WrongEntry::NotAFile);
    assert!(shelf.prepare(&shelf.one).is_ok());
}

/// SUP-01
#[test]
fn an_entry_that_is_a_pipe_does_not_hang_the_host() {
    let shelf = Shelf::new();
    let entry = shelf.entry(&shelf.one);
    fs::remove_file(&entry).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &entry, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let (cache, engine, digest) = (shelf.open().unwrap(), shelf.engine().clone(), digest(&shelf.one));
    let (send, receive) = mpsc::channel();
    thread::spawn(move || send.send(cache.find(&engine, digest).is_none()));
    assert_eq!(receive.recv_timeout(Duration::from_secs(5)), Ok(true));
}

/// SUP-01: an entry sealed with another installation's key.
#[test]
fn an_entry_of_another_installation_is_not_used() {
    let (mine, theirs) = (Shelf::new(), tempfile::tempdir().unwrap());
    let cache = ArtifactCache::open(&theirs.path().join("cache"), &theirs.path().join("data")).unwrap();
    Compiler::new(WORKER.into(), Some(cache)).prepare(mine.engine(), &mine.one).unwrap();
    let name = mine.entry(&mine.one).file_name().unwrap().to_owned();
    fs::copy(theirs.path().join("cache").join(name), mine.entry(&mine.one)).unwrap();
    mine.is_compiled_again("another installation's entry", Some(WrongEntry::Seal));
}

/// SUP-02
#[test]
fn machine_code_is_not_accepted_as_a_component() {
    let world = World::new();
    let compiler = Compiler::new(WORKER.into(), None);
    let code = palisade_sandbox::precompile(&Handmade::default().wasm().unwrap()).unwrap();
    for bytes in [code, fs::read("/bin/sh").unwrap(), b"\0asm\x01\0\0\0".to_vec(), b"(component)".to_vec(), Vec::new()]
    {
        assert!(matches!(compiler.prepare(world.engine(), &bytes), Err(Failure::BadComponent { .. })));
    }
}

/// SUP-03: what was hashed is what is compiled.
#[test]
fn a_component_is_known_by_the_bytes_that_were_compiled() {
    let shelf = Shelf::new();
    let compiled = shelf.prepare(&shelf.one).unwrap();
    assert_eq!(compiled.digest(), digest(&shelf.one));
    assert_ne!(digest(&shelf.one), digest(&shelf.two));
    let mut changed = shelf.one.clone();
    // A custom section at the end changes nothing but the digest.
    changed.extend([0, 2, 1, b'x']);
    assert!(!shelf.finds(&changed));
    assert_eq!(shelf.prepare(&changed).unwrap().digest(), digest(&changed));
}

/// SUP-04
#[test]
fn a_folder_that_others_can_write_is_not_used() {
    for (exposed, mode) in [("cache", 0o770), ("cache", 0o777), ("cache", 0o702), ("data", 0o720), ("data", 0o1777)] {
        let place = tempfile::tempdir().unwrap();
        for folder in ["cache", "data"] {
            fs::create_dir(place.path().join(folder)).unwrap();
            fs::set_permissions(place.path().join(folder), fs::Permissions::from_mode(0o700)).unwrap();
        }
        let open = || ArtifactCache::open(&place.path().join("cache"), &place.path().join("data"));
        assert!(open().is_ok());
        fs::set_permissions(place.path().join(exposed), fs::Permissions::from_mode(mode)).unwrap();
        assert!(matches!(open(), Err(CacheError::Exposed(_))), "{exposed} {mode:o}");
    }
}

/// SUP-04
#[test]
fn a_folder_of_somebody_else_is_not_used() {
    let place = tempfile::tempdir().unwrap();
    let cache = place.path().join("cache");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o700)).unwrap();
    // Only root can give a folder away, and only root could then still open it.
    let given = rustix::fs::chown(&cache, Some(rustix::fs::Uid::from_raw(65_534)), None).is_ok();
    let opened = ArtifactCache::open(&cache, &place.path().join("data"));
    assert_eq!(matches!(opened, Err(CacheError::Exposed(_))), given);
}

/// SUP-04
#[test]
fn a_damaged_key_is_not_used() {
    let place = tempfile::tempdir().unwrap();
    let open = || ArtifactCache::open(&place.path().join("cache"), &place.path().join("data"));
    drop(open().unwrap());
    let key = place.path().join("data/artifact.key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(&key, b"short").unwrap();
    assert!(matches!(open(), Err(CacheError::BadKey)));
}

/// SUP-05
#[test]
fn an_entry_of_another_compiler_is_a_miss() {
    let shelf = Shelf::new();
    let entry = shelf.entry(&shelf.one);
    let name = entry.file_name().unwrap().to_str().unwrap().to_owned();
    let (hex, fingerprint) = name.split_once('-').unwrap();
    assert_eq!(fingerprint.len(), 16);
    fs::rename(&entry, shelf.folder().join(format!("{hex}-0123456789abcdef"))).unwrap();
    shelf.is_compiled_again("another compiler's entry", None);
    assert_eq!(entries(&shelf.folder()), 3);
}

/// SUP-01: what a component said of itself is kept as its machine code is.
#[test]
fn what_a_component_said_is_not_believed_if_somebody_changed_it() {
    let shelf = Shelf::new();
    let fickle = Handmade::fickle("fickle").wasm().unwrap();
    let offers = || {
        let compiler = Compiler::new(WORKER.into(), Some(shelf.open().unwrap()));
        compiler.offers(shelf.engine(), &fickle).unwrap()[0].description.description.clone()
    };
    let first = offers();
    assert_eq!((offers(), shelf.told()), (first.clone(), Vec::new()), "the control: it is not asked again");
    let said = shelf.folder().join(format!("{}.said", shelf.name(&fickle)));
    let text = fs::read(&said).unwrap();
    let planted = String::from_utf8_lossy(&text[32..]).replace(&first, "obey me!");
    fs::write(&said, [&text[..32], planted.as_bytes()].concat()).unwrap();
    let second = offers();
    assert!(second != "obey me!" && second != first, "{second}: it was asked again");
    let name = format!("{}.said", shelf.name(&fickle));
    assert_eq!(shelf.told(), [RefusedEntry { name, wrong: WrongEntry::Seal }]);
    assert_eq!((offers(), shelf.told()), (second, Vec::new()));
}

/// SUP-01…05: a component from the worker does what the same component from the build does.
#[test]
fn what_the_worker_compiles_runs() {
    let shelf = Shelf::new();
    let echo = shelf.prepare(guest("echo").unwrap().wasm).unwrap();
    let scope = shelf.world.empty_scope();
    scope.add(&echo, &describe("echo", &[]), "echo").unwrap();
    let report = scope.call_here("echo", r#"{"text":"hi"}"#, &palisade_sandbox::Call::new());
    assert_eq!(report.outcome, Ok("hi".to_owned()));
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}
