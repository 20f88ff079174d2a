//! Accounts: created by the operator, paid for, suspended.

use serde_json::{Value, json};

use super::{Office, id_of, pluck, status_of};

#[tokio::test]
async fn an_account_is_built_from_nothing_over_the_api_alone() {
    let office = Office::open().await;
    let operator = &office.operator;
    let account = operator.manage("POST", "/accounts", json!({"name": " Coyote Works ", "plan": "pro"})).await;
    assert_eq!(
        (&account["name"], &account["plan"], &account["state"]),
        (&json!("Coyote Works"), &json!("pro"), &json!("active"))
    );
    assert_eq!((&account["suspended"], &account["paid_until"]), (&json!(false), &Value::Null));
    let account = format!("/accounts/{}", id_of(&account));
    let project = operator.manage("POST", &format!("{account}/projects"), json!({"name": "Rockets"})).await;
    let member = json!({"name": "Wile", "role": "admin"});
    let member = operator.manage("POST", &format!("{account}/members"), member).await;
    let key = json!({"member_id": id_of(&member), "access": "write", "label": "laptop"});
    let made = operator.manage("POST", &format!("/projects/{}/keys", id_of(&project)), key).await;
    let wile = office.server.caller(made["key"].as_str().expect("a key"));
    wile.remember("rockets need fuel").await;
    assert_eq!(wile.search("fuel").await[0]["author"], "Wile");
    assert_eq!(wile.manage("GET", &account, Value::Null).await["name"], "Coyote Works");
}

#[tokio::test]
async fn an_account_without_a_plan_does_nothing_until_one_is_activated() {
    let office = Office::open().await;
    let made = office.operator.manage("POST", "/accounts", json!({"name": "Later", "plan": null})).await;
    assert_eq!((&made["plan"], &made["state"]), (&Value::Null, &json!("none")));
    let path = format!("/accounts/{}/subscription", id_of(&made));
    let until = "2027-01-15T08:00:01Z";
    let paid = office.operator.manage("PUT", &path, json!({"plan": "starter", "paid_until": until})).await;
    assert_eq!(paid["plan"], "starter");
    assert_eq!(paid["paid_until"], until);
    assert_eq!(paid["state"], "active");
    let past = json!({"plan": "starter", "paid_until": "2027-01-15T08:00:00Z"});
    assert_eq!(office.operator.manage("PUT", &path, past).await["state"], "grace");
    let long_past = json!({"plan": "starter", "paid_until": "2027-01-01T08:00:00Z"});
    assert_eq!(office.operator.manage("PUT", &path, long_past).await["state"], "suspended");
}

#[tokio::test]
async fn an_empty_request_does_not_end_a_subscription() {
    let office = Office::open().await;
    for body in [Value::Null, json!({}), json!({"plan": null}), json!({"paid_until": null})] {
        let refused = office.operator.refusal("PUT", &office.account("/subscription"), body.clone()).await;
        assert_eq!(refused.0, 400, "{body}");
    }
    assert_eq!(office.get(&office.account("")).await["plan"], "unlimited");
}

#[tokio::test]
async fn a_changed_plan_holds_for_the_next_call() {
    let office = Office::open().await;
    let set = async |body: Value| {
        office.operator.manage("PUT", &office.account("/subscription"), body).await;
    };
    office.admin.remember("while paid").await;
    set(json!({"plan": "free", "paid_until": "2027-01-15T08:00:00Z"})).await;
    let refused = office.admin.call("remember", json!({"content": "in grace"})).await;
    assert!(refused.text().contains("read-only during the grace period"), "{}", refused.text());
    set(json!({"plan": "free"})).await;
    office.admin.remember("paid again").await;
}

#[tokio::test]
async fn a_suspended_account_is_refused_from_the_next_request_on_and_comes_back_whole() {
    let office = Office::open().await;
    let (_, member) = office.hire(mnemon_testkit::MemberSpec::default()).await;
    member.remember("kept through the suspension").await;
    let path = office.account("/suspension");
    let suspended = office.operator.manage("PUT", &path, json!({"suspended": true})).await;
    assert_eq!((&suspended["suspended"], &suspended["plan"]), (&json!(true), &json!("unlimited")));
    for caller in [&member, &office.admin] {
        assert_eq!(status_of(caller).await, 401);
        assert_eq!(caller.admin("GET", &office.account(""), Value::Null).await.status, 401);
    }
    office.operator.manage("PUT", &path, json!({"suspended": false})).await;
    assert_eq!(member.search_texts("suspension").await, ["kept through the suspension"]);
    assert_eq!(status_of(&office.admin).await, 200);
}

#[tokio::test]
async fn accounts_are_listed_page_by_page() {
    let office = Office::open().await;
    for name in ["North", "South", "Berlin", "Paris"] {
        office.operator.manage("POST", "/accounts", json!({"name": name})).await;
    }
    let all = office.operator.manage("GET", "/accounts", Value::Null).await;
    let ids: Vec<String> = pluck(&all["accounts"], "id").into_iter().map(str::to_owned).collect();
    assert_eq!((ids.len(), &all["next"]), (5, &Value::Null));
    let (mut seen, mut path) = (Vec::new(), "/accounts?limit=2".to_owned());
    loop {
        let page = office.operator.manage("GET", &path, Value::Null).await;
        let shown = pluck(&page["accounts"], "id");
        assert!(shown.len() <= 2);
        seen.extend(shown.into_iter().map(str::to_owned));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/accounts?limit=2&after={next}");
    }
    assert_eq!(seen, ids);
}

#[tokio::test]
async fn the_operator_sees_how_large_accounts_are_and_what_plans_allow() {
    let office = Office::open().await;
    office.admin.remember("one").await;
    office.admin.call("remember", json!({"content": "two", "scope": "draft"})).await.structured();
    let accounts = office.operator.manage("GET", "/accounts", Value::Null).await;
    let own = accounts["accounts"].as_array().expect("a list").iter();
    let own = own.clone().find(|row| row["id"] == office.organization.account.to_string()).expect("listed");
    assert_eq!((&own["projects"], &own["records"]), (&json!(1), &json!(2)));
    assert_eq!(office.get(&office.account("")).await.get("records"), None, "admins count what they see");
    let plans = office.operator.manage("GET", "/plans", Value::Null).await;
    assert_eq!(pluck(&plans["plans"], "name"), ["free", "starter", "pro", "enterprise", "unlimited"]);
    assert_eq!(plans["plans"][4]["records_max"], Value::Null);
}
