//! Stories of the console's sessions.

use mnemon_core::CredentialHash;

use super::{MakeEngine, at};
use crate::ConsoleSession;

/// A session comes back whole, is found by its own hash alone, and is gone once it was ended or its time has passed.
pub async fn a_console_session_leads_to_its_key_until_it_ends(make: MakeEngine) {
    let engine = make().await;
    let store = &engine.store;
    let session = |name: &str, ends: i64| ConsoleSession {
        hash: CredentialHash::of(name),
        key_hash: CredentialHash::of("a key"),
        created_at: at(10),
        expires_at: at(ends),
    };
    let (early, late) = (session("early", 50), session("late", 90));
    for session in [&early, &late] {
        store.insert_console_session(session.clone()).await.expect("storage works");
    }
    assert_eq!(store.find_console_session(&early.hash).await, Ok(Some(early.clone())));
    assert_eq!(store.find_console_session(&early.key_hash).await, Ok(None));
    assert_eq!(store.purge_console_sessions(at(50)).await, Ok(0));
    assert_eq!(store.purge_console_sessions(at(51)).await, Ok(1));
    assert_eq!(store.find_console_session(&early.hash).await, Ok(None));
    assert_eq!(store.find_console_session(&late.hash).await, Ok(Some(late.clone())));
    assert_eq!(store.delete_console_session(&late.hash).await, Ok(true));
    assert_eq!(store.delete_console_session(&late.hash).await, Ok(false));
    assert_eq!(store.find_console_session(&late.hash).await, Ok(None));
}
