//! What a file may not be, whatever it is called.

/// Something that no package may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unwanted {
    /// A native program or library.
    #[error("it is machine code ({0}); a plugin brings WebAssembly, which runs in a sandbox")]
    MachineCode(&'static str),
    /// A component that somebody else compiled.
    #[error("it is a compiled component; only what was compiled here is run, so the component itself is wanted")]
    Compiled,
    /// Called a component, and none.
    #[error("it is called like a component and is not WebAssembly")]
    NotWasm,
}

/// How machine code begins, and what it is then.
const MAGIC: [(&[u8], &str); 9] = [
    (b"\x7fELF", "ELF"),
    (b"\xfe\xed\xfa\xce", "Mach-O"),
    (b"\xfe\xed\xfa\xcf", "Mach-O"),
    (b"\xce\xfa\xed\xfe", "Mach-O"),
    (b"\xcf\xfa\xed\xfe", "Mach-O"),
    (b"\xca\xfe\xba\xbe", "Mach-O or Java"),
    (b"\xbe\xba\xfe\xca", "Mach-O"),
    (b"!<arch>\n", "a library"),
    (b"dex\n", "Dalvik"),
];

/// Looks at what a file holds and, where that says nothing, at what it is called.
pub(crate) fn check(path: &str, bytes: &[u8]) -> Result<(), Unwanted> {
    let name = path.to_ascii_lowercase();
    // Wasmtime's own files are ELF today and had a mark of their own before.
    let is_compiled = name.ends_with(".cwasm")
        || bytes.starts_with(b"\0wasmtime")
        || (bytes.starts_with(b"\x7fELF") && contains(bytes, b".wasmtime"));
    if is_compiled {
        return Err(Unwanted::Compiled);
    }
    if let Some((_, kind)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Err(Unwanted::MachineCode(kind));
    }
    if is_windows_program(bytes) {
        return Err(Unwanted::MachineCode("a program of Windows"));
    }
    if name.ends_with(".wasm") && !bytes.starts_with(b"\0asm") {
        return Err(Unwanted::NotWasm);
    }
    Ok(())
}

/// `MZ`, and where it says so, `PE`.
fn is_windows_program(bytes: &[u8]) -> bool {
    let place = bytes.get(0x3c..0x40).and_then(|place| place.try_into().ok()).map(u32::from_le_bytes);
    let header = place.and_then(|place| bytes.get(usize::try_from(place).ok()?..)).unwrap_or_default();
    bytes.starts_with(b"MZ") && header.starts_with(b"PE\0\0")
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
