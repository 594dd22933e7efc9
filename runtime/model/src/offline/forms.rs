//! The forms of a word: without its ending, and other words that programmers use for the same thing.

/// Cuts an English ending off, so that what is left begins the other forms of the word.
pub(super) fn stem(word: &str) -> String {
    if !word.is_ascii() || word.len() < 5 {
        let plural = word.len() == 4 && word.ends_with('s') && !word.ends_with("ss") && word.is_ascii();
        return if plural { word[..3].to_owned() } else { word.to_owned() };
    }
    let without = |ending: &str, at_least: usize| word.strip_suffix(ending).filter(|rest| rest.len() >= at_least);
    let sibilant = |rest: &&str| ["ss", "x", "ch", "sh"].iter().any(|end| rest.ends_with(end));
    let cut = if let Some(rest) = without("ies", 3).or_else(|| without("es", 3).filter(sibilant)) {
        rest
    } else if let Some(rest) = without("s", 4).filter(|rest| !rest.ends_with(['s', 'u', 'i'])) {
        rest
    } else if let Some(rest) = without("ing", 3).or_else(|| without("ed", 3).filter(|rest| !rest.ends_with('e'))) {
        // `string` and `speed` have no ending, they only look like it.
        if rest.bytes().any(|byte| b"aeiouy".contains(&byte)) { single(rest) } else { word }
    } else {
        without("ion", 5).unwrap_or(word)
    };
    // A silent `e` is not in all forms: `parse`, `parsing`.
    let cut = if cut.len() >= 5 { cut.strip_suffix('e').unwrap_or(cut) } else { cut };
    cut.to_owned()
}

/// Undoes the doubling in `running` and `stopped`.
fn single(rest: &str) -> &str {
    match rest.as_bytes() {
        [.., a, b] if a == b && !b"lsfzaeiou".contains(b) => &rest[..rest.len() - 1],
        _ => rest,
    }
}

/// Other words for what a stem says; none for most.
pub(super) fn alternatives(stem: &str) -> Vec<String> {
    let is_said_by = |word: &&&str| {
        **word == stem
            || word.starts_with(stem) && word.len() <= stem.len() + 5 && stem.len() >= 5
            || stem.starts_with(**word) && word.len() >= 5
    };
    let group = SAME.iter().find(|group| group.iter().any(|word| is_said_by(&word)));
    let others = group.into_iter().flat_map(|group| group.iter()).filter(|word| !is_said_by(word));
    others.map(|word| (*word).to_owned()).collect()
}

/// Words that mean the same in nearly every code base. A pair that is the same in some and different in
/// others does not belong here: a wrong place costs more than a missed one.
const SAME: &[&[&str]] = &[
    &["delete", "remove"],
    &["directory", "folder"],
    &["symlink", "symbolic link"],
    &["configuration", "config", "settings"],
    &["environment", "env"],
    &["error", "failure"],
    &["timeout", "deadline"],
    &["truncate", "shorten", "clip"],
    &["cancel", "abort", "interrupt"],
    &["parallel", "concurrent"],
    &["regex", "regular expression"],
    &["database", "db"],
    &["password", "secret", "credential"],
    &["nest", "recursion", "depth"],
    &["hostile", "malicious"],
    &["allow", "permit"],
    &["deny", "refuse", "forbid", "reject"],
    &["verify", "validate", "check"],
    &["checksum", "digest", "hash"],
    &["documentation", "docs"],
    &["maximum", "max"],
    &["minimum", "min"],
    &["asynchronous", "async"],
    &["authentication", "auth", "login"],
    &["initialize", "initialise", "init"],
    &["mistype", "typo", "misspell"],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stem_begins_every_form() {
        for forms in [
            &["parse", "parses", "parsed", "parsing"][..],
            &["policy", "policies"],
            &["cache", "cached", "caching", "caches"],
            &["run", "runs", "running"],
            &["compile", "compiled", "compiling", "compiles"],
            &["address", "addresses", "addressed"],
            &["string", "strings"],
            &["speed", "speeds"],
        ] {
            for form in forms {
                let stem = stem(form);
                let shortest = forms.iter().all(|other| other.starts_with(&stem) || form.ends_with('y'));
                assert!(shortest, "{form}: {stem}");
            }
        }
    }

    #[test]
    fn other_words_are_found_from_any_form_and_do_not_hold_the_word_itself() {
        let check = |word: &str, expected: &[&str]| assert_eq!(alternatives(&stem(word)), expected, "{word}");
        check("directories", &["folder"]);
        check("folders", &["directory"]);
        check("configured", &["settings"]);
        check("nested", &["recursion", "depth"]);
        check("deleted", &["remove"]);
        check("sandbox", &[]);
        check("do", &[]);
    }
}
