//! Guests against the host: one binary, one module per group of cases.
