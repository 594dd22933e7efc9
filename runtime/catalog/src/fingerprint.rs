//! What makes two agents at work the same: who they are, what they are told, what they may do and what they
//! speak to. Equal fingerprints are a promise that one may be used for the other.

use palisade_agent::{Agent, Provider};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::Effective;

/// The fingerprint of an agent that is asked by somebody who speaks to `inherited`.
pub(crate) fn fingerprint(effective: &Effective, inherited: &dyn Provider) -> String {
    let Agent { name, origin, prompt, model, runtime, .. } = &effective.agent;
    let mut print = Print(Sha256::new());
    print.text("name", Some(name));
    print.text("plugin", origin.plugin.as_deref());
    print.text("layer", Some(origin.layer.name()));
    print.text("path", origin.path.as_deref());
    print.text("prompt", prompt.as_deref());
    for tool in &effective.tools {
        print.text("tool", Some(tool.candidate.name()));
        print.value("of", &tool.grants);
        print.text("component", tool.component.as_ref().map(|component| component.identity()).as_deref());
        print.text("server", tool.server.as_ref().map(|served| served.identity()).as_deref());
    }
    print.value("ceiling", &effective.ceiling());
    print.value("rules", &effective.agent.scope);
    print.value("peers", &effective.agent.peers);
    print.value("skills", &(&effective.agent.skills, &effective.agent.skill_lists, effective.agent.exposure.name()));
    print.text("mode", effective.agent.permission_mode.map(palisade_agent::PermissionMode::name));
    print.value("budget", &effective.budget);
    print.text("model", model.as_ref().map(ToString::to_string).as_deref());
    // How a model is reached and asked has no form but this one; it is the same for the same definition.
    print.text("runtime", Some(&format!("{runtime:?}")));
    let Agent { temperature, reasoning_effort, max_tokens, .. } = &effective.agent;
    print.text("asked", Some(&format!("{temperature:?} {reasoning_effort:?} {max_tokens:?}")));
    print.text("inherited", Some(inherited.name()));
    print.text("inherited model", Some(inherited.model()));
    print.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Print(Sha256);

impl Print {
    /// Each part has a name, says whether it is there, and how long it is: no two lists of parts give the same
    /// bytes.
    fn part(&mut self, name: &str, bytes: Option<&[u8]>) {
        for bytes in [Some(name.as_bytes()), bytes] {
            self.0.update([u8::from(bytes.is_some())]);
            let bytes = bytes.unwrap_or_default();
            self.0.update((bytes.len() as u64).to_le_bytes());
            self.0.update(bytes);
        }
    }

    fn text(&mut self, name: &str, text: Option<&str>) {
        self.part(name, text.map(str::as_bytes));
    }

    fn value(&mut self, name: &str, value: &impl Serialize) {
        self.part(name, serde_json::to_vec(value).ok().as_deref());
    }
}
