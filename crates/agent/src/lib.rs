//! The local agent: MCP over stdio on one side, the service on the other, and the sync of session histories.
//!
//! It is not built yet; clients talk to the service directly over HTTP. It will know bytes and local files, and nothing
//! of records, storage or ranking.
