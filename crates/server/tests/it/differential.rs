//! The same random calls to a service on SQLite and to one on PostgreSQL: every answer equal, byte for byte, order and
//! scores included.

use std::collections::BTreeSet;
use std::time::Duration;

use mnemon_core::Role;
use mnemon_testkit::{Answer, MemberSpec, Organization, TestServer, TestServerOptions, TestStore};
use serde_json::{Value, json};

/// How many calls all runs make in total; each run has its own seed and a fresh service.
const CALLS_PER_RUN: usize = 2_600;

const WORDS: [&str; 24] = [
    "boiler",
    "valve",
    "cellar",
    "deploy",
    "Tuesday",
    "invoice",
    "kitchen",
    "budget",
    "server",
    "backup",
    "ключ",
    "подвал",
    "größe",
    "café",
    "release",
    "owner",
    "contract",
    "window",
    "attic",
    "schedule",
    "printer",
    "garden",
    "password policy",
    "the",
];
const WORKSPACES: [&str; 3] = ["default", "team", "Ключи"];

/// Numbers that look random and are the same in every run.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn percent(&mut self, of_hundred: usize) -> bool {
        self.below(100) < of_hundred
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    fn text(&mut self) -> String {
        let count = 2 + self.below(5);
        (0..count).map(|_| *self.pick(&WORDS)).collect::<Vec<_>>().join(" ")
    }
}

/// One service, with the people in it.
struct Side {
    server: TestServer,
    organization: Organization,
    keys: Vec<String>,
}

/// Both, and what calls may name.
struct Pair {
    sides: [Side; 2],
    members: Vec<String>,
    departments: Vec<String>,
    records: Vec<String>,
    chance: Chance,
    /// How many statuses were compared with those from storage, and which there were.
    checked: usize,
    statuses: BTreeSet<String>,
}

struct Call {
    method: &'static str,
    path: String,
    key: usize,
    idempotency_key: Option<String>,
    body: Value,
}

impl Side {
    async fn start(store: TestStore) -> (Self, Vec<String>, Vec<String>) {
        // A key's last use appears when figures are written, and the two services would write them at different
        // moments.
        let options = TestServerOptions { store, has_upkeep: false, ..TestServerOptions::default() };
        let server = TestServer::start_with(options).await;
        let organization = server.organization().await;
        let account = organization.account;
        let top = server.department(account, "Top", None).await;
        let left = server.department(account, "Left", Some(top)).await;
        let right = server.department(account, "Right", Some(top)).await;
        let spec = |name, role, department| MemberSpec { name, role, department, ..MemberSpec::default() };
        let specs = [
            spec("Ada", Role::Admin, None),
            spec("Hilda", Role::Head, Some(top)),
            spec("Lea", Role::Member, Some(left)),
            spec("Rob", Role::Member, Some(right)),
        ];
        let mut keys = Vec::new();
        for spec in specs {
            keys.push(server.member(&organization, spec).await.key);
        }
        let listed = server.caller(&keys[0]).manage("GET", &format!("/accounts/{account}/members"), Value::Null).await;
        let ids = listed["members"].as_array().expect("a list").iter();
        let members = ids.map(|member| member["id"].as_str().expect("an id").to_owned()).collect();
        // One more key, with a workspace of its own.
        let body = json!({"member_id": listed["members"][2]["id"], "access": "write", "workspace": "team"});
        let path = format!("/projects/{}/keys", organization.project);
        let made = server.caller(&keys[0]).manage("POST", &path, body).await;
        keys.push(made["key"].as_str().expect("a key").to_owned());
        let departments = [top, left, right].map(|id| id.to_string()).to_vec();
        (Self { server, organization, keys }, members, departments)
    }

    async fn answer(&self, call: &Call) -> Answer {
        // On PostgreSQL a save is first tried by what the node knows of the key. If that has changed, the save begins
        // again, under another id than on SQLite: the ids count. A look-up before it keeps them alike.
        if call.body["params"]["name"] == json!("remember") {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
            let list = Call { method: "POST", path: "/mcp".to_owned(), key: call.key, idempotency_key: None, body };
            self.send(&list).await;
        }
        self.send(call).await
    }

    async fn send(&self, call: &Call) -> Answer {
        let request = http::Request::builder()
            .method(call.method)
            .uri(&call.path)
            .header("host", "mnemon.test")
            .header("authorization", format!("Bearer {}", self.keys[call.key]))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        let request = match &call.idempotency_key {
            Some(key) => request.header("x-idempotency-key", key),
            None => request,
        };
        let body = if call.body.is_null() { String::new() } else { call.body.to_string() };
        self.server.deliver(request.body(body.into_bytes()).expect("a request")).await
    }
}

impl Pair {
    async fn start(seed: u64) -> Self {
        let (sqlite, members, departments) = Side::start(TestStore::Sqlite).await;
        let (postgres, ..) = Side::start(TestStore::Postgres).await;
        assert_eq!(sqlite.keys, postgres.keys, "both count the same ids");
        assert_eq!(sqlite.organization.project, postgres.organization.project);
        Self {
            sides: [sqlite, postgres],
            members,
            departments,
            records: Vec::new(),
            chance: Chance(seed),
            checked: 0,
            statuses: BTreeSet::new(),
        }
    }

    fn tool(&mut self, name: &str, arguments: Value) -> Call {
        let key = self.chance.below(self.sides[0].keys.len());
        let params = json!({"name": name, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        Call { method: "POST", path: "/mcp".to_owned(), key, idempotency_key: None, body }
    }

    fn admin(&self, method: &'static str, path: String, body: Value) -> Call {
        Call { method, path: format!("/admin/v1{path}"), key: 0, idempotency_key: None, body }
    }

    fn next_call(&mut self) -> Call {
        let (account, project) = (self.sides[0].organization.account, self.sides[0].organization.project);
        match self.chance.below(100) {
            0..=39 => self.save(),
            40..=69 => self.search(),
            70..=76 => {
                let memory_id = self.some_record();
                self.tool("forget", json!({"memory_id": memory_id}))
            }
            77..=78 => {
                let source_id = self.source();
                let mut arguments = json!({"source_id": source_id});
                if self.chance.percent(30) {
                    arguments["workspace"] = json!(self.chance.pick(&WORKSPACES));
                }
                self.tool("forget", arguments)
            }
            79..=83 => {
                let mut arguments = json!({"source_id": self.source()});
                if self.chance.percent(60) {
                    arguments["current_source_hash"] = json!(self.hash());
                } else if self.chance.percent(40) {
                    arguments["source_gone"] = json!(true);
                    if self.chance.percent(50) {
                        arguments["moved_to"] = json!(self.source());
                    }
                }
                if self.chance.percent(50) {
                    arguments["workspace"] = json!(self.chance.pick(&WORKSPACES));
                }
                self.tool("validate_memory", arguments)
            }
            84..=87 => {
                let record = self.some_record();
                self.admin("POST", format!("/records/{record}/restore"), Value::Null)
            }
            88 => {
                let name = *self.chance.pick(&["team", "%D0%9A%D0%BB%D1%8E%D1%87%D0%B8"]);
                let path = format!("/projects/{project}/workspaces/{name}");
                match self.chance.percent(50) {
                    true => self.admin("DELETE", path, Value::Null),
                    false => self.admin("POST", format!("{path}/restore"), Value::Null),
                }
            }
            89..=90 => self.change_member(),
            91 => {
                let record = self.some_record();
                self.admin("DELETE", format!("/records/{record}?purge=true"), Value::Null)
            }
            92..=93 => {
                let query =
                    *self.chance.pick(&["limit=5", "state=forgotten", "source_id=page-1", "workspace=team&limit=7"]);
                self.admin("GET", format!("/projects/{project}/records?{query}"), Value::Null)
            }
            94 => {
                let query = *self.chance.pick(&["", "?state=deleted"]);
                self.admin("GET", format!("/projects/{project}/workspaces{query}"), Value::Null)
            }
            95 => self.admin("GET", format!("/accounts/{account}/audit?limit=20"), Value::Null),
            96 => self.admin("GET", format!("/accounts/{account}/members"), Value::Null),
            97 => self.admin("GET", format!("/projects/{project}/keys"), Value::Null),
            98 => self.admin("GET", format!("/projects/{project}/usage"), Value::Null),
            _ if self.chance.percent(50) => {
                let body = match self.chance.percent(50) {
                    true => json!({"query": self.chance.text(), "budget": 500}),
                    false => json!({"budget": 400}),
                };
                self.admin("POST", format!("/projects/{project}/context"), body)
            }
            _ => {
                let body = json!({"query": self.chance.text(), "limit": 5});
                self.admin("POST", format!("/projects/{project}/explain"), body)
            }
        }
    }

    fn save(&mut self) -> Call {
        let mut arguments = json!({"content": self.chance.text()});
        self.place(&mut arguments);
        if self.chance.percent(40) {
            arguments["scope"] = json!(self.chance.pick(&["draft", "department", "shared"]));
        }
        if self.chance.percent(35) {
            arguments["source_id"] = json!(self.source());
            if self.chance.percent(70) {
                arguments["source_hash"] = json!(self.hash());
            }
        }
        if self.chance.percent(25) {
            arguments["fact_key"] = json!(self.chance.pick(&["boiler.room", "deploy.day", "ключ"]));
        }
        if self.chance.percent(15) {
            let day = 15 + self.chance.below(10);
            arguments["valid_until"] = json!(format!("2027-01-{day:02}T12:00:00Z"));
        }
        if self.chance.percent(15) {
            arguments["confidence"] = json!(self.chance.below(100) as f64 / 100.0);
        }
        if self.chance.percent(10) {
            let count = 1 + self.chance.below(3);
            arguments["supersedes"] = json!((0..count).map(|_| self.some_record()).collect::<Vec<_>>());
        }
        if self.chance.percent(10) {
            arguments["replace"] = json!(true);
        }
        let idempotency_key = self.chance.percent(15).then(|| format!("key-{}", self.chance.below(40)));
        Call { idempotency_key, ..self.tool("remember", arguments) }
    }

    fn search(&mut self) -> Call {
        let mut arguments = json!({"query": self.chance.text()});
        self.place(&mut arguments);
        if self.chance.percent(30) {
            arguments["limit"] = json!(1 + self.chance.below(50));
        }
        if self.chance.percent(20) {
            arguments["scope"] = json!(self.chance.pick(&["draft", "department", "shared"]));
        }
        if self.chance.percent(20) {
            arguments["exclude_stale"] = json!(true);
        }
        if self.chance.percent(10) {
            arguments["query"] = json!("*");
        }
        self.narrow(&mut arguments);
        self.tool("search", arguments)
    }

    /// Names a workspace, or leaves it to the key.
    fn place(&mut self, arguments: &mut Value) {
        if self.chance.percent(85) {
            arguments["workspace"] = json!(self.chance.pick(&WORKSPACES));
        }
    }

    /// Some of the filters of a search.
    fn narrow(&mut self, arguments: &mut Value) {
        if self.chance.percent(10) {
            arguments["fact_key"] = json!(self.chance.pick(&["boiler.room", "deploy.day", "ключ"]));
        }
        if self.chance.percent(10) {
            arguments["source_id"] = json!(self.source());
        }
        if self.chance.percent(10) {
            arguments["since"] = json!(format!("2027-01-{:02}T00:00:00Z", 14 + self.chance.below(6)));
        }
        if self.chance.percent(10) {
            arguments["until"] = json!(format!("2027-01-{:02}T00:00:00Z", 15 + self.chance.below(8)));
        }
        if self.chance.percent(10) {
            arguments["memory_ids"] = json!([self.some_record(), self.some_record()]);
        }
    }

    /// A change of who may see what.
    fn change_member(&mut self) -> Call {
        let account = self.sides[0].organization.account;
        let member = self.chance.pick(&self.members[1..]).clone();
        let department = self.chance.pick(&self.departments).clone();
        let body = match self.chance.below(3) {
            0 => json!({"department_id": department}),
            1 => json!({"department_id": null}),
            _ => json!({"role": self.chance.pick(&["head", "member"])}),
        };
        self.admin("PATCH", format!("/accounts/{account}/members/{member}"), body)
    }

    fn source(&mut self) -> String {
        format!("page-{}", self.chance.below(6))
    }

    fn hash(&mut self) -> String {
        format!("hash-{}", self.chance.below(3))
    }

    fn some_record(&mut self) -> String {
        if self.records.is_empty() {
            return "01949d3e-0000-7000-8000-000000000000".to_owned();
        }
        let at = self.chance.below(self.records.len());
        self.records[at].clone()
    }

    async fn play(&mut self) {
        if self.chance.percent(10) {
            let by = Duration::from_secs(self.chance.below(7_200) as u64);
            self.sides.iter().for_each(|side| side.server.clock.advance(by));
        }
        let call = self.next_call();
        let [on_sqlite, on_postgres] = [self.sides[0].answer(&call).await, self.sides[1].answer(&call).await];
        let told = |answer: &Answer| (answer.status, answer.text.clone());
        assert_eq!(told(&on_sqlite), told(&on_postgres), "{} {} {}", call.method, call.path, call.body);
        assert!(on_sqlite.status < 500, "{}", on_sqlite.text);
        let saved: Value = serde_json::from_str(&on_sqlite.text).unwrap_or_default();
        if let Some(id) = saved["result"]["structuredContent"]["id"].as_str() {
            self.records.push(id.to_owned());
        }
        let found = saved["result"]["structuredContent"]["result"].as_array().cloned().unwrap_or_default();
        if !found.is_empty() && self.chance.percent(40) {
            self.check_statuses(call.key, &found).await;
        }
    }

    /// A search takes statuses from the index, and the page of a record from storage: both say the same.
    async fn check_statuses(&mut self, key: usize, found: &[Value]) {
        for _ in 0..2 {
            let record = self.chance.pick(found).clone();
            let path = format!("/records/{}", record["id"].as_str().expect("an id"));
            let show = Call { key, ..self.admin("GET", path, Value::Null) };
            for side in &self.sides {
                let shown = side.send(&show).await;
                let detail: Value = serde_json::from_str(&shown.text).expect("JSON");
                assert_eq!(detail["status"], record["status"], "{}: {record}", shown.text);
            }
            self.statuses.insert(record["status"].to_string());
            self.checked += 1;
        }
    }
}

async fn run(seed: u64) {
    let mut pair = Pair::start(seed).await;
    for _ in 0..CALLS_PER_RUN {
        pair.play().await;
    }
    assert!(pair.records.len() > CALLS_PER_RUN / 5, "enough was saved to tell anything");
    assert!(pair.checked > CALLS_PER_RUN / 10 && pair.statuses.len() == 4, "{} {:?}", pair.checked, pair.statuses);
}

#[tokio::test(flavor = "multi_thread")]
async fn both_engines_answer_alike_first_run() {
    run(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_engines_answer_alike_second_run() {
    run(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_engines_answer_alike_third_run() {
    run(3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_engines_answer_alike_fourth_run() {
    run(4).await;
}
