//! Stories of access by OAuth: clients, codes that work once, connections that die with their key.

use mnemon_core::{AuditId, ConnectionId, CredentialHash, KeyId, Timestamp};
use mnemon_store::{Actor, ClientKind, Grant, NewCode, OauthClient, Redeemed, Redemption};

use super::{House, MakeEngine, at, audit};

const HOUR: i64 = 3_600;

fn client(id: &str, second: i64) -> OauthClient {
    OauthClient {
        id: id.to_owned(),
        kind: ClientKind::Registered,
        name: Some("Chat".to_owned()),
        redirect_uris: vec!["https://chat.example/back".to_owned(), "http://localhost/back?a=b".to_owned()],
        known_at: at(second),
    }
}

fn code(house: &House, text: &str) -> NewCode {
    NewCode {
        hash: CredentialHash::of(text),
        client: "chat".to_owned(),
        client_name: Some("Chat \u{1F4AC}".to_owned()),
        redirect_uri: "https://chat.example/back".to_owned(),
        challenge: "challenge".to_owned(),
        resource: "https://memory.example/mcp".to_owned(),
        key: house.key,
        created_at: at(10),
        expires_at: at(70),
    }
}

/// The right use of a code at a moment, for a token called `token`.
fn use_of(code: &NewCode, now: Timestamp, token: &str) -> Redemption {
    let id = |text: &str| {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&CredentialHash::of(text).as_bytes()[..16]);
        bytes
    };
    Redemption {
        code: code.hash,
        client: code.client.clone(),
        redirect_uri: Some(code.redirect_uri.clone()),
        challenge: code.challenge.clone(),
        now,
        id: ConnectionId::from_bytes(id(token)),
        hash: CredentialHash::of(token),
        expires_at: at(30 * 24 * HOUR),
        audit: [AuditId::from_bytes(id(&format!("{token}-1"))), AuditId::from_bytes(id(&format!("{token}-2")))],
    }
}

/// Makes a code and uses it as it should be used.
pub async fn connect(house: &House, token: &str) -> Redemption {
    let made = code(house, &format!("code of {token}"));
    house.store.insert_code(made.clone()).await.expect("storage works");
    let redemption = use_of(&made, at(20), token);
    assert_eq!(house.store.redeem_code(redemption.clone()).await, Ok(Redeemed::Done));
    redemption
}

async fn grant(house: &House, token: &str) -> Option<Grant> {
    house.store.find_grant(&CredentialHash::of(token)).await.expect("storage works")
}

/// What is known of a client comes back whole, and is replaced whole.
pub async fn a_client_comes_back_and_is_replaced(make: MakeEngine) {
    let engine = make().await;
    let store = &engine.store;
    assert_eq!(store.find_client("chat").await, Ok(None));
    store.save_client(client("chat", 5)).await.expect("storage works");
    store.save_client(client("other", 5)).await.expect("storage works");
    assert_eq!(store.find_client("chat").await, Ok(Some(client("chat", 5))));
    let changed = OauthClient {
        kind: ClientKind::Document,
        name: None,
        redirect_uris: vec!["https://new.example/".to_owned()],
        ..client("chat", 9)
    };
    store.save_client(changed.clone()).await.expect("storage works");
    assert_eq!(store.find_client("chat").await, Ok(Some(changed)));
    assert_eq!(store.find_client("other").await, Ok(Some(client("other", 5))));
    assert_eq!(store.find_client("CHAT").await, Ok(None), "ids are exact");
}

/// A code makes one connection, which brings all that follows from it.
pub async fn a_code_makes_one_connection(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    assert_eq!(grant(&house, "token").await, None);
    let redemption = connect(&house, "token").await;
    let expected = Grant {
        id: redemption.id,
        key_hash: house.key_hash,
        client: "chat".to_owned(),
        resource: "https://memory.example/mcp".to_owned(),
        expires_at: at(30 * 24 * HOUR),
        is_revoked: false,
    };
    assert_eq!(grant(&house, "token").await.as_ref(), Some(&expected));
    let by_token = async |token: &str| {
        let found = house.store.find_credential_by_token(&CredentialHash::of(token)).await.expect("storage works");
        found.map(|(grant, presented)| (grant, presented.credential.key, presented.seq))
    };
    assert_eq!(by_token("token").await, Some((expected, house.key, house.last_seq().await)));
    assert_eq!(by_token("another").await, None);
    let rows = house.store.list_connections(house.project).await.expect("storage works");
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!((row.id, row.project, row.account), (redemption.id, house.project, house.account));
    assert_eq!((row.member, row.key, row.client.as_str()), (house.ana, house.key, "chat"));
    assert_eq!(row.client_name.as_deref(), Some("Chat \u{1F4AC}"));
    assert_eq!((row.created_at, row.expires_at), (at(20), at(30 * 24 * HOUR)));
    assert_eq!((row.revoked_at, row.last_used_at), (None, None));
    assert_eq!(house.store.find_connection(redemption.id).await, Ok(Some(row.clone())));
    let log = house.store.list_audit(house.account, 1).await.expect("storage works");
    assert_eq!((&*log[0].0.action, log[0].0.actor), ("connection.create", Actor::Member(house.ana)));
    assert_eq!((log[0].0.subject.clone(), log[0].0.project), (redemption.id.to_string(), Some(house.project)));
}

/// A code that is used wrongly gives nothing and is used up.
pub async fn a_code_used_wrongly_is_used_up(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let refused = Ok(Redeemed::Refused);
    let never = use_of(&code(&house, "never made"), at(20), "token");
    assert_eq!(house.store.redeem_code(never).await, refused);
    type Wrong = (&'static str, fn(&mut Redemption));
    let wrongs: [Wrong; 5] = [
        ("client", |wrong| wrong.client = "other".to_owned()),
        ("redirect", |wrong| wrong.redirect_uri = Some("https://chat.example/back/".to_owned())),
        ("challenge", |wrong| wrong.challenge = "Challenge".to_owned()),
        ("late", |wrong| wrong.now = at(70)),
        ("much later", |wrong| wrong.now = at(7_000)),
    ];
    for (what, wrong) in wrongs {
        let made = code(&house, what);
        house.store.insert_code(made.clone()).await.expect("storage works");
        let mut redemption = use_of(&made, at(20), what);
        wrong(&mut redemption);
        assert_eq!(house.store.redeem_code(redemption).await, refused, "{what}");
        assert_eq!(house.store.redeem_code(use_of(&made, at(21), what)).await, refused, "{what}: used up");
        assert_eq!(grant(&house, what).await, None, "{what}");
    }
    assert_eq!(house.store.list_connections(house.project).await, Ok(Vec::new()));
    let made = code(&house, "just in time");
    house.store.insert_code(made.clone()).await.expect("storage works");
    let last = use_of(&made, super::at_micro(69_999_999), "token");
    assert_eq!(house.store.redeem_code(last).await, Ok(Redeemed::Done), "the last microsecond");
}

/// The second use of a code ends what the first one gave.
pub async fn a_code_used_twice_ends_what_it_gave(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let first = connect(&house, "token").await;
    connect(&house, "bystander").await;
    let mut again = use_of(&code(&house, "code of token"), at(30), "second token");
    again.challenge = "whatever".to_owned();
    assert_eq!(house.store.redeem_code(again.clone()).await, Ok(Redeemed::Replayed));
    assert!(grant(&house, "token").await.expect("kept").is_revoked);
    assert_eq!(grant(&house, "second token").await, None);
    assert!(!grant(&house, "bystander").await.expect("alive").is_revoked);
    let row = house.store.find_connection(first.id).await.expect("storage works").expect("kept");
    assert_eq!(row.revoked_at, Some(at(30)));
    let log = house.store.list_audit(house.account, 1).await.expect("storage works");
    assert_eq!((&*log[0].0.action, log[0].0.actor), ("connection.revoke", Actor::Service));
    again.now = at(40);
    assert_eq!(house.store.redeem_code(again).await, Ok(Redeemed::Replayed), "nothing more to end");
    assert_eq!(house.store.list_audit(house.account, 1).await.expect("storage works")[0].0, log[0].0);
}

/// Of many uses at the same moment one makes a connection, and any other ends it.
pub async fn a_code_used_at_once_by_many_leaves_nothing(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let made = code(&house, "raced");
    house.store.insert_code(made.clone()).await.expect("storage works");
    let uses = (0..16).map(|n| {
        let (store, redemption) = (house.store.clone(), use_of(&made, at(20), &format!("token {n}")));
        tokio::spawn(async move { store.redeem_code(redemption).await })
    });
    let mut outcomes = Vec::new();
    for running in uses.collect::<Vec<_>>() {
        outcomes.push(running.await.expect("no panic").expect("storage works"));
    }
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Redeemed::Done).count(), 1, "{outcomes:?}");
    let rows = house.store.list_connections(house.project).await.expect("storage works");
    assert_eq!(rows.iter().map(|row| row.revoked_at).collect::<Vec<_>>(), [Some(at(20))]);
}

/// A connection can be ended once, at once, and by its id alone; its key's end is seen through it.
pub async fn a_connection_ends_at_once(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let redemption = connect(&house, "token").await;
    assert!(!grant(&house, "token").await.expect("alive").is_revoked);
    let line = || audit(house.account, 40, "connection.revoke");
    assert_eq!(house.store.revoke_connection(redemption.id, at(40), line()).await, Ok(true));
    assert!(grant(&house, "token").await.expect("kept").is_revoked, "also for one just looked up");
    assert_eq!(house.store.revoke_connection(redemption.id, at(41), line()).await, Ok(false));
    let unknown = ConnectionId::from_bytes([9; 16]);
    assert_eq!(house.store.revoke_connection(unknown, at(41), line()).await, Ok(false));
    let other = connect(&house, "other").await;
    assert_eq!(house.store.revoke_key(house.key, at(50), audit(house.account, 50, "key.revoke")).await, Ok(true));
    let key_hash = grant(&house, "other").await.expect("kept").key_hash;
    let presented = house.store.find_credential(&key_hash).await.expect("storage works").expect("kept");
    assert!(presented.credential.is_revoked);
    assert_eq!(house.store.find_connection(other.id).await.expect("storage works").expect("kept").revoked_at, None);
}

/// A code whose key was revoked before it is used makes nothing.
pub async fn a_code_dies_with_its_key(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let made = code(&house, "code");
    house.store.insert_code(made.clone()).await.expect("storage works");
    house.store.revoke_key(house.key, at(15), audit(house.account, 15, "key.revoke")).await.expect("storage works");
    assert_eq!(house.store.redeem_code(use_of(&made, at(20), "token")).await, Ok(Redeemed::Refused));
    let nobodys = NewCode { key: KeyId::from_bytes([7; 16]), ..code(&house, "nobody's") };
    assert!(house.store.insert_code(nobodys).await.is_err(), "a code stands for a key that is there");
}

/// Connections are listed by project, oldest first, and know when they were last used.
pub async fn connections_are_listed_with_their_last_use(make: MakeEngine) {
    let engine = make().await;
    let (a, b) = (House::build(&engine.store).await, House::build(&engine.store).await);
    let (one, two) = (connect(&a, "one").await, connect(&a, "two").await);
    connect(&b, "three").await;
    assert_eq!(a.store.list_connections(b.project).await.map(|rows| rows.len()), Ok(1));
    let uses = vec![(one.id, at(60)), (two.id, at(50)), (ConnectionId::from_bytes([9; 16]), at(60))];
    a.store.note_connections(uses).await.expect("storage works");
    a.store.note_connections(vec![(one.id, at(55)), (two.id, at(51))]).await.expect("storage works");
    let rows = a.store.list_connections(a.project).await.expect("storage works");
    let mut last: Vec<_> = rows.iter().map(|row| (row.client.as_str(), row.last_used_at)).collect();
    last.sort();
    assert_eq!(last, [("chat", Some(at(51))), ("chat", Some(at(60)))]);
}

/// What ended long ago goes; what lives stays, and so does the client of what lives.
pub async fn ended_connections_and_unused_clients_go(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    for (id, second) in [("chat", 5), ("unused", 5), ("young", 500)] {
        house.store.save_client(client(id, second)).await.expect("storage works");
    }
    let ended = connect(&house, "ended").await;
    connect(&house, "alive").await;
    house.store.revoke_connection(ended.id, at(100), audit(house.account, 100, "x")).await.expect("storage works");
    assert_eq!(house.store.purge_oauth(at(10), at(5)).await, Ok(0));
    assert_eq!(house.store.purge_oauth(at(101), at(500)).await, Ok(4), "one connection, two codes, one client");
    assert_eq!(grant(&house, "ended").await, None);
    assert!(grant(&house, "alive").await.is_some());
    assert_eq!(house.store.find_client("unused").await, Ok(None));
    for id in ["chat", "young"] {
        assert!(house.store.find_client(id).await.expect("storage works").is_some(), "{id}");
    }
    house.store.purge_oauth(at(31 * 24 * HOUR), at(500)).await.expect("storage works");
    assert_eq!(grant(&house, "alive").await, None, "after its thirty days");
}
