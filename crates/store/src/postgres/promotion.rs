//! How much each standby has received: only the one with most has everything that was ever acknowledged.

use super::connect::{PostgresConfig, connect_as_owner};
use super::error::Fault;
use crate::StoreError;

/// Where a server is in the write-ahead log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// Whether it follows a primary, and takes no writes itself.
    pub is_standby: bool,
    /// The end of what it has received, in bytes since the beginning of the log.
    pub received: u64,
    /// The same as PostgreSQL writes it.
    pub shown: String,
    /// Identifies the cluster: servers with different ones have nothing in common.
    pub system: i64,
}

/// Asks a server where it is. What it has received and not replayed yet counts too.
pub async fn received(url: &str) -> Result<Position, StoreError> {
    const SELECT: &str = "
        SELECT p.is_standby, (p.lsn - '0/0'::pg_lsn)::bigint, p.lsn::text, s.system_identifier
        FROM (
            SELECT pg_is_in_recovery() AS is_standby,
                CASE WHEN pg_is_in_recovery()
                    THEN GREATEST(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())
                    ELSE pg_current_wal_lsn() END AS lsn) AS p, pg_control_system() AS s";
    let client = connect_as_owner(&PostgresConfig::new(url)).await?;
    let row = client.query_one(SELECT, &[]).await.map_err(|error| Fault::from(error).error)?;
    let unknown = |_| StoreError::Failed("the server has no position in the log yet".to_owned());
    let bytes: i64 = row.try_get(1).map_err(unknown)?;
    let shown = row.try_get(2).map_err(unknown)?;
    Ok(Position { is_standby: row.get(0), received: bytes.unsigned_abs(), shown, system: row.get(3) })
}
