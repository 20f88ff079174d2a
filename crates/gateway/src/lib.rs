//! Other systems' tools: connections to upstream MCP servers, their deadlines, breakers and the hashes of their tools.
//!
//! `address.rs` and `outgoing.rs` are the way out, which everything takes that calls an address of somebody else's choice.
//! Records, accounts and our own tools never move in here; who may call what is decided in the engine.

pub mod address;
mod breaker;
mod error;
mod gateway;
mod http;
mod limits;
mod message;
pub mod outgoing;
mod result;
mod session;
mod sse;
mod stdio;
mod tool;

pub use breaker::{FAILURES_MAX, PAUSE};
pub use error::UpstreamError;
pub use gateway::{Gateway, Listing, Target, Upstream};
pub use limits::Limits;
pub use outgoing::{Fetched, Outgoing, OutgoingConfig, OutgoingError, Resolver, SystemResolver};
pub use result::ToolResult;
pub use session::{Hello, TOOLS_MAX};
pub use tool::UpstreamTool;
