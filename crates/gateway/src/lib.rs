//! Other systems' tools: connections to upstream MCP servers, their deadlines, breakers and pinned tool lists.
//!
//! Integrations can't be set up yet; what is here is the way out, which everything takes that calls an address of somebody
//! else's choice. Records, accounts and our own tools never move in here.

pub mod address;
pub mod outgoing;

pub use outgoing::{Fetched, Outgoing, OutgoingConfig, OutgoingError, Resolver, SystemResolver};
