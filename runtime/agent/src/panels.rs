//! What the user of a client has open, as the client says. It is kept with the session, so that every run of it reads
//! the same, whoever starts it and whether or not a client is there.

mod tools;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Change, Session, SessionKey, Store, StoreError, misleads};

pub use tools::{PANEL_TOOLS, panel_tools};

/// As many panels can be told of.
const MOST: usize = 32;
/// The longest texts, in characters.
const ID: usize = 128;
const KIND: usize = 64;
const ACTIVE: usize = 200;
const CONTEXT: usize = 1024;
/// All panels as JSON, in bytes: what a call gives back must not be cut.
const BYTES: usize = 32 * 1024;

/// Something the user has open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// Which panel.
    pub id: String,
    /// What it shows.
    pub kind: String,
    /// The item that is chosen in it, as words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<String>,
    /// Whether the user is in it.
    #[serde(default)]
    pub selected: bool,
    /// The line that the client would put before a message about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// All that the user has open, fit to be told of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Panels(Vec<Panel>);

/// Why panels cannot be told of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PanelsError {
    /// There are too many.
    #[error("{0} panels are too many; tell of at most {MOST}")]
    TooMany(usize),
    /// A text is empty, too long, or not what it looks like.
    #[error(
        "`{member}` of panel {number} is one line of 1 to {most} characters, without any that control something or \
         cannot be seen"
    )]
    Text {
        /// Which one, counted from one.
        number: usize,
        /// Which text of it.
        member: &'static str,
        /// How long it may be.
        most: usize,
    },
    /// Two cannot be told apart.
    #[error("two panels have the id `{0}`; give each its own")]
    Twice(String),
    /// They are too much together.
    #[error("the panels have {0} bytes together, as JSON; at most {BYTES} are kept")]
    TooLarge(usize),
    /// It is something else.
    #[error("`panels` is a list of panels: {0}")]
    NoPanels(String),
}

impl Panels {
    /// What they are kept as, among the attributes of a session.
    pub const ATTRIBUTE: &str = "panels";

    /// Panels, if they are fit to be told of.
    pub fn new(panels: Vec<Panel>) -> Result<Self, PanelsError> {
        if panels.len() > MOST {
            return Err(PanelsError::TooMany(panels.len()));
        }
        for (at, panel) in panels.iter().enumerate() {
            let texts = [
                ("id", Some(&panel.id), ID),
                ("kind", Some(&panel.kind), KIND),
                ("active", panel.active.as_ref(), ACTIVE),
                ("context", panel.context.as_ref(), CONTEXT),
            ];
            let unfit = |text: &String, most| {
                text.trim().is_empty() || text.chars().nth(most).is_some() || text.contains(misleads)
            };
            if let Some((member, _, most)) =
                texts.into_iter().find(|(_, text, most)| text.is_some_and(|it| unfit(it, *most)))
            {
                return Err(PanelsError::Text { number: at + 1, member, most });
            }
            if panels.iter().take(at).any(|other| other.id == panel.id) {
                return Err(PanelsError::Twice(panel.id.clone()));
            }
        }
        match json!(panels).to_string().len() {
            bytes if bytes > BYTES => Err(PanelsError::TooLarge(bytes)),
            _ => Ok(Self(panels)),
        }
    }

    /// Panels that somebody wrote as JSON; `null` are none.
    pub fn read(value: &Value) -> Result<Self, PanelsError> {
        let read: Option<Vec<Panel>> = Deserialize::deserialize(value)
            .map_err(|error: serde_json::Error| PanelsError::NoPanels(error.to_string()))?;
        Self::new(read.unwrap_or_default())
    }

    /// Those that are kept with a session. What is kept under their name and is something else tells of nothing.
    pub fn of(session: &Session) -> Self {
        session.attributes.get(Self::ATTRIBUTE).and_then(|value| Self::read(value).ok()).unwrap_or_default()
    }

    /// Those that are kept with a session now.
    pub async fn now(store: &dyn Store, session: &SessionKey) -> Result<Self, StoreError> {
        Ok(Self::of(&store.session(session).await?))
    }

    /// What puts them in the place of those that are kept with a session.
    pub fn change(&self) -> Change {
        let kept = if self.0.is_empty() { Value::Null } else { json!(self) };
        Change::Attributes(json!({ (Self::ATTRIBUTE): kept }))
    }

    /// Whether nothing is open.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = &Panel> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests;
