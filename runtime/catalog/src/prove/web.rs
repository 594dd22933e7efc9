//! Requests that an agent's sandbox should refuse, made by a hostile guest inside it. Nothing is dialled: what counts is
//! what a recorder was asked to look up and to dial.

use std::net::{IpAddr, Ipv4Addr};

use palisade_grants::{Host, HttpRequest, Networks};
use palisade_sandbox::{Call, Engine, Scope, Workspace};
use serde_json::json;

use super::{
    Ending, ProveError, Verdict,
    recorder::{PUBLIC, Recorder},
};
use crate::{BuiltIn, Effective};

struct Attempt {
    name: &'static str,
    tried: &'static str,
    /// `{own}` is a host that is granted, or one that is not if none is.
    url: &'static str,
    leads_to: IpAddr,
}

const INSIDE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

#[rustfmt::skip] // A table: one line each.
const ATTEMPTS: [Attempt; 7] = [
    Attempt { name: "http-elsewhere", tried: "ask a host that is not granted", url: "https://elsewhere.example/", leads_to: PUBLIC },
    Attempt { name: "http-loopback", tried: "ask this machine", url: "https://127.0.0.1/", leads_to: PUBLIC },
    Attempt { name: "http-number", tried: "ask this machine by a number", url: "https://2130706433/", leads_to: PUBLIC },
    Attempt { name: "http-metadata", tried: "ask for the machine's metadata", url: "http://169.254.169.254/", leads_to: PUBLIC },
    Attempt { name: "http-inside", tried: "ask a host whose name leads into a private network", url: "https://{own}/", leads_to: INSIDE },
    Attempt { name: "http-port", tried: "ask a host on another port", url: "https://{own}:6379/", leads_to: PUBLIC },
    Attempt { name: "http-plain", tried: "ask a host without encryption", url: "http://{own}/", leads_to: PUBLIC },
];

/// Makes every request. First one that is granted, if there is one: without that, refusals would prove nothing.
pub(super) fn prove(engine: &Engine, effective: &Effective, mut watch: impl FnMut(Verdict)) -> Result<(), ProveError> {
    let mut readable = effective.grants.http.iter().filter_map(Host::example);
    let own = readable.next();
    if let Some((url, _)) = &own {
        let recorder = Recorder::leading_to(PUBLIC);
        let said = make(engine, effective, &recorder, url)?;
        if !recorder.was_reached() {
            return Err(ProveError::Control(format!("it cannot ask {url}, which is granted: {said}")));
        }
    }
    let name = own.map_or_else(|| "elsewhere.example".to_owned(), |(_, name)| name);
    for Attempt { name: attempt, tried, url, leads_to } in ATTEMPTS {
        let url = url.replace("{own}", &name);
        let recorder = Recorder::leading_to(leads_to);
        let said = make(engine, effective, &recorder, &url)?;
        let is_granted = is_granted(effective, &url);
        let dialled = recorder.dialled();
        let (ending, how) = match (recorder.was_reached(), is_granted) {
            _ if dialled.iter().any(|address| address.ip() == INSIDE) => {
                (Ending::Breach, "an address of a private network was dialled".to_owned())
            }
            (true, false) => (Ending::Breach, format!("it was looked up or dialled: {url}")),
            (true, true) if !dialled.is_empty() => (Ending::Granted, "the agent may ask there".to_owned()),
            _ => (Ending::Refused, said),
        };
        watch(Verdict { attempt, tried, ending, how });
    }
    Ok(())
}

fn is_granted(effective: &Effective, url: &str) -> bool {
    let permitted = HttpRequest::of_url("GET", url).and_then(|request| effective.grants.http.permit(request));
    permitted.is_ok_and(|permitted| {
        permitted.literal().is_none_or(|address| permitted.permit_address(address, &Networks::default()).is_ok())
    })
}

/// Has the guest make one request; says how it ended.
fn make(engine: &Engine, effective: &Effective, recorder: &Recorder, url: &str) -> Result<String, ProveError> {
    let workspace = Workspace::none().with_network(recorder.network());
    let grants = palisade_grants::Grants { files: Default::default(), ..effective.grants.clone() };
    let scope = Scope::open(engine, &workspace, grants, effective.limits, None)?;
    let Some(dial) = BuiltIn::dial() else { return Err(ProveError::Control("this build has no probe".to_owned())) };
    let compiled = dial.load(engine, None).map_err(|failure| ProveError::Control(failure.to_string()))?;
    if let Err(refusal) = scope.add(&compiled, &dial.description(), "probe") {
        return Ok(refusal.to_string());
    }
    let input = json!({ "attempt": "request", "path": url }).to_string();
    let report = scope.call_here("dial", &input, &Call::new());
    Ok(super::ending_of(&report))
}
