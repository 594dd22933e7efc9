//! Services that this program speaks to itself on behalf of an agent: programs that are kept, and hosts. They are held to
//! the agent's grants as its guests are.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use http_body_util::BodyExt as _;
use palisade_grants::{Capability, Denial, Grants};
use tokio::task::JoinHandle;
use wasmtime_wasi_http::{Error, WasiBody};

use crate::{
    Failure, KeptProgram, Limits, Programs, Scope,
    bindings::http as interface,
    capabilities::{
        http::{Http, Web, in_words, one_step},
        preopens::Files,
    },
    process::{ToKeep, keep},
};

/// A program that is a service.
#[derive(Clone, Debug)]
pub struct ServiceProgram {
    /// What has to be granted to run it, among the commands: `mcp__server`.
    pub name: String,
    /// The program: a name that is looked up, or a path.
    pub program: String,
    /// What it is called with.
    pub arguments: Vec<String>,
    /// Its variables.
    pub env: BTreeMap<String, String>,
    /// What it finds.
    pub programs: Arc<Programs>,
}

/// Requests to the hosts that one service of an agent was granted.
#[derive(Clone)]
pub struct Outlet {
    web: Web,
    limits: Limits,
}

/// A request of this program itself.
#[derive(Clone, Debug)]
pub struct OutletRequest {
    /// `POST`, for one.
    pub method: &'static str,
    /// The whole address.
    pub url: String,
    /// Headers; `{{secret:NAME}}` in one is filled as for guests.
    pub headers: Vec<(String, String)>,
    /// What is sent.
    pub body: Vec<u8>,
    /// How long it may take until the whole answer is there.
    pub patience: Duration,
}

/// An answer whose body is still to be read.
pub struct OutletAnswer {
    /// Its status.
    pub status: u16,
    /// Its headers that are text, names in lower case.
    pub headers: Vec<(String, String)>,
    body: WasiBody,
    /// Brings the body.
    behind: JoinHandle<Result<(), Error>>,
}

impl Scope {
    /// Lets something go on on the sandbox's threads, for as long as the engine is there.
    pub fn spawn<F>(&self, work: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.engine().runtime().spawn(work)
    }

    /// Waits for something that is done there, from a thread that may wait.
    pub fn wait_for<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, String>> + Send + 'static,
    ) -> Result<T, String> {
        let (sender, done) = std::sync::mpsc::channel();
        self.spawn(async move { sender.send(work.await) });
        done.recv().unwrap_or_else(|_| Err("what was waited for has ended early".to_owned()))
    }

    /// Starts a program with no more than these of the agent's grants. It ends when what is given is dropped.
    pub fn keep_program(&self, service: &ServiceProgram, bounds: &Grants) -> Result<KeptProgram, Failure> {
        let grants = self.grants().narrow(bounds);
        if grants.commands.permit(&service.name, &[]).is_err() {
            return Err(Failure::Denied(Denial {
                capability: Capability::Exec,
                asked: format!("running the service `{}`", service.name),
                rule: "the agent's grants do not hold it".to_owned(),
                remedy: format!("`grants: {{ commands: [\"{}\"] }}` in its definition would allow it", service.name),
            }));
        }
        let preopens = self.narrowed_preopens(&grants.files);
        let files = Files::new(&preopens, self.limits());
        let asked = ToKeep {
            program: &service.program,
            arguments: &service.arguments,
            env: service.env.clone(),
            workspace: files.workspace(),
        };
        keep(&service.programs, &asked)
            .map_err(|error| Failure::Failed(format!("`{}` cannot be started: {error}", service.program)))
    }

    /// Requests with no more than these of the agent's grants.
    pub fn outlet(&self, bounds: &Grants) -> Outlet {
        let grants = self.grants().narrow(bounds);
        let web = Web { hosts: grants.http, secrets: grants.secrets, network: self.network() };
        Outlet { web, limits: *self.limits() }
    }
}

impl Outlet {
    /// Makes a request, if it may be made. Redirects are answers like any other.
    pub async fn send(&self, request: OutletRequest) -> Result<OutletAnswer, Failure> {
        let OutletRequest { method, url, headers, body, patience } = request;
        let request = interface::Request { method: method.to_owned(), url, headers, body };
        let request = one_step::read(request).map_err(Failure::Failed)?;
        let limits = Limits { request_time: patience, ..self.limits };
        let mut http = Http::new(self.web.clone(), limits, Instant::now() + patience, None);
        let sending = http.send(request, Default::default());
        let (answer, behind) = sending.await.map_err(|error| refused(&http, error))?;
        let behind = tokio::spawn(Box::into_pin(behind));
        let (parts, body) = answer.into_parts();
        let text = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        };
        let headers = parts.headers.iter().filter_map(text).collect();
        Ok(OutletAnswer { status: parts.status.as_u16(), headers, body, behind })
    }
}

impl OutletAnswer {
    /// The next piece of the body; nothing at its end.
    pub async fn piece(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            let frame = frame.map_err(failed)?;
            if let Ok(piece) = frame.into_data() {
                return Ok(Some(piece.to_vec()));
            }
        }
    }
}

impl Drop for OutletAnswer {
    fn drop(&mut self) {
        self.behind.abort();
    }
}

/// Why a request was not made: what was refused on the way says more than the error.
fn refused(http: &Http, error: Error) -> Failure {
    match http.denials().into_iter().next() {
        Some(denial) => Failure::Denied(denial),
        None => failed(error),
    }
}

fn failed(error: Error) -> Failure {
    match one_step::explained(in_words(error)) {
        interface::Error::Denied(text) | interface::Error::Invalid(text) | interface::Error::Failed(text) => {
            Failure::Failed(text)
        }
    }
}
