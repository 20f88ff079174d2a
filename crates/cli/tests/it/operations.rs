//! What operators are handed: the dashboard, the alerts and their runbook, held against a real service and a real
//! Prometheus.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::process::{Done, Place, Service};

const RULES: &str = include_str!("../../../../ops/prometheus/mnemon.rules.yml");
const RUNBOOK: &str = include_str!("../../../../docs/operations/alerts.md");
const DASHBOARD: &str = include_str!("../../../../ops/grafana/mnemon.json");

/// How long Prometheus may take to see what it scrapes: it starts, and reads twice.
const PATIENCE: Duration = Duration::from_secs(60);

fn ops(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ops").join(path)
}

/// Runs a tool that `./check` installs.
fn tool(name: &str, arguments: &[&str]) -> Done {
    let output = Command::new(name).args(arguments).output();
    Done::of(output.unwrap_or_else(|error| panic!("{name}: {error}; on Debian: apt-get install prometheus")))
}

/// Sends a request on a connection of its own, and returns the answer's body.
pub(crate) fn request(address: &str, method: &str, path: &str, authorization: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap_or_else(|error| panic!("{address}: {error}"));
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.0\r\nhost: {address}\r\nauthorization: {authorization}\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(format!("{head}{body}").as_bytes()).expect("the request is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the answer is UTF-8");
    answer.split_once("\r\n\r\n").expect("an answer has a head").1.to_owned()
}

pub(crate) fn address_of(service: &Service) -> &str {
    service.url.trim_start_matches("http://")
}

pub(crate) fn operator_token(service: &Service) -> String {
    let line = service.welcome.lines().map(str::trim).find(|line| line.starts_with("mnp_"));
    line.expect("the first start prints the operator's token").to_owned()
}

/// The figures that a service shows after a call.
fn served() -> BTreeSet<String> {
    let place = Place::new();
    let service = place.serve(&[]);
    call(&service, "search", &json!({"query": "x"}));
    let page = request(address_of(&service), "GET", "/metrics", &format!("Bearer {}", operator_token(&service)), "");
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

fn call(service: &Service, tool: &str, arguments: &Value) {
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    request(address_of(service), "POST", "/mcp", &format!("Bearer {}", service.key()), &body.to_string());
}

/// The figures that a text of queries names.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let words = words.filter(|word| word.starts_with("mnemon_") || word.starts_with("process_"));
    let series = |word: &str| {
        let end = ["_bucket", "_sum", "_count"].into_iter().find_map(|end| word.strip_suffix(end));
        end.unwrap_or(word).to_owned()
    };
    words.map(series).collect()
}

fn dashboard_queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("the dashboard is JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    targets.map(|target| target["expr"].as_str().expect("a query").to_owned()).collect()
}

#[test]
fn the_dashboard_and_the_alerts_name_only_figures_that_are_served() {
    let (served, queries) = (served(), dashboard_queries().join(" "));
    for (what, text) in [("the alerts", RULES), ("the dashboard", queries.as_str())] {
        let named = named(text);
        assert!(named.len() > 10, "{what}: {named:?}");
        let unknown: Vec<&String> = named.difference(&served).collect();
        assert!(unknown.is_empty(), "{what}: {unknown:?}");
    }
}

#[test]
fn every_alert_has_its_paragraph_and_no_paragraph_is_about_nothing() {
    let alerts: BTreeSet<&str> = RULES.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let paragraphs: BTreeSet<&str> = RUNBOOK.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(alerts, paragraphs);
    for alert in alerts {
        assert!(RULES.contains(&format!("docs/operations/alerts.md#{}\n", alert.to_lowercase())), "{alert}");
    }
}

#[test]
fn the_alerts_fire_where_they_should_and_stay_quiet_right_below() {
    let check = |arguments: &[&str], file: &str| {
        let path = ops(file).display().to_string();
        let done = tool("promtool", &[arguments, &[path.as_str()]].concat());
        assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    };
    check(&["check", "rules"], "prometheus/mnemon.rules.yml");
    check(&["check", "config"], "prometheus/prometheus.yml");
    check(&["test", "rules"], "prometheus/mnemon.test.yml");
    // What a real Prometheus saw of a real outage.
    check(&["test", "rules"], "prometheus/outage.test.yml");
    let tests = std::fs::read_to_string(ops("prometheus/mnemon.test.yml")).expect("the tests of the alerts");
    for alert in RULES.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        for kind in ["fires", "stays quiet"] {
            assert!(tests.contains(&format!("- name: {alert} {kind}\n")), "{alert} has no test that it {kind}");
        }
    }
}

#[test]
fn the_guides_scrape_configuration_is_one() {
    let place = Place::new();
    let guide = include_str!("../../../../docs/operations/monitoring.md");
    let block = guide.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a configuration");
    let file = place.write("prometheus.yml", block).display().to_string();
    let done = tool("promtool", &["check", "config", &file]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    assert!(block.contains("job_name: mnemon"), "the alerts look for this job: {block}");
}

/// A running Prometheus, ended with the value.
struct Prometheus {
    child: Child,
    address: String,
}

impl Prometheus {
    /// Scrapes a service as the operator, every second.
    fn start(place: &Place, service: &Service) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
        let config = format!(
            "global:\n  scrape_interval: 1s\nrule_files: [{:?}]\nscrape_configs:\n- job_name: mnemon\n  authorization:\n    \
             credentials: {}\n  static_configs:\n  - targets: [{:?}]\n",
            ops("prometheus/mnemon.rules.yml").canonicalize().expect("the rules"),
            operator_token(service),
            address_of(service)
        );
        let config = place.write("prometheus.yml", &config);
        let mut command = Command::new("prometheus");
        command.arg(format!("--config.file={}", config.display()));
        command.arg(format!("--storage.tsdb.path={}", place.path().join("tsdb").display()));
        command.arg(format!("--web.listen-address={free}")).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("prometheus runs; on Debian: apt-get install prometheus");
        Self { child, address: free.to_string() }
    }

    /// The answer to a query; `None` until Prometheus listens.
    fn query(&self, query: &str) -> Option<Value> {
        TcpStream::connect(&self.address).ok()?;
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let body = request(&self.address, "GET", &format!("/api/v1/query?query={encoded}"), "none", "");
        // Until it has read its data, it answers with a sentence.
        serde_json::from_str(&body).ok()
    }

    /// The samples that a query finds, once there are any.
    fn samples(&self, query: &str) -> usize {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(answer) = self.query(query) {
                assert_eq!(answer["status"], "success", "{query}: {answer}");
                let found = answer["data"]["result"].as_array().map_or(0, Vec::len);
                if found > 0 {
                    return found;
                }
            }
            assert!(Instant::now() < deadline, "nothing is found by {query}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_query_of_the_dashboard_finds_something_in_a_real_prometheus() {
    let place = Place::new();
    let service = place.serve(&[]);
    call(&service, "remember", &json!({"content": "We deploy on Tuesdays at ten."}));
    call(&service, "search", &json!({"query": "deploy"}));
    call(&service, "search", &json!({"query": ""}));
    let prometheus = Prometheus::start(&place, &service);
    // Two scrapes, so that there is a rate.
    prometheus.samples("rate(process_cpu_seconds_total[1m])");
    let queries = dashboard_queries();
    assert!(queries.len() > 30, "{}", queries.len());
    for query in queries {
        let query = query.replace("$__rate_interval", "1m").replace("$instance", ".*");
        assert!(!query.contains('$'), "{query}");
        prometheus.samples(&query);
    }
    let rules = request(&prometheus.address, "GET", "/api/v1/rules", "none", "");
    let rules: Value = serde_json::from_str(&rules).expect("JSON");
    let rules = rules["data"]["groups"][0]["rules"].as_array().expect("the rules are loaded");
    assert!(rules.iter().all(|rule| rule["health"] != "err"), "{rules:?}");
}
