//! `mnemon serve`: the first start, later starts, and what can prevent one.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::process::{Done, Place, Service};

/// Runs a line as a person pastes it into a shell.
fn paste(line: &str) -> Done {
    Done::of(Command::new("sh").args(["-c", line]).output().expect("a shell runs"))
}

fn curl_lines(welcome: &str) -> Vec<&str> {
    welcome.lines().map(str::trim).filter(|line| line.starts_with("curl ")).collect()
}

/// The output, with everything that differs between two starts replaced by its name.
fn masked(place: &Place, service: &Service) -> String {
    let mut text = service.welcome.replace(&service.key(), "KEY").replace(&service.url, "URL");
    text = text.replace(&place.path().display().to_string(), "HERE");
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    words.into_iter().map(|word| if word.starts_with("mnp_") { "OPERATOR\n" } else { word }).collect()
}

#[test]
fn the_first_start_prints_a_key_and_commands_to_paste() {
    let place = Place::new();
    let service = place.serve(&[]);
    let version = env!("CARGO_PKG_VERSION");
    let masked = masked(&place, &service).replace(version, "VERSION");
    insta::assert_snapshot!(masked, @r#"
    Mnemon VERSION is listening on URL

    First start on HERE/data: created an account, a project, an admin and an API key.
    Here is the key. It will not be shown again:

        KEY

    Save a record, then find it:

        curl -s URL/mcp -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remember","arguments":{"content":"We deploy on Tuesdays at ten."}}}'

        curl -s URL/mcp -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -d '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search","arguments":{"query":"when do we deploy"}}}'

    Connect an assistant:

        Claude Code   claude mcp add --transport http -s user mnemon URL/mcp --header "Authorization: Bearer KEY"

        Codex         export MNEMON_API_KEY=KEY
                      codex mcp add mnemon --url URL/mcp --bearer-token-env-var MNEMON_API_KEY

        Cursor        put into ~/.cursor/mcp.json:
                      {"mcpServers":{"mnemon":{"url":"URL/mcp","headers":{"Authorization":"Bearer KEY"}}}}

    Manage accounts, members and keys (`mnemon account --help`) with the operator token. It will not be shown again:

        OPERATOR

    Press Ctrl-C to stop. All data is kept in HERE/data.
    "#);
    let cursor = service.welcome.lines().map(str::trim).find(|line| line.starts_with("{\"mcpServers\""));
    let cursor: Value = serde_json::from_str(cursor.expect("a line for Cursor")).expect("valid JSON");
    assert_eq!(cursor["mcpServers"]["mnemon"]["url"], format!("{}/mcp", service.url));
}

#[test]
fn the_printed_lines_really_work() {
    let place = Place::new();
    let service = place.serve(&[]);
    let lines = curl_lines(&service.welcome);
    assert_eq!(lines.len(), 2);
    let saved = paste(lines[0]).json();
    assert_eq!(saved["result"]["structuredContent"]["searchable"], true, "{saved}");
    let found = paste(lines[1]).json();
    let record = &found["result"]["structuredContent"]["result"][0];
    assert_eq!(record["content"], "We deploy on Tuesdays at ten.", "{found}");
}

#[test]
fn a_restart_keeps_everything_and_does_not_print_the_key_again() {
    let place = Place::new();
    let first = place.serve(&[]);
    let key = first.key();
    let with_key = |url: &str, more: &[&str]| place.run(&[more, &["--url", url, "--key", &key]].concat());
    let saved = with_key(&first.url, &["remember", "kept over the night", "--json"]).json();
    assert_eq!(first.stop().code, 0);
    let second = place.serve(&[]);
    assert!(!second.welcome.contains("mnm_") && !second.welcome.contains("mnp_"), "{}", second.welcome);
    let used = format!("using the data in {}.", place.data_dir().display());
    assert!(second.welcome.contains(&used), "{}", second.welcome);
    let found = with_key(&second.url, &["search", "night", "--json"]).json();
    assert_eq!(found["result"][0]["id"], saved["id"]);
    let ended = second.stop();
    assert_eq!(ended.code, 0);
    assert!(!ended.err.contains(&key));
}

#[test]
fn a_node_behind_a_proxy_prints_the_address_that_it_listens_on_too() {
    let place = Place::new();
    for _ in 0..2 {
        let service = place.serve(&["--base-url", "https://memory.example.com/", "--ready-file", "ready.json"]);
        assert_eq!(
            service.url, "https://memory.example.com",
            "the URL of the callers is what commands are printed with"
        );
        // The file is written right after this text.
        let address = service.welcome.split("listening on ").nth(1).and_then(|rest| rest.split(';').next());
        let address = address.unwrap_or_default();
        TcpStream::connect(address).unwrap_or_else(|error| panic!("{address:?}: {error}"));
        service.stop();
    }
}

#[test]
fn an_address_that_means_all_is_never_shown_as_a_url() {
    let place = Place::new();
    let refused = place.run(&["serve", "--data-dir", "data", "--listen", "0.0.0.0:0"]);
    assert_eq!((refused.code, refused.out.as_str()), (1, ""));
    assert!(refused.err.contains("server.base_url is required because server.listen is 0.0.0.0:0"), "{}", refused.err);
    assert!(!place.data_dir().exists(), "nothing was made");
    let told = place.run(&["config", "check", "--listen", "0.0.0.0:0", "--base-url", "https://memory.example.com"]);
    assert_eq!(told.code, 0, "{}", told.err);
}

#[test]
fn data_goes_to_one_place_per_person() {
    let place = Place::new();
    let home = place.path().join("home");
    let start = |folder: &str| {
        let mut command = place.command(&["serve", "--listen", "127.0.0.1:0", "--json", "--ready-file", "ready"]);
        std::fs::create_dir_all(place.path().join(folder)).expect("a folder");
        command.current_dir(place.path().join(folder)).env("HOME", &home);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("piped");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).expect("a line");
        crate::process::signal(&child.id().to_string(), "TERM");
        let done = Done::of(child.wait_with_output().expect("it ends"));
        assert_eq!(done.code, 0, "{}", done.err);
        serde_json::from_str::<Value>(&line).expect("a line of JSON")
    };
    let first = start("one");
    assert!(first["key"].is_string() && home.join(".local/share/mnemon/mnemon.db").exists());
    let second = start("two");
    assert!(second["key"].is_null(), "the same data, wherever it is started: {second}");
}

#[test]
fn a_start_for_machines_is_one_line_of_json() {
    let place = Place::new();
    let first = place.serve(&["--json"]);
    let said: Value = serde_json::from_str(&first.welcome).expect("one line of JSON");
    assert_eq!(said["mcp"], format!("{}/mcp", said["url"].as_str().unwrap_or_default()));
    assert!(said["key"].as_str().is_some_and(|key| key.starts_with("mnm_")), "{said}");
    first.stop();
    let second = place.serve(&["--json"]);
    let said: Value = serde_json::from_str(&second.welcome).expect("one line of JSON");
    assert_eq!((&said["key"], &said["operator_token"]), (&Value::Null, &Value::Null));
}

#[test]
fn the_ready_file_tells_waiting_programs_and_only_their_owner() {
    let place = Place::new();
    let path = place.path().join("ready.json");
    let service = place.serve(&["--ready-file", "ready.json"]);
    // Written after the service prints its address and before it answers: once a call works, the file is there.
    let health = place.run(&["doctor", "--url", &service.url, "--key", &service.key()]);
    assert_eq!(health.code, 0, "{health:?}");
    let ready: Value = serde_json::from_str(&std::fs::read_to_string(&path).expect("the file")).expect("JSON");
    assert_eq!((&ready["url"], &ready["key"]), (&service.url.clone().into(), &service.key().into()));
    assert_eq!(ready["address"], service.url.trim_start_matches("http://"));
    let mode = std::fs::metadata(&path).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn data_and_key_are_for_their_owner_alone() {
    let place = Place::new();
    let service = place.serve(&[]);
    let (key, token) = (service.key(), operator_token(&service));
    place.run(&["remember", "a fact", "--url", &service.url, "--key", &key]);
    service.stop();
    let mode = |path: &std::path::Path| std::fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(&place.data_dir()), 0o700);
    for entry in std::fs::read_dir(place.data_dir()).expect("the data directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            assert_eq!(mode(&path), 0o700, "{}", path.display());
            continue;
        }
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        let bytes = std::fs::read(&path).expect("a file");
        for secret in [&key, &token] {
            let is_there = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!is_there, "{} holds a secret", path.display());
        }
    }
}

fn operator_token(service: &Service) -> String {
    let line = service.welcome.lines().map(str::trim).find(|line| line.starts_with("mnp_"));
    line.expect("the first start prints the operator's token").to_owned()
}

#[test]
fn a_configured_operator_token_replaces_the_first_one_for_good() {
    let place = Place::new();
    let service = place.serve(&[]);
    let first = operator_token(&service);
    let is_accepted = |service: &Service, token: &str| {
        place.run(&["account", "list", "--url", &service.url, "--operator-token", token]).code == 0
    };
    assert!(is_accepted(&service, &first));
    service.stop();
    let own = concat!("mnp_", "chosen_by_the_operator_themselves_1");
    let mut command = place.command(&[]);
    command.env("MNEMON_OPERATOR_TOKEN", own);
    let service = Service::start_by(&place, command, &[]);
    assert!(is_accepted(&service, own));
    assert!(!is_accepted(&service, &first), "it was replaced");
    service.stop();
    // Without the setting there is none, so a start makes a new one.
    let service = place.serve(&["--ready-file", "ready.json"]);
    assert!(!is_accepted(&service, &first) && !is_accepted(&service, own), "neither comes back");
    // Once it has answered, the file is there.
    let ready = std::fs::read_to_string(place.path().join("ready.json")).expect("it is ready");
    let ready: Value = serde_json::from_str(&ready).expect("JSON");
    assert!(is_accepted(&service, ready["operator_token"].as_str().expect("a new token")));
}

#[test]
fn a_credential_that_was_copied_badly_is_told_so() {
    let place = Place::new();
    let broken = place.run(&["search", "anything", "--url", "http://127.0.0.1:1", "--key", "mnm_first\nsecond"]);
    assert_eq!(broken.code, 1);
    let expected =
        "the API key (from the flag --key) contains a space, a line break or another character that no key has";
    assert!(broken.err.contains(expected) && !broken.err.contains("second"), "{}", broken.err);
    let broken = place.run(&["account", "list", "--url", "http://127.0.0.1:1", "--operator-token", "mnp_first second"]);
    assert!(broken.err.contains("the operator token contains a space, a line break"), "{}", broken.err);
}

#[test]
fn a_second_process_on_the_same_directory_is_told_so() {
    let place = Place::new();
    let service = place.serve(&[]);
    let second = place.run(&["serve", "--data-dir", "data", "--listen", "127.0.0.1:0"]);
    assert_eq!((second.code, second.out.as_str()), (1, ""));
    let told = format!("another mnemon is using this data directory ({})", place.data_dir().display());
    assert!(second.err.contains(&told), "{}", second.err);
    let json = place.run(&["serve", "--data-dir", "data", "--listen", "127.0.0.1:0", "--json"]);
    let said: Value = serde_json::from_str(json.err.lines().last().unwrap_or_default()).expect("JSON");
    assert!(said["error"].as_str().is_some_and(|text| text.contains("another mnemon")), "{said}");
    drop(service);
}

#[test]
fn a_taken_port_is_named_and_costs_the_first_start_nothing() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let failed = place.run(&["serve", "--data-dir", "data", "--listen", &address]);
    assert_eq!((failed.code, failed.out.as_str()), (1, ""));
    let expected =
        format!("can't listen on {address}; choose another address with --listen, or stop the program that uses it");
    assert!(failed.err.contains(&expected), "{}", failed.err);
    assert!(place.serve(&[]).key().starts_with("mnm_"), "the key is still to be shown");
}

#[test]
fn a_directory_that_can_not_be_used_is_named() {
    let place = Place::new();
    place.write("data", "a file, not a directory");
    let failed = place.run(&["serve", "--data-dir", "data", "--listen", "127.0.0.1:0"]);
    assert_eq!((failed.code, failed.out.as_str()), (1, ""));
    let told = failed.err.lines().last().unwrap_or_default();
    assert!(told.starts_with(&format!("error: can't make {}", place.data_dir().display())), "{}", failed.err);
    assert!(told.matches("can't").count() == 1 && !told.contains("storage failed"), "the cause once: {told}");
}

#[test]
fn a_file_that_was_only_found_chooses_no_token_no_data_and_no_command() {
    let place = Place::new();
    let token = concat!("mnp_", "chosen_by_a_stranger_in_a_folder_1");
    for (text, setting) in [
        (format!("[admin]\noperator_token = \"{token}\"\n"), "admin.operator_token"),
        ("[storage]\ndata_dir = \"elsewhere\"\n".to_owned(), "storage.data_dir"),
        ("[storage]\ndatabase = \"postgres://stranger@example.com/all\"\n".to_owned(), "storage.database"),
        ("[gateway.commands]\nsh = { run = [\"sh\"], accounts = [\"*\"] }\n".to_owned(), "gateway.commands"),
    ] {
        let file = place.write("mnemon.toml", &text);
        let refused = place.run(&["serve", "--listen", "127.0.0.1:0"]);
        assert_eq!(refused.code, 1, "{refused:?}");
        let told = format!("'{setting}' is not taken from a file that was only found in the working directory");
        assert!(refused.err.contains(&told) && refused.err.contains("--config mnemon.toml"), "{}", refused.err);
        assert!(!refused.err.contains(token));
        let named = place.run(&["config", "check", "--config", &file.display().to_string()]);
        assert_eq!(named.code, 0, "{named:?}");
    }
    assert!(!place.path().join("elsewhere").exists());
    let file = place.write("mnemon.toml", "[log]\nlevel = \"info\"\n[storage]\ndata_dir = \"\"\n");
    let stopped = place.serve(&[]).stop();
    assert!(stopped.err.contains(&format!("the configuration is in {}", file.display())), "{}", stopped.err);
}

#[test]
fn settings_come_from_the_file_and_flags_win() {
    let place = Place::new();
    place.write("mnemon.toml", "[server]\nlisten = \"127.0.0.1:1\"\nbase_url = \"https://memory.example.com\"\n");
    let service = place.serve(&["--ready-file", "ready.json"]);
    assert_eq!(service.url, "https://memory.example.com", "the outside address is the one that is shown");
    for line in curl_lines(&service.welcome) {
        assert!(line.starts_with("curl -s https://memory.example.com/mcp "), "{line}");
    }
    service.stop();
    let ready: Value =
        serde_json::from_str(&std::fs::read_to_string(place.path().join("ready.json")).expect("a file")).expect("JSON");
    assert_ne!(ready["address"], "127.0.0.1:1", "the flag named another port");
}

#[test]
fn more_connections_are_held_than_the_shell_would_allow() {
    const ALLOWED: usize = 64;
    let place = Place::new();
    let service = place.serve_with_open_files(ALLOWED);
    let address = service.url.strip_prefix("http://").expect("it listens without TLS");
    let mut connections: Vec<TcpStream> =
        (0..4 * ALLOWED).map(|_| TcpStream::connect(address).expect("the service listens")).collect();
    for connection in &mut connections {
        connection.set_read_timeout(Some(Duration::from_secs(10))).expect("a time limit");
        connection.write_all(b"GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n").expect("the connection is open");
        let mut status = [0; 12];
        connection.read_exact(&mut status).expect("every connection is answered");
        assert_eq!(&status, b"HTTP/1.1 200");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_kernel_makes_no_huge_pages_of_the_services_memory() {
    let place = Place::new();
    let service = place.serve(&[]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", service.pid())).expect("it runs");
    assert!(status.lines().any(|line| line.split_whitespace().eq(["THP_enabled:", "0"])), "{status}");
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|taken| taken.local_addr()).expect("a free port").port()
}

#[test]
fn figures_have_an_address_of_their_own_and_a_taken_one_stops_nothing() {
    let place = Place::new();
    let port = free_port();
    let settings = place.write("figures.toml", &format!("[metrics]\nlisten = \"127.0.0.1:{port}\"\n"));
    let settings = settings.display().to_string();
    let mut first = place.command(&[]);
    first.env_remove("MNEMON_METRICS_LISTEN");
    let first = Service::start_by(&place, first, &["--config", &settings]);
    let page = paste(&format!("curl -sf http://127.0.0.1:{port}/metrics"));
    assert!(page.out.contains("mnemon_build_info{version="), "{page:?}");
    let other = paste(&format!("curl -s -o /dev/null -w '%{{http_code}}' http://127.0.0.1:{port}/mcp"));
    assert_eq!(other.out, "404", "nothing else is served there");
    let elsewhere = Place::new();
    let mut second = elsewhere.command(&[]);
    second.env_remove("MNEMON_METRICS_LISTEN");
    let second = Service::start_by(&elsewhere, second, &["--config", &settings]);
    let ready = paste(&format!("curl -sf {}/health/ready", second.url));
    assert_eq!(ready.out, r#"{"status":"ready"}"#);
    let told = second.stop().err;
    assert!(told.contains("choose another address with metrics.listen"), "{told}");
    first.stop();
}
