//! A bash interpreter and its commands, as one component.
