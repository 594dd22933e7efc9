//! Wording that several tools share: clipped lines, counts, sizes, paths, and names that look alike.

/// The first `most` characters of a text, and how many characters were cut off.
pub fn clip(text: &str, most: usize) -> (&str, usize) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (&text[..end], text[end..].chars().count()),
        None => (text, 0),
    }
}

/// A number with its noun: `1 line`, `2 lines`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A size as people write it: `512 B`, `1.5 KiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut tenths = u128::from(bytes) * 10 / 1024;
    let mut unit = 0;
    while tenths >= 10240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// The path without `.` parts and doubled or trailing slashes; `..` stays, for the host to refuse.
pub fn clean(path: &str) -> String {
    let absolute = if path.starts_with('/') { "/" } else { "" };
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    format!("{absolute}{}", parts.join("/"))
}

/// The names that somebody who wrote `wanted` may have meant, the likeliest first.
pub fn similar<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let mut likely: Vec<(usize, &str)> =
        names.into_iter().filter_map(|name| Some((distance(&wanted, &name.to_lowercase())?, name))).collect();
    likely.sort_unstable();
    likely.into_iter().take(most).map(|(_, name)| name).collect()
}

/// How far apart two names are, if they are alike at all: few letters differ, or only what
/// follows the dot, or one continues the other.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    let allowed = (wanted.chars().count() / 3).max(1);
    let letters = edit_distance(wanted, name, allowed);
    let (wanted_stem, name_stem) = (stem(wanted), stem(name));
    let alike = wanted_stem.len() > 2 && name_stem.len() > 2;
    let stems = (alike && (wanted_stem.starts_with(name_stem) || name_stem.starts_with(wanted_stem)))
        .then(|| allowed + wanted_stem.len().abs_diff(name_stem.len()));
    letters.into_iter().chain(stems).min()
}

fn stem(name: &str) -> &str {
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

/// Levenshtein's distance, as long as it is at most `allowed`.
fn edit_distance(a: &str, b: &str, allowed: usize) -> Option<usize> {
    let b: Vec<char> = b.chars().collect();
    if a.chars().count().abs_diff(b.len()) > allowed {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (above, letter) in a.chars().enumerate() {
        let mut diagonal = above;
        row[0] = above + 1;
        for (column, other) in b.iter().enumerate() {
            let kept = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = kept.min(diagonal + 1).min(row[column] + 1);
        }
        if row.iter().all(|&steps| steps > allowed) {
            return None;
        }
    }
    row.last().copied().filter(|&steps| steps <= allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clipping_counts_characters_not_bytes() {
        assert_eq!(clip("añb", 2), ("añ", 1));
        assert_eq!(clip("añb", 3), ("añb", 0));
        assert_eq!(clip("", 0), ("", 0));
    }

    #[test]
    fn sizes_read_as_people_write_them() {
        let shown: Vec<String> = [0, 1023, 1024, 1536, 5 << 20, u64::MAX].into_iter().map(size).collect();
        assert_eq!(shown, ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "5.0 MiB", "15.9 EiB"]);
    }

    #[test]
    fn similar_names_come_likeliest_first() {
        let names = ["main.rs", "Main.rs", "maim.rs", "main.py", "other.txt"];
        assert_eq!(similar("MAIN.rs", names, 3), ["Main.rs", "main.rs", "maim.rs"]);
        assert_eq!(similar("readme", ["README.md", "x"], 3), ["README.md"]);
        assert_eq!(similar("zzz", names, 3), [""; 0]);
    }
}
