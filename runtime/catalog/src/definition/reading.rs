//! How a text becomes a tree, within bounds.
//!
//! One visitor serves both syntaxes. It stops early where a text would cost more than it weighs
//! (aliases of aliases, deep nesting) and at what would be read differently by different programs
//! (two keys of one name, merge keys, tags).

use std::{
    cell::{Cell, RefCell},
    collections::HashSet,
    fmt,
};

use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, Visitor};

use super::{
    node::{Content, Entry, Id, Node},
    text::quoted,
};

/// More than any definition needs, and little enough to be read in no time.
const MAX_NODES: usize = 20_000;

/// Below the depth at which the parsers give up with errors of their own.
const MAX_DEPTH: usize = 32;

/// The depth of keys, in which nothing is nested.
const KEY: usize = usize::MAX;

/// How much longer than the file its texts may get through aliases.
const MAX_GROWTH: usize = 4;

/// What the tree does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("more than {MAX_NODES} values")]
    TooMany,
    #[error("values nested more than {MAX_DEPTH} deep")]
    TooDeep,
    #[error("aliases that make the text more than {MAX_GROWTH} times as long")]
    TooMuchText,
    #[error("the key {0} is there twice")]
    Duplicate(String),
    #[error("a key that is {0}")]
    KeyNotText(&'static str),
    #[error("the merge key `<<`")]
    Merge,
    #[error("the tag {0}")]
    Tag(String),
    #[error("a text with a NUL character")]
    Nul,
}

impl Refusal {
    /// What would help.
    pub(super) fn fix(&self) -> &'static str {
        match self {
            Self::TooMany => "split the file",
            Self::TooDeep => "nest less",
            Self::TooMuchText => "write the values out instead of using aliases",
            Self::Duplicate(_) => "keep one of the two",
            Self::KeyNotText(_) => "put it in quotes",
            Self::Merge => "write the fields out",
            Self::Tag(_) => "remove it",
            Self::Nul => "remove the character",
        }
    }
}

/// What a reading is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// The whole tree.
    Tree,
    /// To fail at this node or key, before the parser has moved on (`Early`) or inside its visitor
    /// (`Late`), whichever makes the parser report where that is.
    Early(Id),
    Late(Id),
    /// The text of this node as it is written, whatever it would mean otherwise.
    Written(Id),
}

/// The state of one reading. The parsers' own errors carry only a text, so what went wrong is kept
/// here.
pub(super) struct Reading {
    aim: Aim,
    nodes: Cell<usize>,
    text_left: Cell<usize>,
    refusal: RefCell<Option<(Id, Refusal)>>,
    written: RefCell<Option<String>>,
}

impl Reading {
    /// Begins to read a text of so many bytes.
    pub(super) fn new(aim: Aim, length: usize) -> Self {
        Self {
            aim,
            nodes: Cell::new(0),
            text_left: Cell::new(length.saturating_mul(MAX_GROWTH)),
            refusal: RefCell::default(),
            written: RefCell::default(),
        }
    }

    /// What deserialises the root.
    pub(super) fn seed(&self) -> impl for<'de> DeserializeSeed<'de, Value = Node> {
        NodeSeed { reading: self, depth: 0 }
    }

    /// What was refused, and where.
    pub(super) fn refusal(&self) -> Option<(Id, Refusal)> {
        self.refusal.borrow().clone()
    }

    /// The text that was aimed at.
    pub(super) fn into_written(self) -> Option<String> {
        self.written.into_inner()
    }

    fn number<E: de::Error>(&self) -> Result<Id, E> {
        let id = Id(self.nodes.get());
        self.nodes.set(id.0 + 1);
        if id.0 >= MAX_NODES {
            return Err(self.refuse(id, Refusal::TooMany));
        }
        if self.aim == Aim::Early(id) { Err(E::custom("found")) } else { Ok(id) }
    }

    fn reach<E: de::Error>(&self, id: Id) -> Result<(), E> {
        if self.aim == Aim::Late(id) { Err(E::custom("found")) } else { Ok(()) }
    }

    fn refuse<E: de::Error>(&self, id: Id, refusal: Refusal) -> E {
        let error = E::custom(&refusal);
        self.refusal.borrow_mut().get_or_insert((id, refusal));
        error
    }

    fn text<E: de::Error>(&self, id: Id, text: &str) -> Result<String, E> {
        let left = self.text_left.get().checked_sub(text.len());
        self.text_left.set(left.ok_or_else(|| self.refuse(id, Refusal::TooMuchText))?);
        if text.contains('\0') { Err(self.refuse(id, Refusal::Nul)) } else { Ok(text.to_owned()) }
    }
}

struct NodeSeed<'r> {
    reading: &'r Reading,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for NodeSeed<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        let id = self.reading.number()?;
        if self.reading.aim == Aim::Written(id) {
            deserializer.deserialize_str(Written(self.reading))?;
            return Err(de::Error::custom("found"));
        }
        let content = deserializer.deserialize_any(NodeVisitor { seed: self, id })?;
        Ok(Node { id, content })
    }
}

struct NodeVisitor<'r> {
    seed: NodeSeed<'r>,
    id: Id,
}

impl<'r> NodeVisitor<'r> {
    fn scalar<E: de::Error>(self, content: Content) -> Result<Content, E> {
        self.seed.reading.reach(self.id)?;
        Ok(content)
    }

    fn descend<E: de::Error>(&self) -> Result<usize, E> {
        self.seed.reading.reach(self.id)?;
        let refusal = match self.seed.depth {
            KEY => Refusal::KeyNotText("a list or a map"),
            depth if depth >= MAX_DEPTH => Refusal::TooDeep,
            depth => return Ok(depth + 1),
        };
        Err(self.seed.reading.refuse(self.id, refusal))
    }
}

impl<'de> Visitor<'de> for NodeVisitor<'_> {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Content, E> {
        self.scalar(Content::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Content, E> {
        self.scalar(Content::Null)
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Content, E> {
        self.scalar(Content::Bool(flag))
    }

    fn visit_i64<E: de::Error>(self, int: i64) -> Result<Content, E> {
        self.scalar(Content::Int(int.into()))
    }

    fn visit_u64<E: de::Error>(self, int: u64) -> Result<Content, E> {
        self.scalar(Content::Int(int.into()))
    }

    fn visit_i128<E: de::Error>(self, int: i128) -> Result<Content, E> {
        self.scalar(Content::Int(int))
    }

    fn visit_u128<E: de::Error>(self, int: u128) -> Result<Content, E> {
        let content = i128::try_from(int).map_or_else(|_| Content::Text(int.to_string()), Content::Int);
        self.scalar(content)
    }

    fn visit_f64<E: de::Error>(self, float: f64) -> Result<Content, E> {
        self.scalar(Content::Float(float))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Content, E> {
        let text = self.seed.reading.text(self.id, text)?;
        self.scalar(Content::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content, A::Error> {
        let depth = self.descend()?;
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element_seed(NodeSeed { reading: self.seed.reading, depth })? {
            nodes.push(node);
        }
        Ok(Content::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
        let depth = self.descend()?;
        let reading = self.seed.reading;
        let (mut entries, mut keys) = (Vec::new(), HashSet::new());
        while let Some((key_id, key)) = map.next_key_seed(KeySeed(reading))? {
            if !keys.insert(key.clone()) {
                return Err(reading.refuse(key_id, Refusal::Duplicate(quoted(&key))));
            }
            let value = map.next_value_seed(NodeSeed { reading, depth })?;
            entries.push(Entry { key_id, key, value });
        }
        Ok(Content::Map(entries))
    }

    /// Only YAML tags come as enums.
    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Content, A::Error> {
        self.seed.reading.reach(self.id)?;
        let (tag, _) = data.variant::<String>()?;
        Err(self.seed.reading.refuse(self.id, Refusal::Tag(quoted(&format!("!{tag}")))))
    }
}

struct KeySeed<'r>(&'r Reading);

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = (Id, String);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(Id, String), D::Error> {
        let id = self.0.number()?;
        // A key is read like any value, because only then does YAML tell `1` from `"1"`.
        let seed = NodeSeed { reading: self.0, depth: KEY };
        let content = deserializer.deserialize_any(NodeVisitor { seed, id })?;
        match content {
            Content::Text(key) if key == "<<" => Err(self.0.refuse(id, Refusal::Merge)),
            Content::Text(key) => Ok((id, key)),
            content => Err(self.0.refuse(id, Refusal::KeyNotText(Node { id, content }.kind()))),
        }
    }
}

/// Keeps a scalar's text.
struct Written<'r>(&'r Reading);

impl Visitor<'_> for Written<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        *self.0.written.borrow_mut() = Some(text.to_owned());
        Ok(())
    }
}
