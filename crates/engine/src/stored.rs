//! Values of the store that endpoints show as they are: a key, a connection, a session. They are re-exported here, so
//! that the server names no storage and can't call it; an endpoint only renders them.

pub use mnemon_store::{
    Actor, ActorKind, AuditFilter, COMMIT_SIZE_BOUNDS, CommitSizes, ConnectionRow, DatabaseConnections, Day, KeyLink,
    KeyRow, NodeRow, OauthClient, OpenSession, Seen, Session, StoreError, StoreFigures, UpstreamAddress,
};
