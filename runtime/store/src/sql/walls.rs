//! The second wall between tenants, in Postgres: row-level security. A transaction says for whom it works
//! ([`TENANT`]), and the server shows it and lets it change only that tenant's rows, whatever its statements ask for.
//! One that says nothing sees nothing.
//!
//! The first wall are the statements, every one of which asks whose something is. This one is for the day on which
//! one forgets to. It is none against somebody who can make statements of their own, since they could say anything.

use super::{Fault, Link};

/// The setting that says for whom a transaction works.
pub(crate) const TENANT: &str = "palisade.tenant";
/// The setting that says, by `on`, that a transaction looks over all tenants for the operator.
pub(crate) const OPERATOR: &str = "palisade.operator";

/// A table's wall. Without `FORCE` the owner of the table, which is who this program usually connects as, would not
/// be held to it. The setting is looked at once for a statement, not once for a row, because it is in a query of its
/// own; what was set for an earlier transaction is an empty text, and nobody's name.
macro_rules! wall {
    ($table:literal) => {
        [
            concat!("ALTER TABLE ", $table, " ENABLE ROW LEVEL SECURITY"),
            concat!("ALTER TABLE ", $table, " FORCE ROW LEVEL SECURITY"),
            concat!(
                "CREATE POLICY own ON ",
                $table,
                " USING (tenant = (SELECT NULLIF(current_setting('palisade.tenant', true), '')))"
            ),
        ]
    };
}

/// What the operator may look at over all tenants, and not change.
macro_rules! window {
    ($table:literal) => {
        concat!(
            "CREATE POLICY operator ON ",
            $table,
            " FOR SELECT USING ((SELECT current_setting('palisade.operator', true)) = 'on')"
        )
    };
}

/// The walls of the tables that had a tenant when walls came. A later table gets its own in the step that makes it.
pub(super) const WALLS: [[&str; 3]; 12] = [
    wall!("tenants"),
    wall!("sessions"),
    wall!("entries"),
    wall!("runs"),
    wall!("calls"),
    wall!("messages"),
    wall!("audits"),
    wall!("spaces"),
    wall!("space_values"),
    wall!("api_keys"),
    wall!("events"),
    wall!("idempotency"),
];

/// The wall of what deleted runs used up.
pub(super) const SPENT: [&str; 3] = wall!("spent");

/// Which tenants there are, whose key this is, which runs did not end.
pub(super) const WINDOWS: [&str; 3] = [window!("tenants"), window!("api_keys"), window!("runs")];

/// Whether the role of a connection to Postgres obeys row-level security. Superusers do not.
pub(crate) async fn obeys_walls(link: &mut Link<'_>) -> Result<bool, Fault> {
    let sql = "SELECT CAST(CASE WHEN rolsuper OR rolbypassrls THEN 0 ELSE 1 END AS BIGINT) FROM pg_roles WHERE rolname = current_user";
    let row = link.row(sql, &[]).await?;
    row.map_or(Ok(false), |row| Ok(row.number(0)? == 1))
}
