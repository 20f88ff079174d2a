//! Who sees what inside one project: drafts, departments and shared records, in every tool. What somebody may not see
//! behaves as if it did not exist.

use mnemon_core::{DepartmentId, Role};
use mnemon_testkit::{Caller, MemberSpec, Organization, TestServer};
use serde_json::{Value, json};

use crate::errors::reason;

/// company ─ engineering ─ platform, and company ─ sales.
struct Company {
    server: TestServer,
    organization: Organization,
    /// A head of the company, a member of the company, head and member of engineering, member of platform, member and
    /// head of sales, and somebody in no department.
    people: Vec<(&'static str, Caller)>,
}

impl Company {
    async fn build() -> Self {
        let server = TestServer::start().await;
        let organization = server.organization().await;
        let account = organization.account;
        let company = server.department(account, "Company", None).await;
        let engineering = server.department(account, "Engineering", Some(company)).await;
        let platform = server.department(account, "Platform", Some(engineering)).await;
        let sales = server.department(account, "Sales", Some(company)).await;
        let rows: [(&'static str, Role, Option<DepartmentId>); 8] = [
            ("chief", Role::Head, Some(company)),
            ("clerk", Role::Member, Some(company)),
            ("lead", Role::Head, Some(engineering)),
            ("engineer", Role::Member, Some(engineering)),
            ("operator", Role::Member, Some(platform)),
            ("seller", Role::Member, Some(sales)),
            ("sales head", Role::Head, Some(sales)),
            ("visitor", Role::Admin, None),
        ];
        let mut people = Vec::new();
        for (name, role, department) in rows {
            let spec = MemberSpec { name, role, department, ..MemberSpec::default() };
            people.push((name, server.member(&organization, spec).await));
        }
        Self { server, organization, people }
    }

    fn person(&self, name: &str) -> &Caller {
        &self.people.iter().find(|(person, _)| *person == name).expect("works here").1
    }
}

const SCOPES: [&str; 3] = ["draft", "department", "shared"];

/// Who sees what the engineer saves under a scope.
fn sees(person: &str, scope: &str) -> bool {
    match scope {
        "draft" => person == "engineer",
        "department" => matches!(person, "engineer" | "lead" | "operator" | "chief"),
        _ => true,
    }
}

async fn save(caller: &Caller, arguments: Value) -> Value {
    caller.call("remember", arguments).await.structured().clone()
}

#[tokio::test]
async fn search_and_validate_show_each_person_its_own_view() {
    let company = Company::build().await;
    let engineer = company.person("engineer");
    engineer.remember("the workspace is there for everybody").await;
    for scope in SCOPES {
        let content = format!("turbine fact of scope {scope}");
        save(engineer, json!({"content": content, "scope": scope, "source_id": "turbine"})).await;
    }
    for (person, caller) in &company.people {
        let mut seen: Vec<String> = caller
            .search("turbine")
            .await
            .iter()
            .map(|record| record["scope"].as_str().unwrap_or_default().to_owned())
            .collect();
        seen.sort();
        let mut expected: Vec<&str> = SCOPES.into_iter().filter(|scope| sees(person, scope)).collect();
        expected.sort_unstable();
        assert_eq!(seen, expected, "{person}");
        let validated = caller.call("validate_memory", json!({"source_id": "turbine"})).await;
        assert_eq!(validated.structured()["checked"], expected.len(), "{person}");
        for scope in SCOPES {
            let found = caller.call("search", json!({"query": "turbine", "scope": scope})).await;
            let count = found.structured()["result"].as_array().map(Vec::len);
            assert_eq!(count, Some(usize::from(sees(person, scope))), "{person} {scope}");
        }
    }
}

#[tokio::test]
async fn forgetting_what_one_may_not_see_is_forgetting_what_is_not_there() {
    let company = Company::build().await;
    let engineer = company.person("engineer");
    for scope in ["draft", "department"] {
        for (person, caller) in company.people.iter().filter(|(person, _)| !sees(person, scope)) {
            let record = save(engineer, json!({"content": "kept", "scope": scope, "source_id": "s"})).await;
            let id = record["id"].as_str().expect("an id");
            let answer = caller.call("forget", json!({"memory_id": id})).await;
            assert_eq!(reason("forget", &answer), format!("memory '{id}' not found"), "{person} {scope}");
            let by_source = caller.call("forget", json!({"source_id": "s"})).await;
            assert_eq!(by_source.structured()["forgotten"], 0, "{person} {scope}");
        }
    }
    assert_eq!(company.person("engineer").search("kept").await.len(), 2);
    // A caller who sees a department's record may forget it; forgetting by source takes only what the caller sees.
    let gone = company.person("operator").call("forget", json!({"source_id": "s"})).await;
    assert_eq!(gone.structured()["forgotten"], 1);
    assert_eq!(company.person("engineer").search("kept").await[0]["scope"], "draft");
}

#[tokio::test]
async fn a_workspace_of_hidden_records_is_not_active() {
    let company = Company::build().await;
    let engineer = company.person("engineer");
    let search = |workspace: &str| json!({"query": "plan", "workspace": workspace});
    for scope in SCOPES {
        save(engineer, json!({"content": "the plan", "scope": scope, "workspace": scope})).await;
    }
    for (person, caller) in &company.people {
        for scope in SCOPES {
            let answer = caller.call("search", search(scope)).await;
            if sees(person, scope) {
                assert_eq!(answer.structured()["result"].as_array().map(Vec::len), Some(1), "{person} {scope}");
            } else {
                assert_eq!(reason("search", &answer), format!("workspace '{scope}' is not active"), "{person}");
            }
        }
    }
    // What somebody else saves there later is visible, and nothing else.
    let visitor = company.person("visitor");
    save(visitor, json!({"content": "the plan of a visitor", "workspace": "draft"})).await;
    for (person, expected) in [("visitor", 1), ("seller", 1), ("engineer", 2)] {
        let answer = company.person(person).call("search", search("draft")).await;
        assert_eq!(answer.structured()["result"].as_array().map(Vec::len), Some(expected), "{person}");
    }
}

#[tokio::test]
async fn hidden_records_are_neither_duplicates_nor_rivals() {
    let company = Company::build().await;
    let (engineer, seller) = (company.person("engineer"), company.person("seller"));
    let claim = |content: &str, scope: &str| json!({"content": content, "scope": scope, "fact_key": "pump.size"});
    let hidden = save(engineer, claim("the pump is large", "draft")).await;
    let same = save(seller, claim("the pump is large", "draft")).await;
    assert_eq!((same.get("duplicate"), &same["status"]), (None, &json!("unverified")));
    assert_ne!(same["id"], hidden["id"]);
    let shared = save(seller, claim("the pump is small", "shared")).await;
    assert_eq!(shared["conflicts_with"], json!([same["id"]]), "its own draft, and not the hidden one");
    // Each caller sees only conflicts between records that it can see.
    for (person, expected) in [("engineer", "conflict"), ("seller", "conflict"), ("visitor", "unverified")] {
        let found = company.person(person).call("search", json!({"query": "pump", "scope": "shared"})).await;
        assert_eq!(found.structured()["result"][0]["status"], expected, "{person}");
    }
    let validate = json!({"source_id": "pump"});
    save(engineer, json!({"content": "pump note", "source_id": "pump", "fact_key": "n"})).await;
    save(engineer, json!({"content": "pump note, revised", "scope": "department", "fact_key": "n"})).await;
    for (person, conflicts) in [("operator", 1), ("seller", 0)] {
        let validated = company.person(person).call("validate_memory", validate.clone()).await;
        assert_eq!(validated.structured()["conflict_count"], conflicts, "{person}");
    }
}

#[tokio::test]
async fn a_hidden_save_of_a_source_changes_nothing_for_others() {
    let company = Company::build().await;
    let (engineer, visitor) = (company.person("engineer"), company.person("visitor"));
    let of = |content: &str, scope: &str, hash: &str| json!({"content": content, "scope": scope, "source_id": "file", "source_hash": hash});
    save(engineer, of("valve fact", "shared", "h1")).await;
    let before = visitor.call("validate_memory", json!({"source_id": "file"})).await;
    for scope in ["draft", "department"] {
        save(engineer, of("valve remark", scope, "h2")).await;
        let seen = visitor.call("validate_memory", json!({"source_id": "file"})).await;
        assert_eq!(seen.result, before.result, "{scope}");
        assert_eq!(visitor.search("valve").await[0]["status"], "unverified", "{scope}");
    }
    let own = engineer.call("search", json!({"query": "valve fact", "scope": "shared"})).await;
    assert_eq!(own.structured()["result"][0]["status"], "stale", "the author knows");
    // A source known only through a hidden record is unknown.
    let mut secret = of("rotor remark", "draft", "h");
    secret["source_id"] = json!("secret file");
    save(engineer, secret).await;
    let seen = visitor.call("validate_memory", json!({"source_id": "secret file"})).await;
    assert_eq!(seen.structured()["current_source_hash"], Value::Null);
}

#[tokio::test]
async fn hidden_records_do_not_move_scores_or_order() {
    let company = Company::build().await;
    let (engineer, visitor) = (company.person("engineer"), company.person("visitor"));
    for text in ["boiler pressure is four bar", "boiler", "the pressure gauge hangs beside the boiler door"] {
        visitor.remember(text).await;
    }
    let before = visitor.call("search", json!({"query": "boiler pressure"})).await;
    for n in 0..100 {
        let scope = if n % 2 == 0 { "draft" } else { "department" };
        save(engineer, json!({"content": format!("boiler pressure log {n} boiler"), "scope": scope})).await;
    }
    assert_eq!(visitor.call("search", json!({"query": "boiler pressure"})).await.result, before.result);
}

#[tokio::test]
async fn an_authors_draft_is_found_with_any_key_of_that_author_and_no_other() {
    let company = Company::build().await;
    let member = company.server.new_member(&company.organization, MemberSpec::default()).await;
    let access = mnemon_core::Access::Write;
    let (_, laptop) = company.server.key(&company.organization, member, access, None).await;
    let (_, phone) = company.server.key(&company.organization, member, access, None).await;
    save(&laptop, json!({"content": "half a thought", "scope": "draft"})).await;
    assert_eq!(phone.search("thought").await.len(), 1);
    assert_eq!(save(&phone, json!({"content": "half a thought", "scope": "draft"})).await["duplicate"], true);
}
