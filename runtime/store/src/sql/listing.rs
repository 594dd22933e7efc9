//! Lists of sessions. Each condition that is asked for becomes a part of the statement, so that the database can
//! use the index that fits.

use async_trait::async_trait;
use palisade_agent::{Listing, Session};

use super::{
    Fault, Link, Value, Work,
    session::{read_session, session_columns},
};
use crate::rules;

/// Lists sessions.
pub(super) struct List<'a>(pub(super) &'a Listing);

#[async_trait]
impl Work for List<'_> {
    type Made = Vec<Session>;

    fn tenant(&self) -> &str {
        &self.0.tenant
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Vec<Session>, Fault> {
        let listing = self.0;
        let name = listing.name.as_deref().map(rules::name_key);
        let mut statement =
            Statement::of(concat!("SELECT ", session_columns!(), " FROM sessions"), listing, name.as_deref());
        if let Some(before) = listing.before {
            statement.add(" AND updated_at < $", before.as_microsecond());
        }
        statement.sql.push_str(match listing.pinned_first {
            true => " ORDER BY (pinned_at IS NULL), pinned_at DESC, updated_at DESC",
            false => " ORDER BY updated_at DESC",
        });
        let limit = i64::try_from(listing.limit).ok().filter(|limit| *limit > 0);
        statement.add(" LIMIT $", limit.unwrap_or(i64::MAX));
        statement.add(" OFFSET $", i64::try_from(listing.offset).unwrap_or(i64::MAX));
        link.assembled(statement.sql, &statement.values).await?.iter().map(read_session).collect()
    }
}

/// Counts sessions.
pub(super) struct Count<'a>(pub(super) &'a Listing);

#[async_trait]
impl Work for Count<'_> {
    type Made = u64;

    fn tenant(&self) -> &str {
        &self.0.tenant
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<u64, Fault> {
        let name = self.0.name.as_deref().map(rules::name_key);
        let statement = Statement::of("SELECT count(*) FROM sessions", self.0, name.as_deref());
        let rows = link.assembled(statement.sql, &statement.values).await?;
        rows.first().map_or(Ok(0), |row| row.count(0))
    }
}

/// A statement and its values.
struct Statement<'v> {
    sql: String,
    values: Vec<Value<'v>>,
}

impl<'v> Statement<'v> {
    /// With the conditions of a listing that hold on all its pages.
    fn of(beginning: &str, listing: &'v Listing, name: Option<&'v str>) -> Self {
        let mut statement = Self { sql: beginning.to_owned(), values: Vec::new() };
        statement.add(" WHERE tenant = $", listing.tenant.as_str());
        if listing.parent.is_none() && !listing.delegated {
            statement.sql.push_str(" AND parent IS NULL");
        }
        for (condition, value) in [
            (" AND parent = $", listing.parent.as_deref()),
            (" AND agent = $", listing.agent.as_deref()),
            (" AND workspace = $", listing.workspace.as_deref()),
            (" AND name_key = $", name),
        ] {
            if let Some(value) = value {
                statement.add(condition, value);
            }
        }
        if let Some(beginning) = &listing.begins {
            // Databases disagree about the order of texts, and about what is like another.
            statement.add(&format!(" AND substr(id, 1, {}) = $", beginning.chars().count()), beginning.as_str());
        }
        statement
    }

    /// Adds a part that ends with the mark of its value.
    fn add(&mut self, part: &str, value: impl Into<Value<'v>>) {
        self.values.push(value.into());
        self.sql.push_str(part);
        self.sql.push_str(&self.values.len().to_string());
    }
}
