//! Runs that did not end. An index has those alone.

use async_trait::async_trait;
use palisade_agent::{RunRecord, StoreError};

use super::{
    Fault, Link, Place, Sql, Survey, Work,
    look::{read_run, run_columns},
    values,
};
use crate::runs::OpenRuns;

#[async_trait]
impl<P: Place> OpenRuns for Sql<P> {
    async fn open_runs(
        &self,
        tenant: Option<&str>,
        after: Option<(&str, &str)>,
        limit: usize,
    ) -> Result<Vec<RunRecord>, StoreError> {
        let (above, after) = after.unwrap_or_default();
        if [tenant.unwrap_or_default(), above, after].iter().any(|text| text.contains('\0')) {
            return Ok(Vec::new());
        }
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        match tenant {
            Some(tenant) => self.place.read(&OfOne { tenant, above, after, limit }).await,
            None => self.place.survey(&OfAll { above, after, limit }).await,
        }
    }
}

/// Those of a tenant.
struct OfOne<'a> {
    tenant: &'a str,
    above: &'a str,
    after: &'a str,
    limit: u64,
}

#[async_trait]
impl Work for OfOne<'_> {
    type Made = Vec<RunRecord>;

    fn tenant(&self) -> &str {
        self.tenant
    }

    async fn run(&self, link: &mut Link<'_>) -> Result<Vec<RunRecord>, Fault> {
        let sql = concat!(
            "SELECT ",
            run_columns!(),
            " FROM runs WHERE ended_at IS NULL AND tenant = $1 AND (tenant, id) > ($2, $3) ORDER BY tenant, id LIMIT $4"
        );
        let rows = link.rows(sql, values![self.tenant, self.above, self.after, self.limit]).await?;
        rows.iter().map(read_run).collect()
    }
}

/// Those of all tenants.
struct OfAll<'a> {
    above: &'a str,
    after: &'a str,
    limit: u64,
}

#[async_trait]
impl Survey for OfAll<'_> {
    type Made = Vec<RunRecord>;

    async fn run(&self, link: &mut Link<'_>) -> Result<Vec<RunRecord>, Fault> {
        let sql = concat!(
            "SELECT ",
            run_columns!(),
            " FROM runs WHERE ended_at IS NULL AND (tenant, id) > ($1, $2) ORDER BY tenant, id LIMIT $3"
        );
        let rows = link.rows(sql, values![self.above, self.after, self.limit]).await?;
        rows.iter().map(read_run).collect()
    }
}
