//! For tests and benches: a throw-away PostgreSQL from whatever server is installed. It knows nothing about what is
//! stored.
//!
//! [`Database::fresh`] creates a database in a cluster that all test processes of a user share: the first one that
//! needs it starts it, and it stops half a minute after the last one has ended. [`Cluster`] is a separate server, for
//! tests that kill servers.

mod cluster;
mod database;
mod programs;

pub use cluster::{Cluster, ClusterOptions, ServerCertificate};
pub use database::Database;
pub use programs::{ServerUser, find_program};
