//! What the kernel has for us.

use super::Check;

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

/// Native programs will be confined by it; nothing needs it yet, so it is only mentioned.
pub(super) fn landlock() -> Check {
    Check::ok(
        "landlock",
        match landlock_level() {
            Some(level) => format!("ABI {level}"),
            None => "not there".to_owned(),
        },
    )
}

/// The newest version of its interface that the kernel has.
#[expect(unsafe_code, reason = "no safe wrapper asks this without confining the process")]
fn landlock_level() -> Option<u32> {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the kernel reads no memory: there are no attributes, and their size is zero.
    let level =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0_usize, VERSION) };
    u32::try_from(level).ok()
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
