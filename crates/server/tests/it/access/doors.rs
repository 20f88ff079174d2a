//! The tables of the other routes: the agent's, where all callers have their own data, and OAuth's, which are open to
//! all and must not depend on the caller.

use mnemon_testkit::{Answer, Caller};

use super::without_memory;
use super::world::{WHO, World};

/// nobody, revoked, expired, stranger, member, rival, head, reader, elsewhere, admin, operator
const OWN: [u16; 11] = [401, 401, 401, 200, 200, 200, 200, 200, 200, 200, 401];
/// Somebody else's history is absent, for its author's admin and head too.
const ANOTHERS: [u16; 11] = [401, 401, 401, 404, 404, 404, 404, 404, 404, 404, 401];
const OWN_WRITTEN: [u16; 11] = [401, 401, 401, 200, 200, 200, 200, 403, 200, 200, 401];

const AGENT: [(&str, &str, [u16; 11]); 5] = [
    ("GET", "/agent/v1/sessions", OWN),
    ("GET", "/agent/v1/sessions/{client}/{name}", ANOTHERS),
    ("POST", "/agent/v1/sessions/{client}/{name}", OWN_WRITTEN),
    ("DELETE", "/agent/v1/sessions/{client}/{name}", ANOTHERS),
    ("GET", "/agent/v1/sessions/{client}/{name}/text", ANOTHERS),
];

/// What is sent to each OAuth route, and the answer that everybody gets.
const OAUTH: [(&str, &str, &str, u16); 12] = [
    ("GET", "/.well-known/oauth-protected-resource", "", 200),
    ("GET", "/.well-known/oauth-protected-resource/mcp", "", 200),
    ("GET", "/.well-known/oauth-authorization-server", "", 200),
    ("GET", "/.well-known/oauth-authorization-server/mcp", "", 200),
    ("GET", "/.well-known/openid-configuration", "", 200),
    ("GET", "/.well-known/openid-configuration/mcp", "", 200),
    ("GET", "/mcp/.well-known/openid-configuration", "", 200),
    ("POST", "/register", "{}", 400),
    ("POST", "/token", "grant_type=authorization_code&code=none", 401),
    ("POST", "/revoke", "token=none", 200),
    ("GET", "/authorize", "", 400),
    ("POST", "/authorize", "answer=no", 400),
];

async fn knock(caller: &Caller, method: &str, path: &str, kind: &str, body: &str) -> Answer {
    let bearer = format!("Bearer {}", caller.key);
    let headers = [("content-type", kind), ("authorization", bearer.as_str())];
    let sent = if caller.key.is_empty() { &headers[..1] } else { &headers[..] };
    caller.send(method, path, sent, body.to_owned()).await
}

#[tokio::test]
async fn every_door_of_the_agent_and_of_oauth_has_a_row() {
    let sorted = |mut rows: Vec<(&'static str, String)>| {
        rows.sort();
        rows
    };
    let agent = AGENT.iter().map(|(method, path, _)| (*method, (*path).to_owned())).collect();
    assert_eq!(sorted(agent), sorted(without_memory(mnemon_server::agent_route_table())));
    let oauth = OAUTH.iter().map(|(method, path, ..)| (*method, (*path).to_owned())).collect();
    assert_eq!(sorted(oauth), sorted(without_memory(mnemon_server::oauth_route_table())));
}

/// The histories are the author's. A caller who may not know of them gets, to the byte, the answer for none.
#[tokio::test]
async fn everybody_tries_every_door_of_the_agent() {
    let world = World::make().await;
    for (method, path, expected) in AGENT {
        // More than thirty rejected credentials in a minute would get 429 (`refused.rs`).
        world.server.clock.advance(std::time::Duration::from_secs(60));
        for (who, expected) in WHO.into_iter().zip(expected) {
            let caller = world.caller(who);
            let theirs = format!("theirs{}", world.serial());
            let made = format!("/agent/v1/sessions/codex/{theirs}?offset=0");
            assert_eq!(knock(&world.author, "POST", &made, "text/plain", "{}\n").await.status, 200);
            let offset = if method == "POST" { "?offset=0" } else { "" };
            let fill = |name: &str| format!("{}{offset}", path.replace("{client}", "codex").replace("{name}", name));
            let answer = knock(caller, method, &fill(&theirs), "text/plain", "{}\n").await;
            assert_eq!(answer.status, expected, "{who}: {method} {path} {}", answer.text);
            if expected != 200 {
                let absent = knock(caller, method, &fill("never-was"), "text/plain", "{}\n").await;
                assert_eq!((absent.status, absent.text), (answer.status, answer.text), "{who}: {method} {path}");
            }
            let kept = format!("/agent/v1/sessions/codex/{theirs}/text");
            let kept = knock(&world.author, "GET", &kept, "text/plain", "").await;
            assert_eq!(kept.json()["text"], "{}\n", "{who}: {method} {path} does not touch the author's");
        }
    }
}

#[tokio::test]
async fn the_doors_of_oauth_do_not_care_who_knocks() {
    let world = World::make().await;
    for (method, path, body, expected) in OAUTH {
        let kind = if body.starts_with('{') { "application/json" } else { "application/x-www-form-urlencoded" };
        let mut texts = Vec::new();
        for who in WHO {
            let answer = knock(world.caller(who), method, path, kind, body).await;
            assert_eq!(answer.status, expected, "{who}: {method} {path} {}", answer.text);
            texts.push(answer.text);
        }
        texts.dedup();
        assert_eq!(texts.len(), 1, "{method} {path}");
    }
}
