//! What holds for every store, held against all of them.

mod suite {
    pub(crate) mod conformance;
    pub(crate) mod places;
}
