//! Options as GNU commands take them: clusters, values joined or apart, long names, `--`.

/// What a command knows: its short options, `:` after those with a value, and long names for them.
pub(super) struct Known {
    pub(super) short: &'static str,
    pub(super) long: &'static [(&'static str, char)],
}

/// What it was given.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    options: Vec<(char, String)>,
    pub(super) operands: Vec<String>,
}

impl Given {
    pub(super) fn has(&self, option: char) -> bool {
        self.options.iter().any(|(given, _)| *given == option)
    }

    /// How often an option was given.
    pub(super) fn count(&self, option: char) -> usize {
        self.options.iter().filter(|(given, _)| *given == option).count()
    }

    /// The value of an option; the last one counts.
    pub(super) fn value(&self, option: char) -> Option<&str> {
        self.options.iter().rev().find(|(given, _)| *given == option).map(|(_, value)| value.as_str())
    }

    /// Which of these options came last.
    pub(super) fn last_of(&self, options: &str) -> Option<char> {
        self.options.iter().rev().map(|(given, _)| *given).find(|given| options.contains(*given))
    }
}

impl Known {
    /// Reads arguments. The error is what the command says, without its own name.
    pub(super) fn read(&self, arguments: &[String]) -> Result<Given, String> {
        let mut given = Given::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if argument == "--" {
                given.operands.extend(rest.cloned());
                break;
            } else if let Some(long) = argument.strip_prefix("--") {
                let (name, joined) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let option = self.long_name(name)?;
                let value = match (joined, self.takes_value(option)) {
                    (Some(value), _) => value.to_owned(),
                    (None, true) => {
                        rest.next().cloned().ok_or_else(|| format!("option '--{name}' requires an argument"))?
                    }
                    (None, false) => String::new(),
                };
                given.options.push((option, value));
            } else if argument.len() > 1 && argument.starts_with('-') {
                let letters = argument[1..].char_indices();
                for (at, option) in letters {
                    if !self.short.contains(option) || option == ':' {
                        return Err(format!("invalid option -- '{option}'"));
                    }
                    if !self.takes_value(option) {
                        given.options.push((option, String::new()));
                        continue;
                    }
                    let joined = &argument[1 + at + option.len_utf8()..];
                    let value = if joined.is_empty() { rest.next().cloned() } else { Some(joined.to_owned()) };
                    let value = value.ok_or_else(|| format!("option requires an argument -- '{option}'"))?;
                    given.options.push((option, value));
                    break;
                }
            } else {
                given.operands.push(argument.clone());
            }
        }
        Ok(given)
    }

    /// A long name, or the beginning of just one.
    fn long_name(&self, name: &str) -> Result<char, String> {
        let exact = self.long.iter().find(|(known, _)| *known == name);
        let mut begun = self.long.iter().filter(|(known, _)| known.starts_with(name));
        match (exact, begun.next(), begun.next()) {
            (Some((_, option)), ..) | (None, Some((_, option)), None) => Ok(*option),
            (None, Some(_), Some(_)) => Err(format!("option '--{name}' is ambiguous")),
            (None, None, _) => Err(format!("unrecognized option '--{name}'")),
        }
    }

    fn takes_value(&self, option: char) -> bool {
        self.short.split_once(option).is_some_and(|(_, after)| after.starts_with(':'))
    }
}

/// A number with a suffix such as `K` or `MB`.
pub(super) fn number(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let scale: u64 = match &text[digits.len()..] {
        "" => 1,
        "b" => 512,
        "K" | "k" | "KiB" => 1 << 10,
        "kB" | "KB" => 1000,
        "M" | "MiB" => 1 << 20,
        "MB" => 1_000_000,
        "G" | "GiB" => 1 << 30,
        "GB" => 1_000_000_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(scale)
}
