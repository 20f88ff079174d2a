//! Managing integrations through the admin API: the answers, and the texts of refusals.

use mnemon_engine::integrations::LocalCommand;
use mnemon_testkit::{TestUpstream, Trick, eventually};
use serde_json::{Value, json};

use super::{World, impatient, options};

#[tokio::test]
async fn an_integration_is_made_shown_listed_changed_and_removed() {
    let world = World::make().await;
    let shown = world.admin.manage("GET", &world.path("/host"), Value::Null).await;
    let expected = json!({
        "name": "host", "title": "Host", "url": world.upstream.url, "has_credential": false, "allow": ["echo"],
        "enabled": true, "offered": 1, "waiting": 0, "created_at": "2027-01-15T08:00:00Z",
        "updated_at": "2027-01-15T08:00:00Z", "seen_at": "2027-01-15T08:00:00Z", "tools": shown["tools"],
        "health": {"state": "working", "failures": 0},
    });
    assert_eq!(shown, expected);
    let listed = world.admin.manage("GET", &world.path(""), Value::Null).await;
    assert_eq!((&listed["tool_names"], listed["integrations"].as_array().map(Vec::len)), (&json!("dots"), Some(1)));
    assert_eq!(listed["integrations"][0]["tools"], Value::Null, "lists are short");
    let changed = world.put("host", json!({"title": "Code host", "enabled": false})).await;
    assert_eq!(
        (&changed["integration"]["title"], &changed["integration"]["allow"]),
        (&json!("Code host"), &json!(["echo"]))
    );
    let gone = world.admin.manage("DELETE", &world.path("/host"), Value::Null).await;
    assert_eq!(gone, json!({"deleted": true}));
    for (method, rest) in [("GET", "/host"), ("DELETE", "/host"), ("POST", "/host/test"), ("POST", "/host/accept")] {
        let refused = world.admin.refusal(method, &world.path(rest), Value::Null).await;
        assert_eq!(refused, (404, "no such integration".to_owned()), "{method} {rest}");
    }
}

#[tokio::test]
async fn a_test_says_what_works_and_what_does_not() {
    let world = World::make_with(impatient()).await;
    let tested = world.admin.manage("POST", &world.path("/host/test"), Value::Null).await;
    assert_eq!((&tested["works"], &tested["server"]), (&json!(true), &json!("test upstream 1")));
    assert_eq!((&tested["protocol_version"], &tested["problem"]), (&json!("2025-11-25"), &Value::Null));
    world.upstream.on_list(Trick::Hang);
    let tested = world.admin.manage("POST", &world.path("/host/test"), Value::Null).await;
    assert_eq!((&tested["works"], &tested["problem"]), (&json!(false), &json!("'host' did not answer within 1 s")));
    let nobody = world.put("away", json!({"url": "http://127.0.0.1:9/mcp"})).await;
    assert_eq!(nobody["problem"], "'away' is unreachable; try again later, or ask an admin to check its address");
    assert_eq!(nobody["integration"]["health"]["trouble"], nobody["problem"], "it stays to be seen");
    let shown = world.admin.manage("GET", &world.path("/host"), Value::Null).await;
    assert_eq!(shown["health"]["trouble"], "'host' did not answer within 1 s");
    world.upstream.on_list(Trick::None);
    world.admin.manage("POST", &world.path("/host/test"), Value::Null).await;
    let shown = world.admin.manage("GET", &world.path("/host"), Value::Null).await;
    assert_eq!(shown["health"].get("trouble"), None, "until it answers");
    let reason = world.member.reason("gateway_call", json!({"server": "away", "tool": "get_me"})).await;
    let silent = "'away' has not answered yet, so its tools are not known; try again in a minute";
    assert_eq!(reason, format!("Error executing tool gateway_call: {silent}"));
}

#[tokio::test]
async fn bad_input_is_refused_with_words() {
    let world = World::without_integration().await;
    let url = world.upstream.url.clone();
    let long = "x".repeat(129);
    for (name, body, text) in [
        ("host", json!({}), "one of preset, url and command is required"),
        ("host", json!({"url": url, "command": "x"}), "give only one of preset, url and command"),
        ("host", json!({"preset": "gitlab"}), "preset must be one of github"),
        (
            "host",
            json!({"command": "rm"}),
            "the operator has not configured this command for this account (gateway.commands)",
        ),
        (
            "host",
            json!({"url": url, "title": ""}),
            "title must be 1 to 128 characters long, without control characters",
        ),
        (
            "host",
            json!({"url": url, "title": long}),
            "title must be 1 to 128 characters long, without control characters",
        ),
        ("host", json!({"url": url, "bearer": " "}), "bearer must not be empty"),
        (
            "host",
            json!({"url": url, "bearer": "a\nb"}),
            "the value of Authorization must be 1 to 8192 visible ASCII characters",
        ),
        (
            "host",
            json!({"url": url, "headers": {"X-Key": ""}}),
            "the value of X-Key must be 1 to 8192 visible ASCII characters",
        ),
    ] {
        let refused = world.admin.refusal("PUT", &world.path(&format!("/{name}")), body.clone()).await;
        assert_eq!(refused, (400, text.to_owned()), "{body}");
    }
    for headers in
        [json!({"Host": "x"}), json!({"Mcp-Session-Id": "x"}), json!({"a b": "x"}), json!({"X": "1", "x": "2"})]
    {
        let (status, text) =
            world.admin.refusal("PUT", &world.path("/host"), json!({"url": url, "headers": headers})).await;
        assert!(status == 400 && text.starts_with("header names must be valid"), "{headers}: {text}");
    }
    for name in ["Host", "2a", "a_readonly", "a%20b", &"a".repeat(33)] {
        let (status, text) = world.admin.refusal("PUT", &world.path(&format!("/{name}")), json!({"url": url})).await;
        assert!(status == 400 && text.starts_with("name must be 1 to 32 lowercase letters"), "{name}: {text}");
    }
    let (status, text) = world.admin.refusal("PUT", &world.path("/host"), json!({"url": url, "alow": []})).await;
    assert!(status == 400 && text.contains("unknown field `alow`"), "{text}");
    let (status, text) = world.admin.refusal("PUT", &world.path("/host"), json!({"url": url, "allow": ["a b"]})).await;
    assert!(status == 400 && text.starts_with("allow must list tool names"), "{text}");
    let listed = world.admin.manage("GET", &world.path(""), Value::Null).await;
    assert_eq!(listed["integrations"], json!([]), "nothing was made");
    assert!(world.upstream.recorded().is_empty());
}

#[tokio::test]
async fn credentials_are_taken_up_to_their_limits() {
    let world = World::without_integration().await;
    let body = |count: usize, bytes: usize| {
        let headers: serde_json::Map<String, Value> =
            (0..count).map(|number| (format!("X-{number}"), json!("v".repeat(bytes)))).collect();
        json!({"url": world.upstream.url, "headers": headers})
    };
    world.put("host", body(16, 10)).await;
    world.put("host", body(1, 8_192)).await;
    let long = |bytes: usize| {
        let url = format!("{}?q=", world.upstream.url);
        json!({"url": format!("{url}{}", "x".repeat(bytes - url.len()))})
    };
    world.put("long", long(2_048)).await;
    let refused = world.admin.refusal("PUT", &world.path("/long"), long(2_049)).await;
    assert_eq!(refused, (400, "url must be a URL of at most 2048 bytes".to_owned()));
    let refused = world.admin.refusal("PUT", &world.path("/host"), body(17, 10)).await;
    assert_eq!(refused, (400, "17 headers given; the limit is 16".to_owned()));
    let refused = world.admin.refusal("PUT", &world.path("/host"), body(1, 8_193)).await;
    assert_eq!(refused.1, "the value of X-0 must be 1 to 8192 visible ASCII characters");
}

#[tokio::test]
async fn a_command_runs_only_where_the_operator_named_it_and_gets_no_secret_of_ours() {
    let mut with_commands = options();
    // It never answers, and shows what it was given in the file of its environment.
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("environment");
    let script = format!("env > {}", file.display());
    let commands = &mut with_commands.integrations.allowances.commands;
    commands.insert("show".to_owned(), LocalCommand::for_all(["sh", "-c", &script]));
    commands.insert("none".to_owned(), LocalCommand::for_all(["/no/such/program"]));
    let world = World::with(with_commands, TestUpstream::start().await).await;
    let ended = world.put("show", json!({"command": "show"})).await;
    assert_eq!(ended["problem"], "'show' exited before it answered; the operator must check its command");
    let environment = std::fs::read_to_string(&file).expect("the command ran");
    assert!(environment.contains("PATH="), "{environment}");
    let names = environment.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
    let ours = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "PWD", "SHLVL", "_", "OLDPWD"];
    let strange: Vec<&str> = names.filter(|name| !ours.contains(name)).collect();
    assert!(strange.is_empty(), "{strange:?}");
    let absent = world.put("none", json!({"command": "none"})).await;
    let problem = absent["problem"].as_str().expect("a problem");
    assert!(problem.starts_with("'none' can't be started: /no/such/program: No such file"), "{problem}");
    let refused = world.admin.refusal("PUT", &world.path("/show"), json!({"command": "show", "bearer": "x"})).await;
    assert_eq!(refused.1, "a command takes no credential here; the operator sets it in the configuration");
}

#[tokio::test]
async fn a_command_that_hangs_or_talks_without_end_is_ended() {
    let mut with_commands = impatient();
    let loud = format!("471148{}", "x".repeat(1_000));
    for (name, words) in
        [("hang", &["sh", "-c", "sleep 471147"][..]), ("flood", &["yes", &loud]), ("deaf", &["sleep", "471149"])]
    {
        let command = LocalCommand::for_all(words.iter().copied());
        with_commands.integrations.allowances.commands.insert(name.to_owned(), command);
    }
    let world = World::with(with_commands, TestUpstream::start().await).await;
    for (name, problem) in [
        ("hang", "'hang' did not answer within 1 s"),
        ("deaf", "'deaf' did not answer within 1 s"),
        (
            "flood",
            "'flood' sent an answer that is not valid MCP (it keeps sending messages without answering); an admin must check its address",
        ),
    ] {
        let tested = world.put(name, json!({"command": name})).await;
        assert_eq!(tested["problem"], problem);
    }
    for word in ["471147", "471148", "471149"] {
        eventually("the command has ended", async || !is_running(word)).await;
    }
}

/// Whether a process has this word in its command line.
fn is_running(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("the processes").flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .any(|line| line.split('\0').any(|part| part.contains(word)))
}
