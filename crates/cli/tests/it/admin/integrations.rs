//! `mnemon integration`, as an admin and the operator type it, and the keys that credentials are encrypted with.

use mnemon_testkit::{Caller, TestUpstream, Trick, read_tool};
use serde_json::json;
use tokio::runtime::Runtime;

use super::house::{House, masked};
use crate::process::{Done, NAMED_CONFIG, Place};

const CANARY: &str = "upstream-secret-0815-canary";

/// An upstream on its own runtime, because the tests here are not async.
struct Upstream {
    server: TestUpstream,
    runtime: Runtime,
}

impl Upstream {
    fn start() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let server = runtime.block_on(TestUpstream::start());
        Self { server, runtime }
    }
}

fn settings(key: &str, previous: &str) -> String {
    format!(
        "[outgoing.allowed_hosts]\n\"127.0.0.1\" = {{ accounts = [\"*\"] }}\n[gateway]\nencryption_key = \"{key}\"\n\
         previous_encryption_key = \"{previous}\"\n"
    )
}

fn house() -> House {
    let place = Place::new();
    place.write(NAMED_CONFIG, &settings(&"0f".repeat(32), ""));
    House::open_in(place)
}

fn add(house: &House, upstream: &Upstream, more: &[&str]) -> Done {
    house.admin(&[&["integration", "add", "host", "--endpoint", &upstream.server.url], more].concat())
}

#[test]
fn an_admin_adds_looks_accepts_switches_and_removes() {
    let (house, upstream) = (house(), Upstream::start());
    let url = &upstream.server.url;
    let added = add(&house, &upstream, &["--allow", "echo", "--title", "Code host"]);
    let expected = format!(
        "ok {url} answers: test upstream 1, protocol <day>\nok 1 of 2 tools are offered: echo\n\
         1 not offered: the upstream does not mark them read-only: write"
    );
    assert_eq!(masked(&added), expected);
    let table = "NAME TITLE URL COMMAND ENABLED OFFERED WAITING HAS CREDENTIAL";
    assert_eq!(
        masked(&house.admin(&["integration", "list"])),
        format!("{table}\nhost Code host {url} - true 1 0 false")
    );
    let mut changed = read_tool("echo");
    changed["description"] = json!("Reads something else.");
    upstream.server.set_tools(vec![changed]);
    let tested = masked(&house.admin(&["integration", "test", "host"]));
    let held = "no 0 of 1 tools are offered: none\n1 changed, held back: review with `tools`, then `accept`: echo\n\
                1 no longer there: write";
    assert!(tested.ends_with(held), "{tested}");
    let tools = masked(&house.admin(&["integration", "tools", "host"]));
    let rows = "NAME STATE TITLE DESCRIPTION\necho changed Reads echo Reads something else.\n\
                write gone Reads write Reads the write of something.";
    assert_eq!(tools, rows);
    let accepted = masked(&house.admin(&["integration", "accept", "host"]));
    assert_eq!(accepted, "echo (changed): Reads something else.\naccepted 1");
    assert_eq!(masked(&house.admin(&["integration", "accept", "host"])), "no tools are waiting to be accepted");
    assert_eq!(masked(&house.admin(&["integration", "disable", "host"])), "disabled");
    let tested = masked(&house.admin(&["integration", "test", "host"]));
    assert!(tested.ends_with("no it is disabled; enable it with `mnemon integration enable host`"), "{tested}");
    assert_eq!(masked(&house.admin(&["integration", "enable", "host"])), "enabled");
    let shown = house.admin_json(&["integration", "list"]);
    assert_eq!((&shown["integrations"][0]["offered"], &shown["tool_names"]), (&json!(1), &json!("dots")));
    let named = masked(&house.admin(&["project", "change", "--tool-names", "underscores"]));
    assert_eq!(named, "tool names underscores");
    assert_eq!(masked(&house.admin(&["integration", "remove", "host", "--yes"])), "deleted true");
    assert_eq!(masked(&house.admin(&["integration", "list"])), table);
}

#[test]
fn a_call_to_a_system_that_never_answered_says_so_and_ping_is_as_each_revision_has_it() {
    let (house, upstream) = (house(), Upstream::start());
    upstream.server.on_list(Trick::Status(503));
    assert_eq!(add(&house, &upstream, &["--allow", "echo"]).code, 1);
    upstream.runtime.block_on(async {
        let caller = Caller::connect(&house.service.url, &house.key);
        let silent = caller.call("gateway_call", json!({"server": "host", "tool": "echo"})).await;
        let cause = "'host' has not answered yet, so its tools are not known; try again in a minute";
        assert_eq!(silent.text(), format!("Error executing tool gateway_call: {cause}"));
        let ping = caller.request("ping", json!({})).await;
        assert_eq!((ping.status, &ping.json()["result"]), (200, &json!({})));
        let modern = caller.modern("ping", json!({})).await;
        assert_eq!((modern.status, &modern.json()["error"]["code"]), (404, &json!(-32601)), "2026-07-28 has no ping");
    });
}

#[test]
fn what_does_not_work_is_said_and_the_exit_code_says_so_too() {
    let (house, upstream) = (house(), Upstream::start());
    upstream.server.on_list(Trick::Status(503));
    let failed = add(&house, &upstream, &["--allow", "echo"]);
    assert_eq!(failed.code, 1);
    let out = format!(
        "no   {} does not answer\n'host' is saved; its tools are offered once it answers.\n",
        upstream.server.url
    );
    assert_eq!((failed.out, failed.err.as_str()), (out, "error: 'host' failed with HTTP 503; try again later\n"));
    upstream.server.on_list(Trick::None);
    assert_eq!(house.admin(&["integration", "test", "host"]).code, 0);
    for (words, expected) in [
        (
            &["integration", "add", "host", "--endpoint", "http://127.0.0.1:1/"][..],
            "integration 'host' already exists; change it with `mnemon integration change host`",
        ),
        (&["integration", "add", "--endpoint", "http://127.0.0.1:1/"], "give the integration a name"),
        (&["integration", "add", "other"], "one of preset, url and command is required"),
        (
            &["integration", "add", "other", "--command", "sh"],
            "the operator has not configured this command for this account (gateway.commands)",
        ),
        (
            &["integration", "add", "other", "--endpoint", "https://10.0.0.1/"],
            "url: '10.0.0.1' is not on the public internet, and the operator has not allowed it (outgoing.allowed_hosts)",
        ),
        (
            &["integration", "add", "other", "--endpoint", "http://127.0.0.1:1/", "--header", "X"],
            "--header must be 'Name: value'",
        ),
        (&["integration", "change", "never", "--title", "x"], "no such integration"),
        (&["integration", "enable", "never"], "no such integration"),
        (&["integration", "tools", "../keys"], "no such integration"),
        (&["integration", "accept", "host", "never"], "no tool is called 'never'"),
        (&["integration", "rotate-key"], "this requires the operator token"),
        (&["project", "change", "--tool-names", "dashes"], "tool_names must be one of dots, underscores"),
    ] {
        let done = house.admin(words);
        assert_eq!((done.code, done.err), (1, format!("error: {expected}\n")), "{words:?}");
    }
}

#[test]
fn a_wrong_key_is_refused_at_the_start_and_keys_are_replaced_by_a_command() {
    let (house, upstream) = (house(), Upstream::start());
    upstream.server.want_credential(&format!("Bearer {CANARY}"));
    let words = ["integration", "add", "host", "--endpoint", &upstream.server.url, "--allow", "*", "--bearer-stdin"];
    let words = [&words[..], &["--url", &house.service.url, "--key", &house.key]].concat();
    let added = house.place.run_with_input(&words, format!("{CANARY}\n").as_bytes());
    assert_eq!((added.code, added.err.as_str()), (0, ""), "{added:?}");
    let House { place, service, token, key } = house;
    let stopped = service.stop();
    assert!(!stopped.err.contains(CANARY) && stopped.code == 0);
    let (right, new) = ("0f".repeat(32), "ab".repeat(32));
    for wrong in [new.as_str(), ""] {
        place.write(NAMED_CONFIG, &settings(wrong, ""));
        let refused = place.run(&["serve", "--data-dir", "data", "--listen", "127.0.0.1:0"]);
        assert_eq!((refused.code, refused.out.as_str()), (1, ""));
        let expected = "error: the credentials of 1 integration(s) were encrypted with another key (id ";
        assert!(refused.err.contains(expected) && refused.err.contains("nothing was changed"), "{}", refused.err);
    }
    place.write(NAMED_CONFIG, &settings(&new, &right));
    let service = place.serve(&[]);
    let rotated = place.run(&["integration", "rotate-key", "--url", &service.url, "--operator-token", &token]);
    assert_eq!((rotated.code, rotated.out.trim()), (0, "rotated              1"), "{rotated:?}");
    service.stop();
    place.write(NAMED_CONFIG, &settings(&new, ""));
    let service = place.serve(&[]);
    let tested = place.run(&["integration", "test", "host", "--url", &service.url, "--key", &key]);
    assert_eq!(tested.code, 0, "nothing was lost: {tested:?}");
    assert!(!service.stop().err.contains(CANARY));
    let database = std::fs::read(place.data_dir().join("mnemon.db")).expect("the database");
    assert!(!database.windows(CANARY.len()).any(|window| window == CANARY.as_bytes()));
}
