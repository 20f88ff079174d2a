//! Stories of the console's sessions.

use mnemon_core::{ConsoleSessionId, CredentialHash};
use mnemon_store::{ConsoleSession, OpenSession, SessionHolder, TurnedSession};

use super::fixtures::fresh_uuid;
use super::{House, MakeEngine, at, audit};

/// A session comes back whole, is found by its own hash alone, and is gone once it was ended or its time has passed.
pub async fn a_console_session_leads_to_its_key_until_it_ends(make: MakeEngine) {
    let engine = make().await;
    let store = &engine.store;
    let session = |name: &str, ends: i64| ConsoleSession {
        hash: CredentialHash::of(name),
        key_hash: CredentialHash::of("a key"),
        created_at: at(10),
        expires_at: at(ends),
        acting_hash: None,
        holder: None,
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

/// A session goes on with another key, and is then listed in that key's project. The operator's does not.
pub async fn a_console_session_goes_on_with_another_key(make: MakeEngine) {
    let engine = make().await;
    let (house, other) = (House::build(&engine.store).await, House::build(&engine.store).await);
    let store = &engine.store;
    let session = |name: &str, holder: Option<SessionHolder>| ConsoleSession {
        hash: CredentialHash::of(name),
        key_hash: house.key_hash,
        created_at: at(10),
        expires_at: at(90),
        acting_hash: None,
        holder,
    };
    let holder = SessionHolder {
        id: ConsoleSessionId::new(fresh_uuid()),
        project: house.project,
        member: house.ana,
        key: house.key,
        browser: "Firefox on Linux".to_owned(),
    };
    let (own, operator) = (session("own", Some(holder.clone())), session("operator", None));
    for session in [&own, &operator] {
        store.insert_console_session(session.clone()).await.expect("storage works");
    }
    let to = TurnedSession { acting_hash: other.key_hash, project: other.project, key: other.key };
    assert_eq!(store.turn_console_session(&own.hash, to).await, Ok(true));
    assert_eq!(store.turn_console_session(&operator.hash, to).await, Ok(false));
    let holder = SessionHolder { project: other.project, key: other.key, ..holder };
    let turned = ConsoleSession { acting_hash: Some(other.key_hash), holder: Some(holder), ..own.clone() };
    assert_eq!(store.find_console_session(&own.hash).await, Ok(Some(turned)));
    let listed = async |project| store.list_console_sessions(project, at(20)).await.expect("storage works").len();
    assert_eq!((listed(house.project).await, listed(other.project).await), (0, 1));
}

/// A project lists its open sessions, and no other project's; one is ended by its id, once, with a line in the
/// audit log.
pub async fn open_console_sessions_are_listed_and_ended(make: MakeEngine) {
    let engine = make().await;
    let (house, other) = (House::build(&engine.store).await, House::build(&engine.store).await);
    let store = &engine.store;
    let open = |house: &House, name: &str, ends: i64| ConsoleSession {
        hash: CredentialHash::of(name),
        key_hash: house.key_hash,
        created_at: at(10),
        expires_at: at(ends),
        acting_hash: None,
        holder: Some(SessionHolder {
            id: ConsoleSessionId::new(fresh_uuid()),
            project: house.project,
            member: house.ana,
            key: house.key,
            browser: "Firefox on Linux".to_owned(),
        }),
    };
    let (early, late, theirs) = (open(&house, "early", 50), open(&house, "late", 90), open(&other, "theirs", 90));
    for session in [&early, &late, &theirs] {
        store.insert_console_session(session.clone()).await.expect("storage works");
        assert_eq!(store.find_console_session(&session.hash).await, Ok(Some(session.clone())));
    }
    let shown = |session: &ConsoleSession| OpenSession {
        holder: session.holder.clone().expect("it has one"),
        created_at: session.created_at,
        expires_at: session.expires_at,
    };
    assert_eq!(store.list_console_sessions(house.project, at(49)).await, Ok(vec![shown(&early), shown(&late)]));
    assert_eq!(store.list_console_sessions(house.project, at(50)).await, Ok(vec![shown(&late)]), "its time has passed");
    let (id, foreign) = (shown(&late).holder.id, shown(&theirs).holder.id);
    let end = |id| store.end_console_session(house.project, id, audit(house.account, 20, "console.end"));
    assert_eq!(end(foreign).await, Ok(false), "it is another project's");
    assert_eq!(end(id).await, Ok(true));
    assert_eq!(end(id).await, Ok(false));
    assert_eq!(store.find_console_session(&late.hash).await, Ok(None));
    assert_eq!(store.list_console_sessions(other.project, at(20)).await, Ok(vec![shown(&theirs)]));
    store.revoke_key(other.key, at(30), audit(other.account, 30, "key.revoke")).await.expect("storage works");
    assert_eq!(store.list_console_sessions(other.project, at(31)).await, Ok(Vec::new()), "its key was revoked");
}
