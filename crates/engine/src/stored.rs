//! Values of the store that the doors show as they are: a key, a connection, a session. They are handed on from here, so
//! that the server names no storage and can call none; what a door does with them is rendering alone.

pub use mnemon_store::{Actor, ConnectionRow, Day, KeyRow, OauthClient, Session, StoreError, UpstreamAddress};
