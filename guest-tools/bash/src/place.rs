//! Where the shell's paths lie: the workspace is `/workspace`, the scratch folder `/tmp`, and there is
//! nothing else but a few devices.

use std::path::{Component, Path, PathBuf};

/// What the shell calls the workspace.
pub(crate) const WORKSPACE: &str = "/workspace";

/// What a path of the shell means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Something in the workspace or the scratch folder, by the path that the preopens know.
    Real(PathBuf),
    /// A device.
    Device(Device),
    /// A directory that is only there to be listed, with its names.
    Listed(&'static [&'static str]),
    /// Nothing.
    Nowhere,
}

/// The devices that scripts use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Device {
    Null,
    Zero,
    Random,
}

impl Place {
    /// Finds out what an absolute path means. `..` is taken as it is written, as `cd` does.
    pub(crate) fn of(path: &Path) -> Self {
        let mut parts: Vec<&str> = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(name) => match name.to_str() {
                    Some(name) => parts.push(name),
                    None => return Self::Nowhere,
                },
                Component::ParentDir => drop(parts.pop()),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        match parts.as_slice() {
            [] => Self::Listed(&["dev", "tmp", "workspace"]),
            ["workspace" | "tmp", ..] => Self::Real(PathBuf::from(format!("/{}", parts.join("/")))),
            ["dev"] => Self::Listed(&["null", "random", "urandom", "zero"]),
            ["dev", "null"] => Self::Device(Device::Null),
            ["dev", "zero"] => Self::Device(Device::Zero),
            ["dev", "random" | "urandom"] => Self::Device(Device::Random),
            _ => Self::Nowhere,
        }
    }
}

/// Where a directory of the shell lies in the workspace, as the host wants to know it.
pub(crate) fn in_workspace(directory: &Path) -> Option<&str> {
    directory.strip_prefix(WORKSPACE).ok()?.to_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real(path: &str) -> Place {
        Place::Real(PathBuf::from(path))
    }

    #[test]
    fn the_workspace_and_the_scratch_folder_are_where_the_shell_says() {
        let cases = [
            ("/workspace", real("/workspace")),
            ("/workspace/", real("/workspace")),
            ("/workspace/a/./b", real("/workspace/a/b")),
            ("/workspace/tmp/x", real("/workspace/tmp/x")),
            ("/workspace/a/../../workspace/b", real("/workspace/b")),
            ("/tmp", real("/tmp")),
            ("/tmp/a/b", real("/tmp/a/b")),
            ("/dev/null", Place::Device(Device::Null)),
            ("/etc/passwd", Place::Nowhere),
            ("/workspace/../etc", Place::Nowhere),
            ("/workspaces", Place::Nowhere),
            ("/..", Place::Listed(&["dev", "tmp", "workspace"])),
        ];
        for (path, place) in cases {
            assert_eq!(Place::of(Path::new(path)), place, "{path}");
        }
    }

    #[test]
    fn what_is_not_in_the_workspace_has_no_place_in_it() {
        assert_eq!(in_workspace(Path::new("/workspace")), Some(""));
        assert_eq!(in_workspace(Path::new("/workspace/a/b")), Some("a/b"));
        assert_eq!(in_workspace(Path::new("/tmp/a")), None);
        assert_eq!(in_workspace(Path::new("/workspaces")), None);
    }
}
