//! A workspace, a state folder and a program that is played.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Mutex,
    time::Duration,
};

use palisade_agent::{Part, Prompt, Provider as _, ProviderError, Reply, ReplySettings, Transcript};
use palisade_model::{CliAgent, Outside, OutsideGrant, Program};
use tempfile::TempDir;
use tokio::time::Instant;

pub(crate) struct World {
    folder: TempDir,
    program: Program,
    pub(crate) args: Vec<String>,
    pub(crate) env_names: Vec<String>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) model: Option<String>,
    pub(crate) instructions: String,
    pub(crate) settings: ReplySettings,
    pub(crate) time: Duration,
}

/// What a listener heard and what came of it.
pub(crate) struct Told {
    pub(crate) parts: Vec<String>,
    pub(crate) reply: Result<Reply, ProviderError>,
}

impl World {
    pub(crate) fn with(program: Program) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("workspace")).unwrap();
        Self {
            folder,
            program,
            args: Vec::new(),
            env_names: Vec::new(),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            model: None,
            instructions: String::new(),
            settings: ReplySettings::default(),
            time: Duration::from_secs(60),
        }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub(crate) fn outside(&self) -> Outside {
        let fakes = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes");
        Outside {
            command: fakes.join(self.program.command()),
            args: self.args.clone(),
            env_names: self.env_names.clone(),
            environment: self.environment.iter().cloned().collect(),
            workspace: self.workspace(),
            state: self.state(),
        }
    }

    pub(crate) fn agent(&self) -> CliAgent {
        let grant = OutsideGrant::of_operator([self.program.name().to_owned()]).unwrap();
        CliAgent::new(grant.permit(self.program).unwrap(), self.outside(), self.model.clone()).unwrap()
    }

    /// Asks once, in a conversation of one message.
    pub(crate) async fn ask(&self, task: &str) -> Told {
        let mut transcript = Transcript::new();
        self.ask_in(&mut transcript, task).await
    }

    /// Asks in a conversation, which is continued.
    pub(crate) async fn ask_in(&self, transcript: &mut Transcript, task: &str) -> Told {
        transcript.record_user(task);
        let parts = Mutex::new(Vec::new());
        let listener = |part: Part<'_>| parts.lock().unwrap().push(said(part));
        let deadline = Instant::now() + self.time;
        let prompt = Prompt { deadline, ..Prompt::new(&self.instructions, &[], transcript, &self.settings) };
        let reply = self.agent().reply(prompt, &listener).await;
        if let Ok(reply) = &reply {
            transcript.record_reply(reply);
        }
        Told { parts: parts.into_inner().unwrap(), reply }
    }

    pub(crate) async fn answer(&self, task: &str) -> String {
        self.ask(task).await.reply.unwrap().text
    }

    pub(crate) async fn failure(&self, task: &str) -> ProviderError {
        self.ask(task).await.reply.unwrap_err()
    }
}

/// A part on one line.
pub(crate) fn said(part: Part<'_>) -> String {
    match part {
        Part::Text(text) => format!("text {text:?}"),
        Part::Thinking(text) => format!("thinking {text:?}"),
        Part::ForeignCall { id, tool, input } => format!("call {id} {tool} {input}"),
        Part::ForeignResult { id, tool, worked, text } => {
            format!("{} {id} {tool} {text:?}", if worked { "done" } else { "failed" })
        }
        other => format!("{other:?}"),
    }
}

/// Waits until none of these processes runs any longer.
pub(crate) async fn until_gone(processes: &str) {
    let runs = |process: &str| {
        let status = std::fs::read(format!("/proc/{process}/stat")).unwrap_or_default();
        let status = String::from_utf8_lossy(&status);
        // A process that nobody has waited for yet is still listed, as a zombie.
        status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    };
    let end = Instant::now() + Duration::from_secs(10);
    while let Some(process) = processes.split_whitespace().find(|process| runs(process)) {
        assert!(Instant::now() < end, "{process} of {processes} still runs");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
