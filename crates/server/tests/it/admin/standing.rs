//! How a project stands, after whatever people did: the counts are kept, the lists are read, and both say the same.

use std::collections::BTreeMap;
use std::time::Duration;

use mnemon_testkit::{Caller, MemberSpec};
use serde_json::{Value, json};

use super::{Office, pluck};

const STEPS: u64 = 100;

/// The next of a row of numbers that look like chance and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[tokio::test]
async fn counts_are_what_the_lists_say_after_every_act() {
    let office = Office::open().await;
    let (_, member) = office.hire(MemberSpec::default()).await;
    let people = [&office.admin, &member];
    let mut dice = Dice(16);
    let mut ids: Vec<String> = Vec::new();
    for step in 0..STEPS {
        let caller = people[dice.below(2) as usize];
        act(&office, caller, &mut dice, step, &mut ids).await;
        for person in people {
            compare(&office, person, step).await;
        }
    }
    assert!(ids.len() > 30, "{}", ids.len());
}

async fn act(office: &Office, caller: &Caller, dice: &mut Dice, step: u64, ids: &mut Vec<String>) {
    let (workspace, source, hash) = (["default", "team"][dice.below(2) as usize], dice.below(3), dice.below(3));
    let chosen = (!ids.is_empty()).then(|| ids[dice.below(ids.len() as u64) as usize].clone());
    match (dice.below(12), chosen) {
        (0..=5, _) | (_, None) => {
            let mut call = json!({"content": format!("thought {}", dice.below(30)), "workspace": workspace});
            if dice.below(2) == 0 {
                call["fact_key"] = format!("k{}", dice.below(3)).into();
            }
            if dice.below(2) == 0 {
                call["source_id"] = format!("s{source}").into();
                call["source_hash"] = format!("h{hash}").into();
            }
            if dice.below(3) == 0 {
                call["scope"] = "draft".into();
            }
            if dice.below(5) == 0 {
                let end = office.server.engine.now().as_second() + 30 + dice.below(90) as i64;
                call["valid_until"] = jiff::Timestamp::from_second(end).expect("a moment").to_string().into();
            }
            let saved = caller.call("remember", call).await;
            ids.extend(saved.structured()["id"].as_str().map(str::to_owned));
        }
        (6, Some(id)) => drop(caller.call("forget", json!({"memory_id": id})).await),
        (7, Some(id)) => {
            office.admin.admin("POST", &format!("/records/{id}/restore"), json!({})).await;
        }
        (8 | 9, _) => {
            let call = json!({"source_id": format!("s{source}"), "current_source_hash": format!("h{hash}")});
            caller.call("validate_memory", call).await.structured();
        }
        (10, _) => office.server.clock.advance(Duration::from_secs(20)),
        (_, Some(id)) if step.is_multiple_of(3) => {
            office.admin.admin("DELETE", &format!("/records/{id}?purge=true"), Value::Null).await;
        }
        _ => {
            let path = office.project(&format!("/workspaces/{workspace}"));
            office.admin.admin("DELETE", &path, Value::Null).await;
            if dice.below(2) == 0 {
                office.admin.admin("POST", &format!("{path}/restore"), json!({})).await;
            }
        }
    }
}

/// Compares counts and filtered lists with the list of everything, whose statuses are derived one by one.
async fn compare(office: &Office, person: &Caller, step: u64) {
    let get = async |rest: &str| person.manage("GET", &office.project(rest), Value::Null).await;
    let all = get("/records?limit=1000").await;
    let mut expected: BTreeMap<(String, String), u64> = BTreeMap::new();
    for record in all["records"].as_array().expect("a list") {
        let text = |name: &str| record[name].as_str().expect("a word").to_owned();
        *expected.entry((text("workspace"), text("status"))).or_default() += 1;
    }
    let standing = get("/standing").await;
    let mut told: BTreeMap<(String, String), u64> = BTreeMap::new();
    for workspace in standing["workspaces"].as_array().expect("a list") {
        for (status, count) in workspace["by_status"].as_object().expect("counts") {
            let count = count.as_u64().expect("a count");
            if count > 0 {
                told.insert((workspace["name"].as_str().expect("a name").to_owned(), status.clone()), count);
            }
        }
    }
    assert_eq!(told, expected, "step {step}");
    for status in ["verified", "unverified", "stale", "conflict"] {
        let fitting = all["records"].as_array().expect("a list").iter().filter(|record| record["status"] == status);
        let fitting: Vec<&str> = fitting.filter_map(|record| record["id"].as_str()).collect();
        let listed = get(&format!("/records?limit=1000&status={status}")).await;
        assert_eq!(pluck(&listed["records"], "id"), fitting, "{status} at step {step}");
    }
}
