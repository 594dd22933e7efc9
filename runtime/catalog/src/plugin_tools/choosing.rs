//! Which tool of a component is meant.

use palisade_sandbox::{Entry, Failure, Offer};

/// Of what a component offers, the tool that a manifest means: by its `function`, or the only one, or the one of that
/// name.
pub fn choose_offer(function: Option<&str>, tool: &str, offers: Vec<Offer>) -> Result<Offer, Failure> {
    let names: Vec<String> = offers.iter().map(|offer| offer.entry.to_string()).collect();
    let is_only = offers.len() == 1;
    let plain = |name: &str| name.to_ascii_lowercase().replace('_', "-");
    let is_meant = |offer: &Offer| match (function, &offer.entry) {
        (Some(function), entry) => is_called(entry, function),
        (None, _) => is_only || plain(&offer.description.name) == plain(tool),
    };
    let mut meant: Vec<Offer> = offers.into_iter().filter(is_meant).collect();
    match (meant.pop(), meant.is_empty(), function) {
        (Some(offer), true, _) => Ok(offer),
        (None, _, Some(function)) => {
            let reason =
                format!("it has no function `{function}`; `function` in the manifest may be {}", names.join(", "));
            Err(Failure::BadComponent { reason })
        }
        _ => {
            let reason = format!("say with `function` in the manifest which one it is: {}", names.join(", "));
            Err(Failure::BadComponent { reason })
        }
    }
}

/// Whether a function is the one that a manifest writes: `name`, or with its interface, whose version may be left out.
fn is_called(entry: &Entry, written: &str) -> bool {
    let Entry::Function { interface, name } = entry else { return false };
    match written.rsplit_once('#') {
        None => written == name,
        Some((wanted, function)) => {
            let is_it = |interface: &String| {
                interface == wanted || interface.split('@').next().is_some_and(|bare| bare == wanted)
            };
            function == name && interface.as_ref().is_some_and(is_it)
        }
    }
}
