//! Keys: shown once, listed without their secret, revoked at once, rotated while two are valid.

use mnemon_core::Role;
use mnemon_testkit::MemberSpec;
use serde_json::{Value, json};

use super::{Office, pluck, status_of};

#[tokio::test]
async fn a_key_is_shown_once_and_its_secret_is_nowhere_after() {
    let office = Office::open().await;
    let keys = office.project("/keys");
    let body = json!({
        "member_id": office.admin_id.to_string(), "access": "read", "label": "phone", "expires_at": "2027-06-01T00:00:00Z",
    });
    let made = office.admin.manage("POST", &keys, body).await;
    let secret = made["key"].as_str().expect("a key");
    assert_eq!((secret.len(), &secret[..4]), (53, "mnm_"), "{secret}");
    assert_eq!(made.as_object().map(serde_json::Map::len), Some(2));
    let listed = office.get(&keys).await;
    let row = listed["keys"].as_array().and_then(|keys| keys.last()).expect("the new key, oldest first");
    let expected = json!({
        "key_id": made["key_id"], "project_id": office.organization.project.to_string(),
        "member_id": office.admin_id.to_string(), "access": "read", "label": "phone",
        "workspace": null, "expires_at": "2027-06-01T00:00:00Z", "revoked_at": null, "last_used_at": null,
        "created_at": "2027-01-15T08:00:00Z", "created_by": office.admin_id.to_string(),
        "hint": &secret[49..], "seen_at": null, "seen_client": null, "connections": 0,
    });
    assert_eq!(row, &expected);
    for path in [keys, office.account("/audit"), office.account("/members"), office.project("/usage")] {
        let shown = office.get(&path).await.to_string();
        assert!(!shown.contains(secret) && !shown.contains(&secret[4..47]), "{path}");
    }
    assert_eq!(status_of(&office.server.caller(secret)).await, 200);
}

/// The argument comes before the header, the header before the key, and the key before `default`; for a connection that
/// stands for the key too.
#[tokio::test]
async fn a_call_that_names_no_workspace_means_the_one_of_its_key() {
    let office = Office::open().await;
    let keys = office.project("/keys");
    let body = |name: &str| json!({"member_id": office.admin_id.to_string(), "access": "write", "workspace": name});
    let made = office.admin.manage("POST", &keys, body("  plans ")).await;
    let listed = office.get(&keys).await;
    assert_eq!(listed["keys"].as_array().and_then(|keys| keys.last()).expect("the new key")["workspace"], "plans");
    assert_eq!(office.admin.manage("GET", "/me/keys", Value::Null).await["keys"][1]["workspace"], "plans");
    let caller = office.server.caller(made["key"].as_str().expect("a key"));
    let saved_in = async |arguments: Value, headers: &[(&str, &str)]| {
        caller.call_with("remember", arguments, headers).await.structured()["workspace"].clone()
    };
    let header = [("mnemon-workspace", "notes")];
    assert_eq!(saved_in(json!({"content": "the pier is long"}), &[]).await, "plans");
    assert_eq!(saved_in(json!({"content": "the pier is wide"}), &header).await, "notes");
    assert_eq!(saved_in(json!({"content": "the pier is old", "workspace": "archive"}), &header).await, "archive");
    assert_eq!(caller.search_texts("pier").await, ["the pier is long"]);
    assert_eq!(office.admin.remember("the pier is grey").await["workspace"], "default");
    assert_eq!(caller.manage("GET", "/me", Value::Null).await["workspace"], "plans");
    let explained = caller.manage("POST", &office.project("/explain"), json!({"query": "pier"})).await;
    assert_eq!(explained["hits"][0]["content"], "the pier is long");
    let all = caller.call("forget", json!({"source_id": "nothing has this"})).await;
    assert_eq!(all.structured()["forgotten"], 0, "by source it means all workspaces, as ever");
    office.admin.manage("POST", &keys, body(&"ж".repeat(64))).await;
    const WRONG: &str = "workspace must be 1 to 64 characters long, without control characters";
    for wrong in ["ж".repeat(65), "a\nb".to_owned(), " ".to_owned()] {
        assert_eq!(office.admin.refusal("POST", &keys, body(&wrong)).await, (400, WRONG.to_owned()));
    }
}

#[tokio::test]
async fn a_key_is_rotated_with_two_alive_and_the_old_one_ends_at_the_next_request() {
    let office = Office::open().await;
    let body = json!({"member_id": office.admin_id.to_string(), "access": "write"});
    let made = office.admin.manage("POST", &office.project("/keys"), body).await;
    let fresh = office.server.caller(made["key"].as_str().expect("a key"));
    office.admin.remember("both keys work").await;
    assert_eq!(fresh.search_texts("keys").await, ["both keys work"]);
    let old = format!("/keys/{}", office.admin_key);
    assert_eq!(fresh.manage("DELETE", &old, Value::Null).await, json!({"revoked": true}));
    assert_eq!(status_of(&office.admin).await, 401);
    assert_eq!(office.admin.admin("GET", &office.account(""), Value::Null).await.status, 401);
    assert_eq!(fresh.search_texts("keys").await, ["both keys work"]);
    assert_eq!(fresh.refusal("DELETE", &old, Value::Null).await, (404, "no such key".to_owned()));
    let listed = fresh.manage("GET", &office.project("/keys"), Value::Null).await;
    assert_eq!(listed["keys"][0]["revoked_at"], "2027-01-15T08:00:00Z");
}

#[tokio::test]
async fn the_moment_of_the_last_use_appears_and_moves() {
    let office = Office::open().await;
    let last_used = async || {
        office.server.engine.flush_usage().await.expect("storage works");
        let listed = office.operator.manage("GET", &office.project("/keys"), Value::Null).await;
        listed["keys"][0]["last_used_at"].clone()
    };
    assert_eq!(last_used().await, Value::Null);
    office.admin.remember("used").await;
    assert_eq!(last_used().await, "2027-01-15T08:00:00Z");
    office.server.clock.advance(std::time::Duration::from_secs(90));
    office.admin.search("used").await;
    assert_eq!(last_used().await, "2027-01-15T08:01:30Z");
    assert_eq!(last_used().await, "2027-01-15T08:01:30Z", "looking is not using");
}

#[tokio::test]
async fn a_head_makes_lists_and_revokes_keys_of_its_own_people_only() {
    let office = Office::open().await;
    let account = office.organization.account;
    let sales = office.server.department(account, "Sales", None).await;
    let support = office.server.department(account, "Support", None).await;
    let spec = |role, department| MemberSpec { role, department: Some(department), ..MemberSpec::default() };
    let (own, head) = office.hire(spec(Role::Head, sales)).await;
    let (seller, _) = office.hire(spec(Role::Member, sales)).await;
    let (boss, _) = office.hire(spec(Role::Admin, sales)).await;
    let (helper, _) = office.hire(spec(Role::Member, support)).await;
    let keys = office.project("/keys");
    let body = |member: &str| json!({"member_id": member, "access": "write"});
    let listed = head.manage("GET", &keys, Value::Null).await;
    let mut holders = pluck(&listed["keys"], "member_id");
    holders.sort_unstable();
    let mut expected = [own.as_str(), seller.as_str(), boss.as_str()];
    expected.sort_unstable();
    assert_eq!(holders, expected);
    let made = head.manage("POST", &keys, body(&seller)).await;
    head.manage("DELETE", &format!("/keys/{}", made["key_id"].as_str().expect("an id")), Value::Null).await;
    let refused = head.refusal("POST", &keys, body(&boss)).await;
    assert_eq!(refused, (403, "a head may not act on an admin; ask an admin of the account".to_owned()));
    let boss_key = listed["keys"].as_array().and_then(|keys| keys.iter().find(|key| key["member_id"] == boss));
    let boss_key = boss_key.and_then(|key| key["key_id"].as_str()).expect("the key of the admin is listed");
    assert_eq!(head.refusal("DELETE", &format!("/keys/{boss_key}"), Value::Null).await, refused);
    assert_eq!(head.refusal("POST", &keys, body(&helper)).await.0, 404);
    assert_eq!(head.refusal("DELETE", &format!("/keys/{}", office.admin_key), Value::Null).await.0, 404);
}

/// Whose access ends can't make it last, neither by changing itself nor by a key or a member that stays.
#[tokio::test]
async fn nobody_lets_access_last_longer_than_their_own() {
    let office = Office::open().await;
    let account = format!("/accounts/{}", office.organization.account);
    let sales = office.server.department(office.organization.account, "Sales", None).await;
    let spec = |role| MemberSpec { role, department: Some(sales), ..MemberSpec::default() };
    let (seller, _) = office.hire(spec(Role::Member)).await;
    let (soon, sooner, later) = ("2027-01-15T09:00:00Z", "2027-01-15T08:30:00Z", "2027-01-15T09:00:01Z");
    for role in [Role::Head, Role::Admin] {
        let (own, leaver) = office.hire(spec(role)).await;
        let own = format!("{account}/members/{own}");
        office.admin.manage("PATCH", &own, json!({"access_until": soon})).await;
        let (members, keys) = (format!("{account}/members"), office.project("/keys"));
        let other = format!("{members}/{seller}");
        for (end, is_allowed) in
            [(json!(null), false), (json!(later), false), (json!(soon), true), (json!(sooner), true)]
        {
            let member =
                json!({"name": "New", "role": "member", "department_id": sales.to_string(), "access_until": end});
            let key = json!({"member_id": seller, "access": "read", "expires_at": end});
            office.admin.manage("PATCH", &other, json!({"access_until": null})).await;
            let tries =
                [("POST", &members, member), ("POST", &keys, key), ("PATCH", &other, json!({"access_until": end}))];
            for (method, path, body) in tries {
                // What stays as it is is not set.
                let is_same = method == "PATCH" && end.is_null();
                let answer = leaver.admin(method, path, body).await;
                assert_eq!(
                    answer.status < 300,
                    is_allowed || is_same,
                    "{role:?} {method} {path} {end} {}",
                    answer.text
                );
            }
        }
        assert_eq!(leaver.refusal("PATCH", &own, json!({"access_until": null})).await.0, 403);
        assert_eq!(leaver.refusal("PATCH", &own, json!({"access_until": later})).await.0, 403);
    }
}

/// A key that administers every day does not look idle; the figures of tool calls stay as they are.
#[tokio::test]
async fn administering_counts_as_using_a_key() {
    let office = Office::open().await;
    assert_eq!(office.get(&office.project("/keys")).await["keys"][0]["last_used_at"], Value::Null);
    office.server.engine.flush_usage().await.expect("storage works");
    assert!(office.get(&office.project("/keys")).await["keys"][0]["last_used_at"].is_string());
    let usage = office.get(&office.project("/usage")).await;
    assert!(usage["days"].as_array().is_none_or(|days| days.iter().all(|day| day["calls"] == 0)), "{usage}");
}

#[tokio::test]
async fn a_head_makes_keys_only_for_projects_that_it_has_a_key_of() {
    let office = Office::open().await;
    let (server, account) = (&office.server, office.organization.account);
    let sales = server.department(account, "Sales", None).await;
    let spec = |role| MemberSpec { role, department: Some(sales), ..MemberSpec::default() };
    let (head_id, head) = office.hire(spec(Role::Head)).await;
    let (seller, _) = office.hire(spec(Role::Member)).await;
    let other = server.project(account).await;
    let keys = format!("/projects/{other}/keys");
    let body = |member: &str| json!({"member_id": member, "access": "write"});
    const REFUSED: &str = "a head may make keys only for projects that it has a key of itself";
    for member in [&seller, &head_id] {
        assert_eq!(head.refusal("POST", &keys, body(member)).await, (403, REFUSED.to_owned()));
    }
    let expiring = json!({"member_id": head_id, "access": "read", "expires_at": "2027-01-15T08:00:01Z"});
    let given = office.admin.manage("POST", &keys, expiring).await;
    head.manage("POST", &keys, body(&seller)).await;
    server.clock.advance(std::time::Duration::from_secs(1));
    assert_eq!(head.refusal("POST", &keys, body(&seller)).await.0, 403, "that key has expired");
    let given_again = office.admin.manage("POST", &keys, body(&head_id)).await;
    head.manage("POST", &keys, body(&seller)).await;
    for key in [given, given_again] {
        let path = format!("/keys/{}", key["key_id"].as_str().expect("an id"));
        office.admin.manage("DELETE", &path, Value::Null).await;
    }
    assert_eq!(head.refusal("POST", &keys, body(&seller)).await.0, 403, "and that one was revoked");
}

#[tokio::test]
async fn members_see_every_key_in_their_name_who_made_it_and_when_it_was_used() {
    let office = Office::open().await;
    let (server, account) = (&office.server, office.organization.account);
    let (ben, caller) = office.hire(MemberSpec { name: "Ben", ..MemberSpec::default() }).await;
    let (_, colleague) = office.hire(MemberSpec::default()).await;
    let other = format!("/projects/{}/keys", server.project(account).await);
    let body = json!({"member_id": ben, "access": "read", "label": "behind my back"});
    let made = office.admin.manage("POST", &other, body.clone()).await;
    let by_operator = office.operator.manage("POST", &office.project("/keys"), body).await;
    server.caller(made["key"].as_str().expect("a key")).call("search", json!({"query": "anything"})).await;
    server.engine.flush_usage().await.expect("storage works");
    let listed = caller.manage("GET", "/me/keys", Value::Null).await;
    let keys = listed["keys"].as_array().expect("a list");
    assert_eq!(keys.len(), 3, "{listed}");
    let of = |id: &Value| keys.iter().find(|key| key["key_id"] == *id).expect("it is listed");
    let admin = office.admin_id.to_string();
    let shown = of(&made["key_id"]);
    assert_eq!((&shown["created_by"], &shown["label"]), (&json!(admin), &json!("behind my back")));
    assert!(shown["created_by_name"].is_string() && shown["last_used_at"].is_string(), "{shown}");
    let shown = of(&by_operator["key_id"]);
    assert_eq!((&shown["created_by"], &shown["last_used_at"]), (&Value::Null, &Value::Null));
    assert!(!listed.to_string().contains("mnm_"), "never a secret");
    let others = colleague.manage("GET", "/me/keys", Value::Null).await;
    assert_eq!(others["keys"].as_array().map(Vec::len), Some(1), "others see their own");
    let nobodys = office.operator.manage("GET", "/me/keys", Value::Null).await;
    assert_eq!(nobodys, json!({"keys": []}));
}

#[tokio::test]
async fn a_key_shows_its_last_characters_and_the_program_that_last_spoke_with_it() {
    let office = Office::open().await;
    let body = json!({"member_id": office.admin_id.to_string(), "access": "read", "label": "phone"});
    let made = office.admin.manage("POST", &office.project("/keys"), body).await;
    let key = made["key"].as_str().expect("a key");
    let shown = async || {
        let keys = office.get(&office.project("/keys")).await;
        let keys = keys["keys"].as_array().expect("a list").clone();
        keys.into_iter().find(|row| row["label"] == "phone").expect("listed")
    };
    let row = shown().await;
    assert_eq!(row["hint"], key[key.len() - 4..]);
    assert_eq!((&row["seen_at"], &row["seen_client"], &row["connections"]), (&Value::Null, &Value::Null, &json!(0)));
    let phone = office.server.caller(key);
    phone.manage("GET", "/me", Value::Null).await;
    assert_eq!(shown().await["seen_at"], Value::Null, "administration is not seen");
    phone.request("tools/list", json!({})).await;
    assert_eq!(shown().await["seen_at"], "2027-01-15T08:00:00Z", "any method is");
    office.server.clock.advance(std::time::Duration::from_secs(1));
    let hello = json!({"protocolVersion": "2025-11-25", "clientInfo": {"name": "claude-code", "version": "2.1"}});
    phone.request("initialize", hello).await;
    phone.request("ping", json!({})).await;
    let row = shown().await;
    assert_eq!((&row["seen_at"], &row["seen_client"]), (&json!("2027-01-15T08:00:01Z"), &json!("claude-code 2.1")));
    office.server.connect(key).await;
    assert_eq!(shown().await["connections"], 1);
    let own = phone.manage("GET", "/me/keys", Value::Null).await;
    let own: Vec<&Value> = own["keys"].as_array().expect("a list").iter().map(|row| &row["connections"]).collect();
    assert!(own.contains(&&json!(1)), "{own:?}");
}
