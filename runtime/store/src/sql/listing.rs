//! Lists of sessions. Each condition that is asked for becomes a part of the statement, so that the database can
//! use the index that fits.

use async_trait::async_trait;
use palisade_agent::{Listing, Session};

use super::{
    Fault, Link, Value, Work,
    session::{read_session, session_columns},
};

/// Lists sessions, the most recently updated first.
pub(super) struct List<'a>(pub(super) &'a Listing);

impl List<'_> {
    /// The statement and its values.
    fn statement(&self) -> (String, Vec<Value<'_>>) {
        let listing = self.0;
        let mut sql = concat!("SELECT ", session_columns!(), " FROM sessions WHERE tenant = $1").to_owned();
        let mut values: Vec<Value<'_>> = vec![listing.tenant.as_str().into()];
        let before = listing.before.map(|before| before.as_microsecond());
        let limit = i64::try_from(listing.limit).ok().filter(|limit| *limit > 0);
        if listing.parent.is_none() && !listing.delegated {
            sql.push_str(" AND parent IS NULL");
        }
        for (condition, value) in [
            (" AND parent = $", listing.parent.as_deref().map(Value::from)),
            (" AND agent = $", listing.agent.as_deref().map(Value::from)),
            (" AND workspace = $", listing.workspace.as_deref().map(Value::from)),
            (" AND updated_at < $", before.map(Value::from)),
            (" ORDER BY updated_at DESC LIMIT $", Some(limit.unwrap_or(i64::MAX).into())),
        ] {
            let Some(value) = value else { continue };
            values.push(value);
            sql.push_str(condition);
            sql.push_str(&values.len().to_string());
        }
        (sql, values)
    }
}

#[async_trait]
impl Work for List<'_> {
    type Made = Vec<Session>;

    async fn run(&self, link: &mut Link<'_>) -> Result<Vec<Session>, Fault> {
        let (sql, values) = self.statement();
        link.assembled(sql, &values).await?.iter().map(read_session).collect()
    }
}
