//! Looks at files. It knows nothing of Palisade: it exports functions, and finds files as any program does.
#![cfg(target_family = "wasm")]
#![expect(clippy::disallowed_methods, reason = "components of others use the standard library")]
#![expect(unsafe_code, reason = "what is generated for an export")]

use std::{fs, path::Path};

mod bindings {
    wit_bindgen::generate!({
        inline: "
            package guests:files;
            world files {
                export list-directory: func(path: string) -> result<list<string>, string>;
                export read-file: func(path: string) -> result<string, string>;
                export write-file: func(path: string, contents: list<u8>) -> result<u64, string>;
                export search-file: func(path: string, pattern: string) -> result<string, string>;
                export get-file-info: func(path: string) -> result<string, string>;
            }
        ",
    });
}

struct Files;

impl bindings::Guest for Files {
    fn list_directory(path: String) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path).map_err(text)? {
            let entry = entry.map_err(text)?;
            let kind = if entry.file_type().map_err(text)?.is_dir() { "[DIR]" } else { "[FILE]" };
            names.push(format!("{kind} {}", entry.file_name().to_string_lossy()));
        }
        names.sort();
        Ok(names)
    }

    fn read_file(path: String) -> Result<String, String> {
        fs::read_to_string(path).map_err(text)
    }

    fn write_file(path: String, contents: Vec<u8>) -> Result<u64, String> {
        fs::write(path, &contents).map_err(text)?;
        Ok(contents.len() as u64)
    }

    fn search_file(path: String, pattern: String) -> Result<String, String> {
        let mut found = Vec::new();
        search(Path::new(&path), &pattern, &mut found).map_err(text)?;
        found.sort();
        Ok(found.join("\n"))
    }

    fn get_file_info(path: String) -> Result<String, String> {
        let metadata = fs::metadata(path).map_err(text)?;
        Ok(format!("{} bytes, {}", metadata.len(), if metadata.is_dir() { "a directory" } else { "a file" }))
    }
}

fn search(folder: &Path, pattern: &str, found: &mut Vec<String>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().contains(pattern) {
            found.push(entry.path().to_string_lossy().into_owned());
        }
        if entry.file_type()?.is_dir() {
            search(&entry.path(), pattern, found)?;
        }
    }
    Ok(())
}

fn text(error: std::io::Error) -> String {
    error.to_string()
}

bindings::export!(Files with_types_in bindings);
