//! A run as it happens: one line on standard error for each call, and on a terminal what the model says. What
//! happens in an agent that a call asks for is shown below that call, one level in.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use palisade_agent::{Ending, Event, Usage, Watcher};

use crate::render::{
    Line, Style, Terminal,
    calls::{Calls, Ended, NAME, Place},
    speech::Speech,
    status::Activity,
    words,
};

/// Watches a run, prints what happens, and counts.
pub(crate) struct Timeline {
    /// Without, it only counts and listens.
    terminal: Option<Terminal>,
    /// What the model says is shown while it comes in.
    speaks: bool,
    /// How deep the run is below the one that a person began.
    level: usize,
    seen: Mutex<Seen>,
}

/// What a run came to, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) steps: u32,
    pub(crate) calls: usize,
    pub(crate) failed: usize,
    pub(crate) denials: usize,
    /// Agents that were asked, at whatever level.
    pub(crate) asked: usize,
}

/// An agent that was asked and is at work.
struct Below {
    timeline: Timeline,
    started: Instant,
}

#[derive(Default)]
struct Seen {
    calls: Calls,
    totals: Totals,
    /// The steps of the turns before this one.
    steps_before: u32,
    last_progress: Option<Instant>,
    speech: Speech,
    /// Something of the reply that is coming in is on the screen for good.
    shown: bool,
    /// The last thing on the screen was said by the model.
    spoken: bool,
    /// The last reply, if it is on the screen.
    last_shown: Option<String>,
    /// What was heard of a reply that never was.
    broken_off: Option<String>,
    /// The agents that were asked, by the names of the pieces of work.
    below: HashMap<String, Below>,
}

/// Progress comes as fast as a guest can talk; a person reads slower.
const BETWEEN_PROGRESS: Duration = Duration::from_millis(200);

impl Timeline {
    /// Prints on a terminal, the more indented the deeper the run is below another.
    pub(crate) fn on(terminal: &Terminal, level: usize) -> Self {
        Self { terminal: Some(terminal.clone()), speaks: false, level, seen: Mutex::default() }
    }

    /// The same; and what the model says is shown while it comes in, if somebody looks.
    pub(crate) fn speaking(terminal: &Terminal) -> Self {
        Self { speaks: terminal.shows_output(), ..Self::on(terminal, 0) }
    }

    /// Prints nothing.
    pub(crate) fn silent() -> Self {
        Self { terminal: None, speaks: false, level: 0, seen: Mutex::default() }
    }

    /// What was counted so far.
    pub(crate) fn totals(&self) -> Totals {
        self.seen().totals
    }

    /// Whether what the model says is shown while it comes in.
    pub(crate) fn speaks(&self) -> bool {
        self.speaks
    }

    /// Whether the last thing on the screen was said by the model.
    pub(crate) fn spoke(&self) -> bool {
        self.seen().spoken
    }

    /// Whether this answer is on the screen already.
    pub(crate) fn has_shown(&self, answer: &str) -> bool {
        self.seen().last_shown.as_deref() == Some(answer)
    }

    /// What was heard of a last reply that never was.
    pub(crate) fn broken_off(&self) -> Option<String> {
        self.seen().broken_off.clone()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints a line, apart from what was said before it.
    fn print(&self, seen: &mut Seen, line: &Line) {
        if let Some(terminal) = &self.terminal {
            self.part(terminal, seen, false);
            terminal.note_cut(line);
        }
    }

    fn print_whole(&self, seen: &mut Seen, line: &Line) {
        if let Some(terminal) = &self.terminal {
            self.part(terminal, seen, false);
            terminal.note(line);
        }
    }

    /// Shows lines of what the model says.
    fn speak(&self, seen: &mut Seen, lines: &[Line]) {
        if let Some(terminal) = self.terminal.as_ref().filter(|_| self.speaks && !lines.is_empty()) {
            self.part(terminal, seen, true);
            // An answer that cannot be printed is found out when the run is over.
            drop(terminal.lines(lines));
            seen.shown = true;
        }
    }

    /// A blank line between what is said and what is done.
    fn part(&self, terminal: &Terminal, seen: &mut Seen, spoken: bool) {
        if self.speaks && std::mem::replace(&mut seen.spoken, spoken) != spoken {
            terminal.note(&Line::new());
        }
    }

    fn activity(&self, activity: Activity) {
        if let Some(terminal) = &self.terminal {
            terminal.change_status(|status| status.activity = activity);
        }
    }

    fn show_tail(&self, seen: &Seen) {
        if let Some(terminal) = self.terminal.as_ref().filter(|_| self.speaks) {
            terminal.show_tail(seen.speech.tail());
        }
    }

    fn page(&self) -> usize {
        self.terminal.as_ref().map_or(80, Terminal::page)
    }

    fn margin(&self, place: Place) -> Line {
        let is_terminal = self.terminal.as_ref().is_some_and(|terminal| terminal.err.is_terminal);
        Line::new().add(Style::Plain, &"  ".repeat(self.level)).add(Style::Dim, place.mark(is_terminal))
    }

    fn below(&self, title: &str, style: Style, text: &str) -> Line {
        let margin = self.margin(Place::Alone).add(Style::Plain, &" ".repeat(NAME + 2));
        margin.add(style, title).add(Style::Dim, text)
    }

    /// The reply is there.
    fn replied(&self, seen: &mut Seen, text: String, calls: usize) {
        let said = seen.speech.reply(&text, self.page());
        if self.speaks {
            if said.differs && seen.shown {
                self.print(
                    seen,
                    &self.margin(Place::Alone).add(Style::Caution, "the reply, as it was given in the end:"),
                );
            }
            self.speak(seen, &said.lines);
            self.show_tail(seen);
            seen.last_shown = Some(text);
        } else if calls > 0 && !text.trim().is_empty() {
            self.print(seen, &Line::new().add(Style::Plain, &"  ".repeat(self.level)).add(Style::Dim, text.trim()));
        }
        seen.shown = false;
    }

    /// What was heard is void.
    fn again(&self, seen: &mut Seen, why: &str, wait: Duration) {
        seen.speech = Speech::default();
        self.show_tail(seen);
        let void = if std::mem::take(&mut seen.shown) { "; what was shown of this reply is void" } else { "" };
        let line = self.margin(Place::Alone).add(Style::Caution, "again ");
        self.print_whole(seen, &line.add(Style::Dim, &format!("in {}: {why}{void}", words::time(wait))));
        self.activity(Activity::Waiting { until: Instant::now() + wait });
    }

    fn finished(&self, seen: &mut Seen, id: &str, ended: &Ended<'_>, summary: &str, denials: &[String]) {
        let (input, place) = seen.calls.end(id);
        seen.totals.calls += 1;
        seen.totals.failed += usize::from(ended.failure.is_some());
        seen.totals.denials += denials.len();
        let width = self.terminal.as_ref().and_then(|terminal| terminal.err.width());
        self.print(seen, &Ended { input: &input, ..*ended }.line(self.margin(place), width));
        if ended.failure.is_some() {
            self.print_whole(seen, &self.below("", Style::Plain, summary));
        }
        for denial in denials.iter().filter(|denial| *denial != summary) {
            self.print_whole(seen, &self.below("refused ", Style::Caution, denial));
        }
        let tools = seen.calls.tools();
        if !tools.is_empty() {
            self.activity(Activity::Calling(tools));
        }
    }

    /// An agent was asked: who, for what, and what it was not given.
    fn asked(&self, seen: &mut Seen, task: String, agent: &str, description: &str, cut: &[String]) {
        let line = self.margin(Place::Alone).add(Style::Bold, agent);
        self.print(seen, &line.add(Style::Dim, &format!("  {description}")));
        for cut in cut {
            self.print_whole(seen, &self.below("cut ", Style::Caution, cut));
        }
        let timeline =
            Self { terminal: self.terminal.clone(), speaks: false, level: self.level + 1, seen: Mutex::default() };
        seen.below.insert(task, Below { timeline, started: Instant::now() });
        seen.totals.asked += 1;
    }

    /// It is done.
    fn answered(&self, seen: &mut Seen, task: &str, agent: &str, ending: &Ending, usage: Usage) {
        let Some(Below { timeline, started }) = seen.below.remove(task) else { return };
        seen.totals.asked += timeline.totals().asked;
        let (style, word) = match ending {
            Ending::Answered => (Style::Good, "answered".to_owned()),
            Ending::Spent(spent) => (Style::Caution, spent.to_string()),
            Ending::Circling => (Style::Caution, "went in circles".to_owned()),
            Ending::Cancelled => (Style::Caution, "cancelled".to_owned()),
            Ending::Failed(why) | Ending::Unfit(why) | Ending::Unwritten(why) => (Style::Bad, why.clone()),
        };
        let mut facts = vec![words::time(started.elapsed())];
        if usage.total() > 0 {
            facts.insert(0, format!("{} tokens", words::thousands(usage.total())));
        }
        let line = self.margin(Place::Alone).add(Style::Bold, agent).add(Style::Plain, " ").add(style, &word);
        self.print(seen, &line.add(Style::Dim, &format!("  {}", facts.join(", "))));
    }
}

impl Watcher for Timeline {
    fn watch(&self, event: Event) {
        let seen = &mut *self.seen();
        match event {
            Event::RunStarted { .. } => seen.steps_before = seen.totals.steps,
            Event::SubagentStarted { task, agent, description, cut, .. } => {
                self.asked(seen, task, &agent, &description, &cut);
            }
            Event::SubagentProgress { task, event } => {
                if let Some(below) = seen.below.get(&task) {
                    below.timeline.watch(*event);
                }
            }
            Event::SubagentEnded { task, agent, ending, usage, .. } => {
                self.answered(seen, &task, &agent, &ending, usage);
            }
            Event::StepStarted { step } => {
                seen.totals.steps = seen.steps_before + step;
                self.activity(Activity::Asking);
            }
            Event::ReplyText { text } => {
                let lines = seen.speech.hear(&text, self.page());
                self.speak(seen, &lines);
                self.show_tail(seen);
                self.activity(Activity::Speaking);
            }
            Event::ReplyThinking { .. } => self.activity(Activity::Thinking),
            Event::ReplyCall { tool, bytes } => self.activity(Activity::Writing { tool, bytes }),
            Event::ReplyAgain { why, wait } => self.again(seen, &why, wait),
            Event::Compacted { entries, before, after } => {
                let [before, after] = [before, after].map(words::thousands);
                let text = format!("{entries} entries, about {before} tokens, are about {after} now");
                let line = self.margin(Place::Alone).add(Style::Caution, "summed up ");
                self.print_whole(seen, &line.add(Style::Dim, &text));
            }
            Event::Noticed { text } => {
                let line = self.margin(Place::Alone).add(Style::Caution, "told the model ");
                self.print_whole(seen, &line.add(Style::Dim, &text));
            }
            Event::ModelReplied { text, calls, usage } => {
                if let Some(terminal) = &self.terminal {
                    terminal.change_status(|status| status.usage += usage);
                }
                self.replied(seen, text, calls);
            }
            Event::CallStarted { id, tool, input } => {
                seen.calls.begin(id, tool, input);
                self.activity(Activity::Calling(seen.calls.tools()));
            }
            Event::CallProgress { id, message } => {
                let waited = seen.last_progress.is_none_or(|last| last.elapsed() >= BETWEEN_PROGRESS);
                if let Some((tool, place)) = seen.calls.during(&id).filter(|_| waited) {
                    let line = self.margin(place).column(Style::Dim, tool, NAME).add(Style::Dim, &message);
                    self.print(seen, &line);
                    seen.last_progress = Some(Instant::now());
                }
            }
            Event::CallFinished { id, tool, failure, summary, duration, bytes, denials, .. } => {
                let ended = Ended { tool: &tool, input: "", duration, bytes, failure };
                self.finished(seen, &id, &ended, &summary, &denials);
            }
            Event::RunEnded { steps, .. } => {
                seen.totals.steps = seen.steps_before + steps;
                seen.broken_off = Some(seen.speech.heard().to_owned()).filter(|text| !text.trim().is_empty());
                let lines = seen.speech.break_off(self.page());
                self.show_tail(seen);
                self.speak(seen, &lines);
            }
        }
    }
}
