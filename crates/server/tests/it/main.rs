//! The service through its public interface: every tool, every rule of the wire, every error text. One file per story.
//! The helpers use the public interface too; only the builders of the test kit touch the store.
//!
//! To add a story: a file here, a line below, a name for each test that says what it protects.

mod access;
mod admin;
mod audit;
mod bad_input;
mod console;
mod differential;
mod errors;
mod filters;
mod forget;
mod freshness;
mod fuzz;
mod guard_modes;
mod guarded;
mod idempotency;
mod imports;
mod integrations;
mod isolation;
mod large;
mod limits;
mod metrics;
mod moving;
mod nodes;
mod oauth;
mod openapi;
mod purge;
mod quotas;
mod refusals;
mod refused;
mod remember;
mod replacing;
mod replicas;
mod restart;
mod round_trips;
mod schema;
mod search;
mod sessions;
mod shown_again;
mod snapshots;
mod sources;
mod staleness;
mod strangers;
mod subscription;
mod times;
mod validate_memory;
mod visibility;
mod walk;
mod when;
mod wire;
