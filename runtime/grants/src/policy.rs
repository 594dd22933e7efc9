//! Rules in their lists, and what they decide together.

use serde::{Deserialize, Serialize};

use crate::{Call, Rule, Specifier, canonical_tool, matching::covering};

/// What happens to a call. The greater of two is the stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It is done.
    Allow,
    /// Somebody is asked; with nobody to ask it is not done.
    Ask,
    /// It is not done.
    Deny,
}

/// A decision and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// What happens.
    pub decision: Decision,
    /// The rule that decided, or several with commas between them; none if it was the default.
    pub rule: Option<String>,
    /// Why, in words for the model, the user and the audit log.
    pub reason: String,
}

/// The rules for an agent's calls.
///
/// The lists are asked in the order **deny, ask, allow**, then the default decides. Of the orders in
/// use this is the strictest: no rule, however narrow, makes an exception from a deny. Specificity
/// and order inside of a list do not matter. An ask rule covers what it names, as an allow rule
/// does, but with a question; what neither covers is left to the default.
///
/// The default, if none is named: with an allow list, what it does not cover is denied; with only
/// deny or ask rules, the rest is asked about; without any rule, everything is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// What may be done. An empty list allows nothing; none at all says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<Rule>>,
    /// What is asked about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<Rule>,
    /// What is never done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<Rule>,
    /// What happens to the rest.
    #[serde(skip_serializing_if = "Option::is_none", alias = "default_decision")]
    pub default: Option<Decision>,
}

impl Policy {
    /// Adds a rule that allows.
    #[must_use]
    pub fn allow(mut self, rule: Rule) -> Self {
        self.allow.get_or_insert_default().push(rule);
        self
    }

    /// Adds a rule that asks.
    #[must_use]
    pub fn ask(mut self, rule: Rule) -> Self {
        self.ask.push(rule);
        self
    }

    /// Adds a rule that denies.
    #[must_use]
    pub fn deny(mut self, rule: Rule) -> Self {
        self.deny.push(rule);
        self
    }

    /// Allows every tool; deny and ask rules still hold.
    #[must_use]
    pub fn allow_all(self) -> Self {
        self.allow(Rule::every_tool())
    }

    /// Denies every tool, whatever is allowed.
    #[must_use]
    pub fn deny_all(self) -> Self {
        self.deny(Rule::every_tool())
    }

    /// Decides about a call.
    pub fn decide(&self, call: &Call<'_>) -> Verdict {
        if let Some(denied) = self.denied(call) {
            return denied;
        }
        let asked = objection(&self.ask, call);
        let allow = self.allow.as_deref();
        let covered = match (allow, &asked) {
            (None, None) => Err(format!("no rule names this call of `{}`", call.tool())),
            (_, None) => covering(allow.unwrap_or_default(), &[], call),
            // What is asked about must be covered too: a question about one command of a line is no
            // permission for the others.
            (_, Some(_)) => covering(allow.unwrap_or_default(), &self.ask, call),
        };
        let rest = match covered {
            Ok(rules) => {
                let names = rules.iter().map(|rule| rule.as_str()).collect::<Vec<_>>().join(", ");
                Verdict { decision: Decision::Allow, reason: format!("`{names}` allows it"), rule: Some(names) }
            }
            Err(uncovered) => self.fallback(uncovered),
        };
        match asked {
            Some((rule, why)) if rest.decision <= Decision::Ask => {
                let reason = format!("{why}; `{rule}` asks about it");
                Verdict { decision: Decision::Ask, rule: Some(rule.to_string()), reason }
            }
            _ => rest,
        }
    }

    /// The denial of a call, if a deny rule speaks of it.
    pub(crate) fn denied(&self, call: &Call<'_>) -> Option<Verdict> {
        let (rule, why) = objection(&self.deny, call)?;
        let reason = format!("{why}; `{rule}` denies it");
        Some(Verdict { decision: Decision::Deny, rule: Some(rule.to_string()), reason })
    }

    /// Whether no call of a tool is possible, without the words of [`Policy::possible`]. The name is in
    /// its one form.
    pub(crate) fn rules_out(&self, tool: &str) -> bool {
        let mut named = self.allow.iter().flatten().chain(&self.ask);
        self.deny.iter().any(|rule| rule.covers_tool(tool))
            || self.default_decision().0 == Decision::Deny && !named.any(|rule| rule.matches_canonical(tool))
    }

    /// Decides about a tool by its name alone: the best that any call of it could hope for. A tool
    /// for which this is a denial need not be shown; the verdict names the rule that hides it.
    pub fn possible(&self, tool: &str) -> Verdict {
        let tool = canonical_tool(tool);
        let verdict = |decision, rule: &Rule, why: &str| Verdict {
            decision,
            rule: Some(rule.to_string()),
            reason: format!("`{rule}` {why} `{tool}`"),
        };
        if let Some(rule) = self.deny.iter().find(|rule| rule.covers_tool(&tool)) {
            return verdict(Decision::Deny, rule, "denies every call of");
        }
        let allowing = self.allow.iter().flatten().find(|rule| rule.matches_canonical(&tool));
        let asking = self.ask.iter().find(|rule| rule.matches_canonical(&tool));
        let best = match (allowing, asking) {
            (Some(rule), _) => verdict(Decision::Allow, rule, "allows calls of"),
            (None, Some(rule)) => {
                let fallback = self.fallback(String::new()).decision;
                verdict(fallback.min(Decision::Ask), rule, "asks about calls of")
            }
            (None, None) => self.fallback(format!("no rule names `{tool}`")),
        };
        match self.ask.iter().find(|rule| rule.covers_tool(&tool)) {
            Some(rule) if best.decision <= Decision::Ask => verdict(Decision::Ask, rule, "asks about every call of"),
            _ => best,
        }
    }

    fn fallback(&self, uncovered: String) -> Verdict {
        let (decision, why) = self.default_decision();
        Verdict { decision, rule: None, reason: format!("{uncovered}; {why}") }
    }

    fn default_decision(&self) -> (Decision, &'static str) {
        match (self.default, &self.allow) {
            (Some(decision), _) => (decision, "the default decides"),
            (None, Some(_)) => (Decision::Deny, "what the allow list does not cover is denied"),
            (None, None) if self.ask.is_empty() && self.deny.is_empty() => (Decision::Allow, "there are no rules"),
            (None, None) => (Decision::Ask, "what no rule names is asked about"),
        }
    }
}

/// The first rule that speaks against a call, and what in it.
fn objection<'r>(rules: &'r [Rule], call: &Call<'_>) -> Option<(&'r Rule, String)> {
    rules.iter().find_map(|rule| rule.objection(call).map(|why| (rule, why)))
}

impl Rule {
    /// Whether no call of a tool escapes the rule, in a deny or ask list.
    fn covers_tool(&self, tool: &str) -> bool {
        let neighbour = matches!(self.specifier(), Some(Specifier::Path(_))) && self.is_neighbour(tool);
        let shell = tool == "exec" && self.matches_canonical("bash");
        self.covers_all_arguments() && (self.matches_canonical(tool) || neighbour || shell)
    }
}

impl Verdict {
    /// The verdict where nobody can be asked: a question becomes a denial that says so.
    #[must_use]
    pub fn without_asking(self) -> Self {
        match self.decision {
            Decision::Allow | Decision::Deny => self,
            Decision::Ask => Self {
                decision: Decision::Deny,
                reason: format!("{}; there is nobody to ask, so it is denied", self.reason),
                ..self
            },
        }
    }
}

#[cfg(test)]
mod tests;
