//! Tools of other systems: connections to upstream MCP servers, with timeouts, breakers and hashes of their tools.
//!
//! `address.rs` and `outgoing.rs` are the way out; every call to a URL that somebody else chose goes through them.
//! Records, accounts and our own tools never belong here; the engine decides who may call what.

pub mod address;
mod breaker;
mod error;
mod gateway;
mod http;
mod limits;
mod message;
pub mod outgoing;
mod result;
mod scrub;
mod session;
mod sse;
mod stdio;
mod tool;

pub use breaker::{BreakerCounts, FAILURES_MAX, Health, PAUSE};
pub use error::UpstreamError;
pub use gateway::{Gateway, Listing, Target, Upstream};
pub use http::is_reserved_header;
pub use limits::Limits;
pub use outgoing::{Fetched, Outgoing, OutgoingConfig, OutgoingError, Resolver, SystemResolver};
pub use result::ToolResult;
pub use session::{Hello, TOOLS_MAX};
pub use tool::UpstreamTool;
