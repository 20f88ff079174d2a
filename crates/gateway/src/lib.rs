//! Other systems' tools: connections to upstream MCP servers, their deadlines, breakers and pinned tool lists.
//!
//! Integrations can't be set up yet, so this room is empty. Records, accounts and our own tools never move in here.
