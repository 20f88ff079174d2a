//! The wire formats: JSON-RPC envelopes, MCP messages, tool descriptions and tool results. Only shapes; the engine
//! decides what a call means.
//!
//! To add a tool: its result shape in `memory.rs`, its description in the server's tool table.

pub mod admin;
pub mod export_lines;
pub mod hex;
pub mod json;
pub mod jsonrpc;
pub mod mcp;
pub mod memory;
pub mod oauth;
pub mod result;
pub mod sessions;
pub mod tool_result;
pub mod tools;

/// The version of the interface, included in results.
pub const API_VERSION: &str = "1.0";
