//! Uses of a command that are more than the command: arguments by which a program that reads
//! writes or runs something, and variables that decide what other programs do.
//!
//! Whoever allows `find` means looking for files, not `find -delete`. The table makes rules mean
//! that. It is short on purpose and will never be complete; the sandbox is what holds.

use super::{Concern, Word};

/// A program and the arguments that make it do more than read.
struct Program {
    names: &'static [&'static str],
    /// Single letters, alone or among others behind one dash.
    letters: &'static str,
    /// Long options, which programs also take shortened, and the words of `find`.
    options: &'static [&'static str],
}

const PROGRAMS: [Program; 8] = [
    Program { names: &["find"], letters: "", options: &["-delete", "-fprint", "-fprint0", "-fprintf", "-fls"] },
    Program { names: &["sort"], letters: "o", options: &["--output", "--compress-program"] },
    Program { names: &["sed", "gsed"], letters: "if", options: &["--in-place", "--file"] },
    Program {
        names: &["git"],
        letters: "cO",
        options: &[
            "--exec-path",
            "--config-env",
            "--upload-pack",
            "--receive-pack",
            "--exec",
            "--output",
            "--open-files-in-pager",
            "--ext-diff",
            "--textconv",
        ],
    },
    Program {
        names: &["tar", "gtar", "bsdtar"],
        letters: "IF",
        options: &[
            "--checkpoint-action",
            "--to-command",
            "--use-compress-program",
            "--rsh-command",
            "--info-script",
            "--new-volume-script",
        ],
    },
    Program { names: &["rg"], letters: "", options: &["--pre", "--hostname-bin"] },
    Program { names: &["tree"], letters: "oR", options: &["--output"] },
    Program {
        names: &["awk", "gawk", "mawk", "nawk"],
        letters: "fileE",
        options: &["--file", "--include", "--load", "--exec"],
    },
];

/// Why a rule about a program does not speak for this use of it.
pub(super) fn concern(words: &[Word]) -> Option<Concern> {
    let (command, arguments) = words.split_first()?;
    let name = command.base_name();
    let program = PROGRAMS.iter().find(|program| program.names.contains(&name))?;
    // What is not known may be any of the arguments, unless it begins like a name; of a program in
    // another language every part counts.
    let is_awk = name.ends_with("awk");
    if arguments.iter().any(|word| word.opaque && (is_awk || word.text.is_empty() || word.text.starts_with('-'))) {
        return Some(Concern::Always(format!("gives `{name}` an argument that is known only when it runs")));
    }
    let verb = if name == "git" { git_verb(arguments) } else { arguments.len() };
    let counts = |at: usize, word: &Word| {
        // `git commit -c` is another thing than `git -c`.
        at < verb || word.text.starts_with("--") || word.text.starts_with("-O")
    };
    let mut options = arguments.iter().enumerate().filter(|(at, word)| counts(*at, word)).map(|(_, word)| word);
    let armed = options.find(|word| program.arms(&word.text)).or_else(|| match name {
        "sed" | "gsed" => edits(arguments).find(|word| !plain_edit(&word.text)),
        _ if is_awk => arguments
            .iter()
            .find(|word| ["system", "|", ">", "getline", "@"].iter().any(|sign| word.text.contains(sign))),
        _ => None,
    })?;
    Some(Concern::Argument(armed.text.clone()))
}

/// Where the verb of a `git` command stands: behind the options and their values.
fn git_verb(arguments: &[Word]) -> usize {
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| word.text.starts_with('-')) {
        at +=
            if matches!(word.text.as_str(), "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace") { 2 } else { 1 };
    }
    at
}

/// The scripts of a `sed` command: what follows each `-e`, or else the first word that is no option.
fn edits(arguments: &[Word]) -> impl Iterator<Item = &Word> {
    let is_script =
        |word: &Word| word.text.starts_with("--e") || word.text.starts_with('-') && word.text.ends_with('e');
    let first =
        if arguments.iter().any(is_script) { None } else { arguments.iter().find(|word| !word.text.starts_with('-')) };
    let given = arguments.iter().zip(arguments.iter().skip(1)).filter(move |(option, _)| is_script(option));
    // `-es/a/b/` and `--expression=s/a/b/` hold the script themselves; nobody writes that.
    let attached = arguments.iter().filter(|word| {
        word.text.starts_with("--e") && word.text.contains('=')
            || word.text.starts_with("-e") && word.text.len() > 2
            || word.text.starts_with("-n") && word.text.contains('e') && !word.text.ends_with('e')
    });
    first.into_iter().chain(given.map(|(_, script)| script)).chain(attached)
}

impl Program {
    fn arms(&self, argument: &str) -> bool {
        if self.options.contains(&argument) {
            return true;
        }
        if let Some(long) = argument.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or(long);
            return !name.is_empty()
                && self
                    .options
                    .iter()
                    .filter_map(|option| option.strip_prefix("--"))
                    .any(|option| option.starts_with(name));
        }
        let Some(letters) = argument.strip_prefix('-').filter(|_| self.names != ["find"]) else { return false };
        letters.chars().take_while(char::is_ascii_alphabetic).any(|letter| self.letters.contains(letter))
    }
}

/// Whether a `sed` script only prints, deletes, quits or substitutes: no `w` and no `e`.
fn plain_edit(script: &str) -> bool {
    let command = script.trim_start_matches(|c: char| c.is_ascii_digit() || ",$!+~ ".contains(c));
    let Some(kind) = command.chars().next() else { return false };
    let rest = &command[kind.len_utf8()..];
    match kind {
        'p' | 'd' | 'q' | '=' => rest.is_empty(),
        's' | '/' => {
            let Some(mark) = (if kind == '/' { Some('/') } else { rest.chars().next() }) else { return false };
            let body = if kind == '/' { rest } else { &rest[mark.len_utf8()..] };
            let parts: Vec<&str> = body.split(mark).collect();
            match (kind, parts.as_slice()) {
                ('/', [_, action]) => matches!(*action, "p" | "d" | "q" | "="),
                ('s', [_, _, flags]) => flags.chars().all(|flag| "gpiI0123456789".contains(flag)),
                _ => false,
            }
        }
        _ => false,
    }
}

/// Variables that make programs load code, find other programs, or run a command.
const VARIABLES: [&str; 37] = [
    "PATH",
    "IFS",
    "ENV",
    "BASH_ENV",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS4",
    "SHELL",
    "SHELLOPTS",
    "BASHOPTS",
    "CDPATH",
    "HOME",
    "PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5OPT",
    "PERL5LIB",
    "RUBYOPT",
    "RUBYLIB",
    "JAVA_TOOL_OPTIONS",
    "GCONV_PATH",
    "MAKEFLAGS",
    "TAR_OPTIONS",
    "RIPGREP_CONFIG_PATH",
    "GREP_OPTIONS",
];
const VARIABLE_BEGINNINGS: [&str; 8] =
    ["LD_", "DYLD_", "GIT_", "BASH_FUNC_", "CARGO_BUILD_", "RUSTC", "npm_config_", "NPM_CONFIG_"];

/// Why setting a variable is more than setting a variable.
pub(super) fn variable(name: &str) -> Option<Concern> {
    let decides = VARIABLES.contains(&name) || VARIABLE_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
    decides.then(|| Concern::Always(format!("sets `{name}`, which decides what programs do")))
}
