//! `mnemon remember`, `search` and `forget`: for people and for programs, and their errors.

use mnemon_core::Timestamp;
use serde_json::{Value, json};

use crate::process::{Done, Place, Service};

/// Runs a command against the service with its key.
fn run(place: &Place, service: &Service, arguments: &[&str]) -> Done {
    let (url, key) = (service.url.clone(), service.key());
    place.run(&[arguments, &["--url", &url, "--key", &key]].concat())
}

fn saved_id(done: &Done) -> String {
    let id = done.out.split_whitespace().nth(1).unwrap_or_else(|| panic!("{done:?}"));
    assert_eq!(id.len(), 36, "{done:?}");
    id.to_owned()
}

#[test]
fn a_person_saves_finds_and_forgets() {
    let place = Place::new();
    let service = place.serve(&[]);
    let saved =
        run(&place, &service, &["remember", "We deploy\non Tuesdays", "--fact-key", "deploy.day", "--source", "Ops"]);
    let id = saved_id(&saved);
    assert_eq!((saved.code, saved.out.as_str()), (0, &*format!("Saved: {id}  (deploy.day, unverified)\n")));
    let again = run(&place, &service, &["remember", "We deploy\non Tuesdays", "--source", "Ops"]);
    assert_eq!(again.out, format!("Already saved: {id}  (deploy.day, unverified)\n"));
    let rival = run(&place, &service, &["remember", "We deploy on Fridays", "--fact-key", "deploy.day"]);
    let rival_id = saved_id(&rival);
    let expected = format!(
        "Saved: {rival_id}  (deploy.day, conflict)\nConflicts with other records under the same key: {id}\n\
         To replace them, save it again with --replace.\n"
    );
    assert_eq!(rival.out, expected);
    assert_eq!(run(&place, &service, &["forget", &rival_id]).out, "Forgot 1 record(s).\n");
    let found = run(&place, &service, &["search", "deploy", "--limit", "1"]);
    let (score, rest) = found.out.split_at(4);
    assert!(score.parse::<f64>().is_ok_and(|score| score > 0.0 && score <= 1.0), "{score}");
    let shown = format!(
        "  unverified  {id}\n      We deploy\n      on Tuesdays\n      [deploy.day] Ops · admin · default · shared · 20"
    );
    assert!(found.code == 0 && rest.starts_with(&shown), "{found:?}");
    let words = run(&place, &service, &["search", "when", "do", "we", "deploy", "--limit", "1"]);
    assert!(words.code == 0 && words.out.contains("We deploy"), "several words need no quotes: {words:?}");
    assert_eq!(run(&place, &service, &["search", "zebra"]).out, "Nothing found.\n");
}

#[test]
fn a_program_gets_the_structured_result() {
    let place = Place::new();
    let service = place.serve(&[]);
    let all = [
        "remember",
        "Tea at four",
        "--json",
        "--workspace",
        "w",
        "--scope",
        "draft",
        "--fact-key",
        "tea",
        "--source",
        "s",
        "--source-id",
        "i",
        "--source-hash",
        "h",
        "--source-revision",
        "r",
        "--confidence",
        "0.5",
        "--valid-until",
        "2099-01-01T00:00:00Z",
        "--idempotency-key",
        "k",
    ];
    let saved = run(&place, &service, &all).json();
    let expected = json!({
        "workspace": "w", "scope": "draft", "content": "Tea at four", "fact_key": "tea", "status": "unverified",
        "source": "s", "source_id": "i", "source_hash": "h", "source_revision": "r", "confidence": 0.5,
        "valid_until": "2099-01-01T00:00:00Z", "searchable": true, "api_version": "1.0",
    });
    for (name, value) in expected.as_object().expect("an object") {
        assert_eq!(&saved[name], value, "{name}");
    }
    assert_eq!(run(&place, &service, &all).json(), saved, "the idempotency key was sent");
    let search = ["search", "tea", "--json", "--workspace", "w", "--scope", "draft", "--exclude-stale", "--limit", "5"];
    assert_eq!(run(&place, &service, &search).json()["result"][0]["id"], saved["id"]);
    let nowhere = ["forget", "--source-id", "i", "--workspace", "other", "--json", "--yes"];
    assert_eq!(run(&place, &service, &nowhere).json()["forgotten"], 0);
    let forgotten = run(&place, &service, &["forget", "--source-id", "i", "--json", "--yes"]).json();
    assert_eq!(forgotten["memory_ids"], json!([saved["id"]]));
}

#[test]
fn a_text_may_come_from_standard_input() {
    let place = Place::new();
    let service = place.serve(&[]);
    let (url, key) = (service.url.clone(), service.key());
    let arguments = ["remember", "--json", "--url", &url, "--key", &key];
    let saved = place.run_with_input(&arguments, "a piped thought\n".as_bytes()).json();
    assert_eq!(saved["content"], "a piped thought\n");
    let words = [&arguments[..], &["many", "words"]].concat();
    assert_eq!(place.run(&words).json()["content"], "many words");
    let broken = place.run_with_input(&arguments, b"\xff\xfe");
    assert_eq!(broken.code, 1);
    assert!(broken.err.contains("can't read standard input as UTF-8"), "{}", broken.err);
    let empty = place.run_with_input(&arguments, b"");
    let said: Value = serde_json::from_str(&empty.err).expect("JSON");
    assert_eq!(said["error"], "content must not be empty");
}

#[test]
fn a_failing_tool_says_its_own_words() {
    let place = Place::new();
    let service = place.serve(&[]);
    let check = |arguments: &[&str], expected: &str| {
        let done = run(&place, &service, arguments);
        assert_eq!((done.code, done.out.as_str()), (1, ""), "{arguments:?}");
        assert_eq!(done.err, format!("error: {expected}\n"), "{arguments:?}");
    };
    check(&["remember", " "], "content must not be empty");
    check(&["search", "x"], "workspace 'default' is not active");
    check(&["search", "x", "--limit", "51"], "limit must be between 1 and 50");
    check(&["search", "x", "--limit", "many"], "limit must be an integer");
    check(&["forget", "nothing"], "memory 'nothing' not found");
    let hash = "source_id is required when source_hash is provided";
    check(&["remember", "c", "--source-hash", "h"], hash);
}

#[test]
fn a_wrong_key_is_told_to_the_person_and_never_shown() {
    let place = Place::new();
    let service = place.serve(&[]);
    let wrong = format!("{}0", service.key());
    for verb in [&["remember", "c"][..], &["search", "q"], &["forget", "x"]] {
        let done = place.run(&[verb, &["--url", &service.url, "--key", &wrong]].concat());
        let url = &service.url;
        let expected = format!(
            "error: {url} rejected the API key; check that you copied all of it and that it has not been revoked\n"
        );
        assert_eq!((done.code, done.out.as_str(), done.err), (1, "", expected), "{verb:?}");
    }
}

#[test]
fn a_service_that_is_away_is_named() {
    let place = Place::new();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", nobody.local_addr().expect("an address"));
    drop(nobody);
    let done = place.run(&["search", "q", "--url", &url, "--key", "k"]);
    assert_eq!((done.code, done.out.as_str()), (1, ""));
    let expected = format!("error: no answer from {url}; is the service running? Start it with `mnemon serve`");
    assert!(done.err.starts_with(&expected), "{}", done.err);
}

#[test]
fn address_and_key_come_from_the_environment_too() {
    let place = Place::new();
    let service = place.serve(&[]);
    let mut command = place.command(&["remember", "from the environment", "--json"]);
    command.env("MNEMON_URL", format!("{}/", service.url)).env("MNEMON_API_KEY", service.key());
    let done = Done::of(command.output().expect("the binary runs"));
    assert_eq!(done.json()["content"], "from the environment");
    let without = place.run(&["search", "q", "--url", &service.url]);
    assert_eq!(without.code, 1);
    assert!(without.err.starts_with("error: no API key; pass --key or set MNEMON_API_KEY."), "{}", without.err);
    let mut help = place.command(&["search", "--help"]);
    let help = Done::of(help.env("MNEMON_API_KEY", "mnm_canary").output().expect("the binary runs"));
    assert!(help.code == 0 && !help.out.contains("mnm_canary"), "{}", help.out);
}

#[test]
fn what_can_not_be_meant_is_refused_before_anything_is_sent() {
    let place = Place::new();
    for wrong in [&["forget"][..], &["forget", "an-id", "--source-id", "s"], &["search"], &["frobnicate"], &[]] {
        let done = place.run(wrong);
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{wrong:?}");
        assert!(done.err.contains("Usage: mnemon"), "{wrong:?}: {}", done.err);
    }
}

#[test]
fn a_digest_is_printed_for_an_assistant() {
    let place = Place::new();
    let service = place.serve(&[]);
    run(&place, &service, &["remember", "We deploy\non Tuesdays", "--source-id", "ops.md"]);
    let digest = run(&place, &service, &["context"]);
    let start = "## Memory of workspace `default`\nEach line with [";
    assert!(digest.code == 0 && digest.out.starts_with(start), "{digest:?}");
    assert!(digest.out.contains("] We deploy on Tuesdays (ops.md, admin, 2"), "{digest:?}");
    let hits = run(&place, &service, &["context", "--query", "deploy", "--budget", "200", "--json"]).json();
    assert!(hits["markdown"].as_str().is_some_and(|text| text.contains(" [unverified] We deploy on")), "{hits}");
    assert_eq!(run(&place, &service, &["context", "--query", "zebra"]).out, "Nothing found.\n");
    let absent = run(&place, &service, &["context", "--workspace", "nowhere"]);
    assert_eq!((absent.code, absent.err.as_str()), (1, "error: no such workspace\n"));
    let few = run(&place, &service, &["context", "--budget", "199"]);
    assert_eq!(few.err, "error: budget must be between 200 and 20000 tokens\n");
}

#[test]
fn times_are_given_in_words_and_tags_one_by_one() {
    let place = Place::new();
    let service = place.serve(&[]);
    let save = ["remember", "boiler", "--tag", "House 7", "--tag", "heating", "--occurred-at", "3 days ago"];
    let saved = run(&place, &service, &[&save[..], &["--valid-until", "2099-01-01", "--json"]].concat()).json();
    let created: Timestamp = saved["created_at"].as_str().expect("a time").parse().expect("a time");
    let day = |days: i64| {
        let at = Timestamp::from_second(created.as_second() - days * 86_400).expect("in the calendar");
        at.strftime("%Y-%m-%d").to_string()
    };
    assert_eq!((&saved["tags"], &saved["occurred_at"]), (&json!(["House 7", "heating"]), &json!(day(3))));
    assert_eq!(saved["valid_until"], "2099-01-01T00:00:00Z");
    let find = |filters: &[&str]| run(&place, &service, &[&["search", "boiler"], filters].concat()).out;
    let shown = find(&["--tag", "house 7", "--tag", "HEATING", "--since", "4 days ago", "--until", "yesterday"]);
    assert!(shown.contains(&format!("{} · #House 7 · #heating", day(3))), "{shown}");
    for none in [["--tag", "house"], ["--since", "yesterday"], ["--until", "4 days ago"], ["--until", "2020-01-01"]] {
        assert_eq!(find(&none), "Nothing found.\n", "{none:?}");
    }
    let open = run(&place, &service, &["remember", "x", "--occurred-at", "before March"]);
    assert!(open.code != 0 && open.err.contains("has no begin or no end"), "{open:?}");
}
