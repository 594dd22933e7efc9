//! Names of hosts, in the one form in which they are compared.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The one form of a host's name as it stands in a request: lower case, without a dot at the end, an IPv6
/// address in brackets and as short as it gets. `None` if it is no name, or a number that some would read as an
/// address and others not.
pub(crate) fn canonical(name: &str) -> Option<String> {
    if let Some(inside) = name.strip_prefix('[') {
        let address: Ipv6Addr = inside.strip_suffix(']')?.parse().ok()?;
        return Some(format!("[{address}]"));
    }
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    if name.len() > 253 || !name.split('.').all(is_label) {
        return None;
    }
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit()) || is_hexadecimal(last);
    (!is_number || name.parse::<Ipv4Addr>().is_ok()).then_some(name)
}

/// The same for what a person writes: other scripts become what is sent in their place.
pub(crate) fn canonical_in_any_script(name: &str) -> Option<String> {
    if name.is_ascii() {
        return canonical(name);
    }
    let is_plain = |letter: char| !letter.is_ascii() || letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    match url::Host::parse(name).ok()? {
        url::Host::Domain(name_sent) if name.chars().all(is_plain) => canonical(&name_sent),
        _ => None,
    }
}

/// The address that a name in its one form is.
pub(crate) fn literal(name: &str) -> Option<IpAddr> {
    match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(inside) => inside.parse().map(IpAddr::V6).ok(),
        None => name.parse().map(IpAddr::V4).ok(),
    }
}

/// What stands before the colon of a port, and behind it.
pub(crate) fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        // The colons of an IPv6 address are inside of its brackets.
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (text, None),
    }
}

/// A port, written in the one usual way.
pub(crate) fn port(text: &str) -> Option<u16> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| is_plain)
}

fn is_hexadecimal(label: &str) -> bool {
    label.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
