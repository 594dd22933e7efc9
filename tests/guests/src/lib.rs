//! Guests for tests; each is an example of this package, in a file of its own.
