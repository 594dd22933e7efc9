//! Files that are not what they should be.
