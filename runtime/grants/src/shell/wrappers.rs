//! Commands that run other commands: what `sudo`, `xargs`, `find -exec` or `sh -c` would start.
//!
//! A deny rule sees the wrapper and what it runs. An allow rule is needed for both, except for the
//! few wrappers that do nothing else, where what they run decides alone.

use super::{Concern, Word};

/// What a command would run in turn.
#[derive(Default)]
pub(super) struct Inner {
    pub(super) commands: Vec<Vec<Word>>,
    pub(super) scripts: Vec<String>,
    transparent: bool,
    unknown: bool,
}

impl Inner {
    /// Whether the command does nothing but run what was found.
    pub(super) fn is_transparent(&self) -> bool {
        self.transparent && !self.unknown && self.commands.len() == 1
    }

    /// Why a rule about the wrapper does not speak for what it runs.
    pub(super) fn concern(&self) -> Option<Concern> {
        self.unknown.then(|| Concern::Always("runs a command that cannot be found in its arguments".to_owned()))
    }
}

/// How a wrapper's own arguments end and the command begins.
struct Wrapper {
    name: &'static str,
    /// Options whose value is the next word.
    valued: &'static [&'static str],
    /// Words of its own after the options, such as the seconds of `timeout`.
    operands: usize,
    /// Whether `NAME=value` may stand before the command.
    assigns: bool,
    /// Whether it does nothing but run the command. Options other than these make it do more.
    transparent: Option<&'static [&'static str]>,
    /// Whether it adds words to the command that are not known.
    appends: bool,
}

const fn wrapper(name: &'static str, valued: &'static [&'static str]) -> Wrapper {
    Wrapper { name, valued, operands: 0, assigns: false, transparent: None, appends: false }
}

const WRAPPERS: [Wrapper; 21] = [
    Wrapper { assigns: true, transparent: Some(&[]), ..wrapper("env", &["-u", "--unset", "-C", "--chdir"]) },
    Wrapper { transparent: Some(&["-p"]), ..wrapper("command", &[]) },
    wrapper("builtin", &[]),
    wrapper("exec", &["-a"]),
    Wrapper { transparent: Some(&[]), ..wrapper("nohup", &[]) },
    Wrapper { transparent: Some(&["-n"]), ..wrapper("nice", &["-n", "--adjustment"]) },
    Wrapper { transparent: Some(&["-p"]), ..wrapper("time", &["-f", "--format", "-o", "--output"]) },
    Wrapper {
        operands: 1,
        transparent: Some(&["-k", "-s", "--kill-after", "--signal", "--preserve-status", "--foreground", "-v"]),
        ..wrapper("timeout", &["-k", "-s", "--kill-after", "--signal"])
    },
    Wrapper {
        transparent: Some(&["-i", "-o", "-e", "--input", "--output", "--error"]),
        ..wrapper("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"])
    },
    wrapper("setsid", &[]),
    wrapper("ionice", &["-c", "-n", "--class", "--classdata"]),
    wrapper("chrt", &["-T", "-P", "-D"]),
    Wrapper { operands: 1, ..wrapper("taskset", &[]) },
    Wrapper {
        assigns: true,
        ..wrapper("sudo", &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t", "--user", "--group"])
    },
    wrapper("doas", &["-u", "-C"]),
    Wrapper {
        appends: true,
        ..wrapper(
            "xargs",
            &["-I", "-n", "-P", "-d", "-a", "-L", "-s", "-E", "--max-args", "--max-procs", "--delimiter"],
        )
    },
    wrapper("unbuffer", &[]),
    wrapper("strace", &["-e", "-o", "-p", "-s", "-u", "-E"]),
    Wrapper { operands: 1, ..wrapper("chroot", &[]) },
    wrapper("busybox", &[]),
    wrapper("toybox", &[]),
];

/// Options of wrappers that are known to take no value.
const FLAGS: [&str; 16] =
    ["-0", "-r", "-t", "-x", "-i", "-E", "-H", "-n", "-b", "-p", "-f", "-v", "-l", "-c", "-w", "--null"];

const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish"];

/// Finds what a command would run in turn.
pub(super) fn inner(words: &[Word]) -> Inner {
    let Some((command, arguments)) = words.split_first() else { return Inner::default() };
    let name = command.base_name();
    if command.opaque {
        return Inner::default();
    }
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
        let mut inner = wrapper.inner(arguments);
        // `./time` may be anything.
        inner.transparent &= command.text == name;
        return inner;
    }
    match name {
        _ if SHELLS.contains(&name) => shell(arguments),
        "eval" => text_of(arguments),
        "parallel" => parallel(arguments),
        "watch" => text_of(after_options(arguments, &["-n", "--interval", "-d"])),
        "trap" => text_of(arguments.get(..1).unwrap_or_default()),
        "su" | "script" | "flock" => option_c(arguments),
        "alias" => aliases(arguments),
        "find" | "fd" | "fdfind" => executed(arguments),
        _ => Inner::default(),
    }
}

impl Wrapper {
    fn inner(&self, arguments: &[Word]) -> Inner {
        let mut inner = Inner { transparent: self.transparent.is_some(), ..Inner::default() };
        let mut rest = arguments;
        // Whether the word before the command is an option that may have taken a value.
        let mut ambiguous = false;
        while let Some((word, after)) = rest.split_first() {
            let text = word.text.as_str();
            if word.opaque && (text.is_empty() || text.starts_with('-')) {
                return unknown(arguments);
            }
            if text == "--" {
                (rest, ambiguous) = (after, false);
                break;
            }
            if text.len() > 1 && text.starts_with('-') {
                if self.name == "env" && (text.starts_with("-S") || text.starts_with("--split")) {
                    return split_string(text, after);
                }
                // `command -v rm` only says where `rm` is.
                if self.name == "command" && text.contains(['v', 'V']) {
                    return Inner::default();
                }
                let valued = self.valued.contains(&text);
                let option = self.valued.iter().copied().find(|option| attached(text, option)).unwrap_or(text);
                let harmless = self.transparent.is_some_and(|harmless| harmless.contains(&option));
                inner.transparent &= harmless;
                ambiguous = !valued && !harmless && option == text && !text.contains('=') && !FLAGS.contains(&text);
                rest = if valued { after.get(1..).unwrap_or_default() } else { after };
            } else if self.assigns && text.contains('=') {
                let name = text.split('=').next().unwrap_or_default();
                inner.transparent &= super::arguments::variable(name).is_none();
                (rest, ambiguous) = (after, false);
            } else {
                break;
            }
        }
        let starts = if ambiguous { self.operands..=self.operands + 1 } else { self.operands..=self.operands };
        for start in starts {
            let mut command = rest.get(start..).unwrap_or_default().to_vec();
            if command.is_empty() {
                break;
            }
            if self.appends {
                command.push(Word::unknown());
            }
            inner.commands.push(command);
        }
        inner
    }
}

/// `env -S 'command words'`: the text is split by rules of its own, close to those of a shell.
fn split_string(option: &str, after: &[Word]) -> Inner {
    let attached =
        option.strip_prefix("-S").or_else(|| option.split_once('=').map(|(_, text)| text)).unwrap_or_default();
    let words: Option<Vec<&str>> = after.iter().map(Word::literal).collect();
    let scripts = words.map(|words| format!("{attached} {}", words.join(" "))).into_iter().collect();
    Inner { scripts, ..Inner::default() }.and_unknown()
}

/// `parallel command ::: values`: the command is read by a shell, and without one the values are.
fn parallel(arguments: &[Word]) -> Inner {
    let words = after_options(arguments, &["-j", "--jobs", "-n", "-N", "-I", "--colsep", "-a", "--arg-file"]);
    let length = words.iter().position(|word| word.text.starts_with(":::")).unwrap_or(words.len());
    match words.get(..length).unwrap_or_default() {
        [] => {
            let values = words.iter().skip(1).filter_map(Word::literal).map(str::to_owned);
            Inner { scripts: values.collect(), ..Inner::default() }.and_unknown()
        }
        command => text_of(command),
    }
}

/// Whether an option has its value in the same word: `-n5`, `--signal=KILL`.
fn attached(text: &str, option: &str) -> bool {
    match text.strip_prefix(option) {
        Some(value) => !option.starts_with("--") || value.starts_with('='),
        None => false,
    }
}

impl Inner {
    fn and_unknown(mut self) -> Self {
        self.unknown = true;
        self
    }
}

/// The command begins at some word, but which is not certain: deny rules see every possibility.
fn unknown(arguments: &[Word]) -> Inner {
    let commands = (0..arguments.len().min(16)).filter_map(|start| arguments.get(start..)).map(<[Word]>::to_vec);
    // Wrappers inside would be looked for again and again; the first words are enough.
    let commands = commands.filter(|words| words.first().is_some_and(|word| !word.opaque)).take(4).collect();
    Inner { commands, ..Inner::default() }.and_unknown()
}

/// Words that are put together and read as a script.
fn text_of(words: &[Word]) -> Inner {
    if words.is_empty() {
        return Inner::default();
    }
    match words.iter().map(Word::literal).collect::<Option<Vec<_>>>() {
        Some(words) => Inner { scripts: vec![words.join(" ")], ..Inner::default() },
        None => Inner::default().and_unknown(),
    }
}

fn after_options<'a>(mut words: &'a [Word], valued: &[&str]) -> &'a [Word] {
    while let Some((word, after)) = words.split_first().filter(|(word, _)| word.text.starts_with('-')) {
        words = if valued.contains(&word.text.as_str()) { after.get(1..).unwrap_or_default() } else { after };
    }
    words
}

/// `sh -c '…'`: the letter may stand among others behind one dash, and the text is the first word
/// that is no option.
fn shell(arguments: &[Word]) -> Inner {
    let (mut given, mut rest) = (false, arguments);
    while let Some((word, after)) = rest.split_first() {
        let text = word.text.as_str();
        if word.opaque && (text.is_empty() || text.starts_with('-')) {
            return Inner::default().and_unknown();
        }
        if !text.starts_with(['-', '+']) || text.len() < 2 {
            break;
        }
        let long = text.starts_with("--");
        given |= !long && text.contains('c');
        let valued = if long { text.ends_with("file") } else { text.contains(['o', 'O']) };
        rest = if valued { after.get(1..).unwrap_or_default() } else { after };
    }
    if given { text_of(rest.get(..1).unwrap_or_default()) } else { Inner::default() }
}

fn option_c(arguments: &[Word]) -> Inner {
    let at = arguments.iter().position(|word| matches!(word.text.as_str(), "-c" | "--command"));
    match at {
        Some(at) => text_of(arguments.get(at + 1..at + 2).unwrap_or_default()),
        None => Inner::default(),
    }
}

fn aliases(arguments: &[Word]) -> Inner {
    let mut inner = Inner::default();
    for word in arguments {
        match word.literal() {
            Some(text) => inner.scripts.extend(text.split_once('=').map(|(_, value)| value.to_owned())),
            None => inner.unknown = true,
        }
    }
    inner
}

/// `find … -exec command {} ;` and its relatives.
fn executed(arguments: &[Word]) -> Inner {
    const STARTS: [&str; 8] = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let mut inner = Inner::default();
    let mut rest = arguments;
    while let Some(at) = rest.iter().position(|word| STARTS.contains(&word.text.as_str())) {
        let after = rest.get(at + 1..).unwrap_or_default();
        let length = after.iter().position(|word| matches!(word.text.as_str(), ";" | "+")).unwrap_or(after.len());
        let command = after.get(..length).unwrap_or_default();
        let filled = command.iter().map(|word| if word.text.contains("{}") { Word::unknown() } else { word.clone() });
        match filled.collect::<Vec<_>>() {
            command if command.is_empty() => inner.unknown = true,
            command => inner.commands.push(command),
        }
        rest = after.get(length..).unwrap_or_default();
    }
    inner
}
