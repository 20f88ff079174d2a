//! For tests and benches: a throw-away PostgreSQL, from whatever server is installed. Knows nothing of what is stored in it.
//!
//! [`Database::fresh`] takes a new database in a cluster that all test processes of a user share: it is started by the
//! first that needs it and stops half a minute after the last has ended. [`Cluster`] is one of its own, for tests that
//! kill servers.

mod cluster;
mod database;
mod programs;

pub use cluster::{Cluster, ClusterOptions, ServerCertificate};
pub use database::Database;
pub use programs::{ServerUser, find_program};
