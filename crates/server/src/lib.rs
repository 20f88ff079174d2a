//! The HTTP endpoints of the service. Each parses, calls one engine function and renders; decisions are made in the
//! engine.
//!
//! To add a tool: 1. its shapes in the protocol crate, 2. its use case in the engine, 3. a file in `mcp/tools/` and a
//! row in that folder's table, 4. a test in `tests/it/`.

mod access_log;
mod admin;
mod agent;
pub mod config;
mod console;
mod http;
mod mcp;
mod metrics;
mod oauth;
mod record_json;
mod router;

pub use access_log::TARGET as ACCESS_TARGET;
pub use admin::openapi_document as admin_openapi;
pub use admin::route_table as admin_route_table;
pub use agent::route_table as agent_route_table;
pub use console::route_table as console_route_table;
pub use http::{Answers, App, ConnectionLimit, Room, bind, serve};
pub use mcp::tool_descriptions;
pub use oauth::route_table as oauth_route_table;
pub use router::{Doors, metrics_router, router, waiting_router, with_layers};
