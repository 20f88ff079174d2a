//! The local agent: MCP over stdio on one side, the service on the other, and the sync of session histories.
//!
//! It handles bytes and local files, and knows nothing about records, storage or ranking. It forwards exactly what it
//! reads and returns exactly what the service sends, except that `tools/list` gains one tool. It opens no port and
//! starts no shell.
//!
//! Where things live: `proxy.rs` (the loop between assistant and service), `service.rs` (HTTP to the service),
//! `sync.rs` and `transcript.rs` (session histories), `install.rs` (other programs' configurations), `hook.rs` (what
//! their hooks run).

mod answers;
mod away;
pub mod background;
mod clock;
pub mod consent;
pub mod discover;
pub mod hook;
mod ignoring;
pub mod install;
mod listing;
mod message;
mod own_tool;
pub mod places;
pub mod private;
pub mod proxy;
mod repository;
pub mod service;
pub mod settings;
mod state;
pub mod status;
pub mod sync;
pub mod transcript;
pub mod trouble;
pub mod trust;

pub use own_tool::{NAME as OWN_TOOL, description as own_tool_description};
