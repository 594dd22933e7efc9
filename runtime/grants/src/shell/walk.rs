//! From a syntax tree to the commands in it.

use brush_parser::{
    Parser,
    ast::{
        AndOr, AndOrList, Assignment, AssignmentName, AssignmentValue, BinaryPredicate, Command,
        CommandPrefixOrSuffixItem, CompoundCommand, CompoundList, ExtendedTestExpr, FunctionBody, IoFileRedirectKind,
        IoFileRedirectTarget, IoRedirect, Pipeline, Program, RedirectList, SimpleCommand, SubshellCommand,
        Word as RawWord,
    },
};

use super::{
    Concern, Need, Redirect, Script, Segment, Unreadable, Word, arguments, legible,
    words::{options, unreadable},
    wrappers,
};

/// More commands than this in one line are not looked at one by one.
const MAX_SEGMENTS: usize = 512;
/// How often text inside of text (`$(…)`, `sh -c '…'`) is read.
const MAX_DEPTH: usize = 8;

/// Collects what a script would run.
pub(super) struct Walk {
    script: Script,
    depth: usize,
}

type Done = Result<(), Unreadable>;

/// Reads a command line. The parser is not ours: should it panic on something that
/// [`legible::check`] passed, the command counts as unreadable.
pub(super) fn read(text: &str) -> Result<Script, Unreadable> {
    std::panic::catch_unwind(|| {
        let mut walk = Walk { script: Script::default(), depth: 0 };
        walk.script(text)?;
        Ok(walk.script)
    })
    .unwrap_or_else(|_| Err(unreadable()))
}

impl Walk {
    /// Reads a script: the whole text, or one inside of it.
    pub(super) fn script(&mut self, text: &str) -> Done {
        legible::check(text)?;
        if self.depth == MAX_DEPTH {
            return Err(Unreadable(format!("holds commands inside of commands more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        for list in parsed(text)?.complete_commands {
            self.list(&list)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Adds a command and whatever it runs in turn.
    pub(super) fn command(&mut self, words: Vec<Word>, concern: Option<Concern>) -> Done {
        let concern = concern.or_else(|| unknown_program(&words)).or_else(|| arguments::concern(&words));
        let inner = wrappers::inner(&words);
        let need = if inner.is_transparent() && concern.is_none() { Need::DenyOnly } else { Need::Allow };
        let concern = concern.or_else(|| inner.concern());
        self.add(Segment { words, need, concern })?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Unreadable(format!("runs commands through commands more than {MAX_DEPTH} deep")));
        }
        for words in inner.commands {
            self.command(words, None)?;
        }
        for text in inner.scripts {
            self.script(&text)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Notes that a variable is set that decides what other commands do.
    pub(super) fn assigned(&mut self, name: &str) {
        if let Some(concern) = arguments::variable(name) {
            self.script.segments.push(Segment { words: Vec::new(), need: Need::Allow, concern: Some(concern) });
        }
    }

    /// Notes something that no rule about some commands speaks for.
    pub(super) fn worry(&mut self, why: &str) {
        let concern = Some(Concern::Always(why.to_owned()));
        self.script.segments.push(Segment { words: Vec::new(), need: Need::Allow, concern });
    }

    /// Notes something that the shell does by itself and that runs nothing.
    fn nothing(&mut self) -> Done {
        self.add(Segment { words: Vec::new(), need: Need::Allow, concern: None })
    }

    fn add(&mut self, segment: Segment) -> Done {
        if self.script.segments.len() >= MAX_SEGMENTS {
            return Err(Unreadable(format!("runs more than {MAX_SEGMENTS} commands")));
        }
        self.script.segments.push(segment);
        Ok(())
    }

    fn list(&mut self, list: &CompoundList) -> Done {
        list.0.iter().try_for_each(|item| self.chain(&item.0))
    }

    fn chain(&mut self, chain: &AndOrList) -> Done {
        self.pipeline(&chain.first)?;
        chain.additional.iter().try_for_each(|next| match next {
            AndOr::And(pipeline) | AndOr::Or(pipeline) => self.pipeline(pipeline),
        })
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Done {
        pipeline.seq.iter().try_for_each(|command| match command {
            Command::Simple(command) => self.simple(command),
            Command::Compound(command, redirects) => {
                self.compound(command)?;
                self.redirects(redirects.as_ref())
            }
            Command::Function(function) => self.function(&function.body),
            Command::ExtendedTest(test, redirects) => {
                self.nothing()?;
                self.test(&test.expr)?;
                self.redirects(redirects.as_ref())
            }
        })
    }

    fn function(&mut self, FunctionBody(command, redirects): &FunctionBody) -> Done {
        self.compound(command)?;
        self.redirects(redirects.as_ref())
    }

    fn compound(&mut self, command: &CompoundCommand) -> Done {
        match command {
            CompoundCommand::Arithmetic(command) => {
                self.nothing()?;
                self.arithmetic(&command.expr)
            }
            CompoundCommand::ArithmeticForClause(clause) => {
                for expression in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.arithmetic(expression)?;
                }
                self.list(&clause.body.list)
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(shell) => self.list(&shell.list),
            CompoundCommand::ForClause(clause) => {
                self.assigned(&clause.variable_name);
                for value in clause.values.iter().flatten() {
                    self.value(value)?;
                }
                self.list(&clause.body.list)
            }
            CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value.value)?;
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        self.word(&pattern.value)?;
                    }
                    if let Some(list) = &case.cmd {
                        self.list(list)?;
                    }
                }
                Ok(())
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition)?;
                self.list(&clause.then)?;
                for part in clause.elses.iter().flatten() {
                    if let Some(condition) = &part.condition {
                        self.list(condition)?;
                    }
                    self.list(&part.body)?;
                }
                Ok(())
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0)?;
                self.list(&clause.1.list)
            }
            CompoundCommand::Coprocess(_) => Err(Unreadable("uses `coproc`, which rules do not read".to_owned())),
        }
    }

    fn simple(&mut self, command: &SimpleCommand) -> Done {
        let (mut words, mut concern) = (Vec::new(), None);
        for item in command.prefix.iter().flat_map(|prefix| &prefix.0) {
            if let CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) = item {
                concern = concern.or(self.assignment(assignment)?);
            } else {
                self.item(item, &mut words)?;
            }
        }
        if let Some(word) = &command.word_or_name {
            words.push(self.word(&word.value)?);
        }
        for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut words)?;
        }
        if words.is_empty() {
            return self.add(Segment { words, need: Need::Allow, concern });
        }
        self.command(words, concern)
    }

    fn item(&mut self, item: &CommandPrefixOrSuffixItem, words: &mut Vec<Word>) -> Done {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect)?,
            CommandPrefixOrSuffixItem::Word(word) | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                words.push(self.word(&word.value)?);
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, shell) => {
                self.subshell(shell)?;
                words.push(Word::unknown());
            }
        }
        Ok(())
    }

    fn subshell(&mut self, shell: &SubshellCommand) -> Done {
        self.list(&shell.list)
    }

    fn assignment(&mut self, assignment: &Assignment) -> Result<Option<Concern>, Unreadable> {
        let name = match &assignment.name {
            AssignmentName::VariableName(name) => name,
            AssignmentName::ArrayElementName(name, index) => {
                self.body(index)?;
                name
            }
        };
        match &assignment.value {
            AssignmentValue::Scalar(value) => self.value(value)?,
            AssignmentValue::Array(elements) => {
                for (key, value) in elements {
                    if let Some(key) = key {
                        self.word(&key.value)?;
                    }
                    self.value(value)?;
                }
            }
        }
        Ok(arguments::variable(name))
    }

    /// Reads a value that a variable takes. A shell that later uses the variable as a number runs
    /// the commands in its indexes, however they were quoted here.
    fn value(&mut self, value: &RawWord) -> Done {
        let word = self.word(&value.value)?;
        if word.text.contains('[') && (word.text.contains("$(") || word.text.contains('`')) {
            self.worry("keeps commands inside of a value, which arithmetic would run");
        }
        Ok(())
    }

    fn test(&mut self, test: &ExtendedTestExpr) -> Done {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left)?;
                self.test(right)
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(_, word) => self.value(word),
            ExtendedTestExpr::BinaryTest(BinaryPredicate::StringMatchesRegex, left, right) => {
                self.value(left)?;
                self.body(&right.value)
            }
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.value(left)?;
                self.value(right)
            }
        }
    }

    fn redirects(&mut self, redirects: Option<&RedirectList>) -> Done {
        redirects.iter().flat_map(|list| &list.0).try_for_each(|redirect| self.redirect(redirect))
    }

    fn redirect(&mut self, redirect: &IoRedirect) -> Done {
        use IoFileRedirectKind as Kind;
        match redirect {
            IoRedirect::File(_, kind, target) => match target {
                IoFileRedirectTarget::Fd(_) => Ok(()),
                IoFileRedirectTarget::ProcessSubstitution(_, shell) => self.subshell(shell),
                IoFileRedirectTarget::Filename(word) => match kind {
                    Kind::Read => self.opens(word, false),
                    Kind::ReadAndWrite => {
                        self.opens(word, false)?;
                        self.opens(word, true)
                    }
                    _ => self.opens(word, true),
                },
                IoFileRedirectTarget::Duplicate(word) => {
                    let target = self.word(&word.value)?;
                    let number = target.text.strip_suffix('-').unwrap_or(&target.text);
                    if target.literal().is_some() && number.bytes().all(|byte| byte.is_ascii_digit()) {
                        return Ok(());
                    }
                    self.opens(word, !matches!(kind, Kind::DuplicateInput))
                }
            },
            IoRedirect::HereDocument(_, document) if document.requires_expansion => self.body(&document.doc.value),
            IoRedirect::HereDocument(..) => Ok(()),
            IoRedirect::HereString(_, word) => self.word(&word.value).map(|_| ()),
            IoRedirect::OutputAndError(word, _) => self.opens(word, true),
        }
    }

    fn opens(&mut self, word: &RawWord, writes: bool) -> Done {
        let word = self.word(&word.value)?;
        let target = word.literal().map(str::to_owned);
        if matches!(target.as_deref(), Some("/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/stdin")) {
            return Ok(());
        }
        // Shells open connections for these names; reading one is no reading of a file.
        let connects =
            target.as_deref().is_some_and(|name| name.starts_with("/dev/tcp") || name.starts_with("/dev/udp"));
        self.script.redirects.push(Redirect { writes: writes || connects, target });
        Ok(())
    }
}

/// Why nothing is known about the program that a command names.
fn unknown_program(words: &[Word]) -> Option<Concern> {
    let first = words.first()?;
    (first.literal().is_none_or(str::is_empty))
        .then(|| Concern::Always("names a program that is known only when it runs".to_owned()))
}

fn parsed(text: &str) -> Result<Program, Unreadable> {
    Parser::new(text.as_bytes(), &options()).parse_program().map_err(|_| unreadable())
}
