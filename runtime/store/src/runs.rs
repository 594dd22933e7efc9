//! Runs that did not end, for a server that starts again.

use async_trait::async_trait;
use palisade_agent::{RunRecord, StoreError};

/// Where one finds the runs that did not end.
#[async_trait]
pub trait OpenRuns: Send + Sync {
    /// The runs that did not end, of a tenant, or of all of them: for the operator alone. Whether whoever holds one
    /// is alive is another question, which [`palisade_agent::Store::claim`] answers.
    ///
    /// They are sorted by tenant and id; those after the run of this tenant and id come, at most `limit`. Runs that
    /// ended are not read.
    async fn open_runs(
        &self,
        tenant: Option<&str>,
        after: Option<(&str, &str)>,
        limit: usize,
    ) -> Result<Vec<RunRecord>, StoreError>;
}
