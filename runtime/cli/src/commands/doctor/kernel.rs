//! What the kernel has for us.

use std::time::Instant;

use palisade_sandbox::{Engine, Walls};

use super::Check;
use crate::{config::Exec, native, render::words, settings::Settings};

/// Whether the kernel is new enough.
pub(super) fn release() -> Check {
    let Some(release) = says("/proc/sys/kernel/osrelease") else {
        return Check::warn("kernel", "its version cannot be read", "mount /proc");
    };
    let found = format!("Linux {release}");
    match version(&release) {
        Some(version) if version < (5, 6) => {
            Check::fail("kernel", found, "Linux 5.6 or newer is needed to keep path lookups inside a folder")
        }
        Some(version) if version < (6, 7) => {
            Check::warn("kernel", found, "from Linux 6.7 on (PAGEMAP_SCAN), many calls at the same time are faster")
        }
        Some(_) => Check::ok("kernel", found),
        None => Check::warn("kernel", found, "its version is not known; Linux 5.6 or newer is needed"),
    }
}

/// Whether native programs can be confined: one that does nothing is run behind the walls.
pub(super) fn programs(exec: &Exec, settings: &Settings) -> Check {
    let allowed = match exec.allow.join(", ") {
        none if none.is_empty() => "none is allowed".to_owned(),
        some => format!("allowed are {some}"),
    };
    match native::programs(exec, settings).try_walls() {
        Ok(walls @ Walls { processes: true, mounts: true, proc: true, .. }) => {
            Check::ok("programs", format!("can be confined: Landlock {}, namespaces; {allowed}", walls.landlock))
        }
        Ok(walls) => Check::warn(
            "programs",
            format!("can be confined: Landlock {}; {allowed}", walls.landlock),
            format!(
                "{} not to be had here, so programs cannot change modes and times of files, see less of /proc, and \
                 have no common limit of memory",
                missing(walls)
            ),
        ),
        Err(why) if exec.allow.is_empty() => {
            Check::ok("programs", format!("cannot be confined here; {allowed}: {why}"))
        }
        Err(why) => Check::warn("programs", format!("cannot be confined, so none is run: {why}"), REMEDY),
    }
}

/// Whether tools can run apart: a process for them is started, and ended.
pub(super) fn apart(is_wanted: bool, engine: &Engine, settings: &Settings) -> Check {
    let started = Instant::now();
    match engine.try_apart(settings.worker.clone()) {
        Ok(()) => {
            let wanted = if is_wanted { "and do" } else { "if `[sandbox] apart` or `--apart` says so" };
            Check::ok(
                "apart",
                format!(
                    "tools can run in a process of their own, {wanted}; it starts in {}",
                    words::time(started.elapsed())
                ),
            )
        }
        Err(why) if is_wanted => {
            Check::fail("apart", format!("tools cannot run in a process of their own: {why}"), NEEDED)
        }
        Err(why) => Check::ok("apart", format!("tools cannot run in a process of their own here, and do not: {why}")),
    }
}

const NEEDED: &str = "Linux 6.2 or newer with Landlock (`lsm=landlock,…`), or `[sandbox] apart = false`";

const REMEDY: &str = "Linux 6.12 with Landlock (`lsm=landlock,…`), or 6.2 with user namespaces";

fn missing(walls: Walls) -> &'static str {
    match walls {
        Walls { processes: false, .. } => "namespaces are",
        Walls { mounts: false, .. } => "mounts of their own are",
        _ => "a /proc of their own is",
    }
}

#[expect(clippy::disallowed_methods, reason = "reads what the kernel says of itself")]
fn says(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// `6.8.0-31-generic` is version 6.8.
fn version(release: &str) -> Option<(u32, u32)> {
    let (major, rest) = release.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_versions_are_compared_as_numbers() {
        assert_eq!(version("6.8.0-31-generic"), Some((6, 8)));
        assert_eq!(version("5.15.167.4-microsoft-standard-WSL2"), Some((5, 15)));
        assert_eq!(version("odd"), None);
    }
}
