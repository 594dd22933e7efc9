//! Writing plugins: new projects, how each language becomes a component, and the cases that try its tools.
//!
//! Nothing here gives a tool more than it has elsewhere: what is built is loaded, described and called in the same
//! sandbox as any component that nobody vouches for.

mod build;
mod cases;
mod files;
mod language;
mod languages {
    //! One file per language: how its sources become components.
    pub(super) mod c;
    pub(super) mod javascript;
    pub(super) mod python;
    pub(super) mod rust;
}
mod package;
mod program;
mod project;
mod template;
mod toolchain;
mod trial;
mod verdict;
mod world;

pub(crate) use build::{BuiltTool, Workshop};
pub(crate) use cases::{Case, read as read_cases};
pub(crate) use files::newest;
pub(crate) use language::Language;
pub(crate) use program::Mistake;
pub(crate) use project::Project;
pub(crate) use template::{NewProject, names_for};
pub(crate) use trial::{Tried, call, try_cases};
