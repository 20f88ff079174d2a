//! What goes over the wire, as shapes: JSON-RPC envelopes, MCP messages, tool descriptions and tool results. Shapes
//! only; what a call means is decided in the engine.
//!
//! To add a tool: its result shape in `memory.rs`, its description in the server's tool table.

pub mod admin;
pub mod hex;
pub mod json;
pub mod jsonrpc;
pub mod mcp;
pub mod memory;
pub mod oauth;
pub mod result;
pub mod sessions;
pub mod tools;

/// The version of the interface, carried by results.
pub const API_VERSION: &str = "1.0";
