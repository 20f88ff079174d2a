//! `mnemon export` and `mnemon import`, as a person types them: each kind of file, and the way out and back.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::admin::house::House;
use crate::process::{Done, Place, at_terminal, signal};

fn export(house: &House, key: &str, name: &str, more: &[&str]) -> String {
    let done = house.with_key(key, &[&["export", name], more].concat());
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:?}");
    std::fs::read_to_string(house.place.path().join(name)).unwrap_or_default()
}

fn import(house: &House, key: &str, arguments: &[&str]) -> Value {
    let done = house.with_key(key, &[&["import", "--json"], arguments].concat());
    assert!(matches!(done.code, 0 | 3), "{done:?}");
    done.json()
}

/// The texts of an export, oldest first.
fn texts(exported: &str) -> Vec<String> {
    let lines = exported.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter_map(|line| line["content"].as_str().map(str::to_owned)).collect()
}

/// A second project with an admin of its own, called like the first one.
fn elsewhere(house: &House) -> String {
    let account = house.operator_json(&["account", "create", "Elsewhere", "--plan", "unlimited"]);
    let account = account["id"].as_str().expect("an id").to_owned();
    let project = house.operator_json(&["project", "create", "New", "--account", &account]);
    let member = house.operator_json(&["member", "create", "admin", "--role", "admin", "--account", &account]);
    let (project, member) = (project["id"].as_str().expect("an id"), member["id"].as_str().expect("an id"));
    let made = house.operator_json(&["key", "create", "--project", project, "--member", member]);
    made["key"].as_str().expect("a key").to_owned()
}

fn furnish(house: &House) {
    let save = |arguments: &[&str]| assert_eq!(house.admin(&[&["remember"], arguments].concat()).code, 0);
    save(&["We deploy on Tuesdays\n\n- at ten\n", "--fact-key", "deploy: day", "--confidence", "0.75"]);
    save(&["# A heading\n---\nnot: front matter", "--workspace", "Team / notes", "--source", "It's \"here\""]);
    save(&[
        "From a page",
        "--source-id",
        "docs/a.md",
        "--source-hash",
        "sha256:00",
        "--valid-until",
        "2099-01-01T00:00:00Z",
        "--tag",
        "House 7",
        "--tag",
        "[red]",
        "--occurred-at",
        "2026-01-31/2026-02-01",
    ]);
    save(&["Mine alone", "--scope", "draft"]);
    for n in 0..3 {
        save(&[&format!("Same key {n}"), "--fact-key", "Key"]);
    }
}

#[test]
fn a_file_comes_back_byte_for_byte_and_so_does_a_folder() {
    let house = House::open();
    furnish(&house);
    let first = export(&house, &house.key, "out.jsonl", &[]);
    assert_eq!(texts(&first).len(), 7);
    assert!(first.contains("\"tags\":[\"House 7\",\"[red]\"],\"occurred_at\":\"2026-01-31/2026-02-01\""), "{first}");
    let mode = std::fs::metadata(house.place.path().join("out.jsonl")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it holds all texts");
    let printed = house.admin(&["export"]);
    assert_eq!((printed.code, printed.out.as_str()), (0, first.as_str()), "standard output has the same");
    export(&house, &house.key, "vault", &["--format", "markdown"]);
    let note = std::fs::read_to_string(house.place.path().join("vault/default/deploy- day.md")).expect("a note");
    assert!(note.starts_with("---\nid: ") || note.starts_with("---\nid: \""), "{note}");
    assert!(note.contains("\nfact_key: \"deploy: day\"\nfact_key_given: true\n"), "{note}");
    assert!(note.ends_with("\n---\nWe deploy on Tuesdays\n\n- at ten\n\n"), "{note}");
    for from in ["out.jsonl", "vault"] {
        let key = elsewhere(&house);
        let report = import(&house, &key, &[from]);
        assert_eq!((&report["saved"], &report["refused"]), (&json!(7), &json!(0)), "{report}");
        assert_eq!(report["formats"], json!(["mnemon"]));
        let name = format!("{from}-again.jsonl");
        assert_eq!(export(&house, &key, &name, &[]), first, "{from}");
        let again = import(&house, &key, &[from]);
        assert_eq!((&again["saved"], &again["present"]), (&json!(0), &json!(7)), "{again}");
    }
}

#[test]
fn what_exists_is_not_overwritten_and_a_cut_file_is_said_to_be_incomplete() {
    let house = House::open();
    furnish(&house);
    let first = export(&house, &house.key, "out.jsonl", &[]);
    let again = house.admin(&["export", "out.jsonl"]);
    assert_eq!((again.code, again.err.as_str()), (1, "error: out.jsonl exists already; choose another name\n"));
    house.place.write("notes.md", "mine");
    let full = house.admin(&["export", ".", "--format", "markdown"]);
    assert_eq!((full.code, full.err.as_str()), (1, "error: . is not empty; choose another folder\n"));
    let cut: String = first.lines().take(3).map(|line| format!("{line}\n")).collect();
    house.place.write("cut.jsonl", &cut);
    let key = elsewhere(&house);
    let done = house.with_key(&key, &["import", "cut.jsonl"]);
    assert_eq!(done.code, 3);
    assert!(done.out.starts_with("2 records saved, 0 already there, 1 not taken.\n"), "{done:?}");
    assert!(done.out.contains("cut.jsonl: the file is incomplete: its last line is missing"), "{done:?}");
    let none = house.admin(&["import", "nowhere.jsonl"]);
    assert_eq!((none.code, none.err.as_str()), (1, "error: there is no nowhere.jsonl\n"));
}

/// Imports a file of another program with a key of a new account, and returns the texts that came of it.
fn taken(house: &House, name: &str, content: &str) -> (Value, Vec<String>) {
    let key = elsewhere(house);
    house.place.write(name, content);
    let report = import(house, &key, &[name]);
    let again = import(house, &key, &[name]);
    assert_eq!(again["saved"], 0, "a second import adds nothing: {again}");
    let exported = house.with_key(&key, &["export"]);
    (report, texts(&exported.out))
}

#[test]
fn memories_of_other_services_are_taken() {
    let house = House::open();
    let graph = concat!(
        r#"{"type":"entity","name":"Ada","entityType":"person","observations":["leads the shop","is in Rome"]}"#,
        "\n",
        r#"{"type":"relation","from":"Ada","to":"Acme","relationType":"works_at"}"#,
        "\n",
        r#"{"type":"something","name":"else"}"#,
        "\n"
    );
    let (report, found) = taken(&house, "memory.jsonl", graph);
    assert_eq!((&report["formats"], &report["refused"]), (&json!(["memory-server"]), &json!(1)), "{report}");
    assert_eq!(report["problems"][0]["place"], "memory.jsonl:3");
    assert_eq!(found, ["Ada (person): leads the shop", "Ada (person): is in Rome", "Ada works at Acme"]);

    let mem0 = json!({"count": 2, "results": [
        {"id": "a1", "memory": "Prefers morning meetings", "user_id": "arjun", "created_at": "2024-07-26T10:29:36.630547-07:00"},
        {"id": "a2", "memory": "Works at TechCorp", "metadata": {"type": "professional"}},
        {"id": "a3"},
    ]});
    let (report, found) = taken(&house, "mem0.json", &mem0.to_string());
    assert_eq!((&report["formats"], &report["refused"]), (&json!(["mem0"]), &json!(1)), "{report}");
    assert_eq!(found, ["Prefers morning meetings", "Works at TechCorp"]);

    let message = |recipient: &str, text: &str| {
        json!({"message": {"author": {"role": "assistant"}, "recipient": recipient, "create_time": 1_700_000_000.5,
            "content": {"content_type": "text", "parts": [text]}}})
    };
    let chatgpt = json!([{"title": "Tea", "create_time": 1.0, "conversation_id": "c1", "mapping": {
        "1": message("all", "Of course!"), "2": message("bio", "Likes green tea.\nLives in Rome.")}}]);
    let (report, found) = taken(&house, "conversations.json", &chatgpt.to_string());
    assert_eq!(report["formats"], json!(["chatgpt"]), "{report}");
    assert_eq!(found, ["Likes green tea.", "Lives in Rome."]);

    let claude = json!([{"conversations_memory": "**Work**\n\n- Builds a shop\n- Uses Rust\n",
        "project_memories": {"p1": "Deploys on Tuesdays."}}]);
    let (report, found) = taken(&house, "memories.json", &claude.to_string());
    assert_eq!(report["formats"], json!(["claude"]), "{report}");
    assert_eq!(found, ["**Work**", "Builds a shop", "Uses Rust", "Deploys on Tuesdays."]);
}

#[test]
fn notes_and_rules_are_taken_with_their_file_as_the_source() {
    let house = House::open();
    let key = elsewhere(&house);
    for (name, text) in [
        ("vault/Home.md", "---\ntitle: The house\ntags:\n  - home\n---\nThe boiler is in the cellar.\n"),
        ("vault/deep/Shop.md", "# Shop\n\nOpen from nine to five.\n"),
        ("vault/.obsidian/app.md", "settings of a program"),
        ("vault/empty.md", "---\na: b\n---\n"),
        ("vault/picture.png", "no note"),
    ] {
        let path = house.place.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let report = import(&house, &key, &["vault", "--workspace", "vault"]);
    assert_eq!((&report["saved"], &report["refused"]), (&json!(2), &json!(1)), "{report}");
    let exported = house.with_key(&key, &["export"]).out;
    assert_eq!(texts(&exported), ["The house\n\nThe boiler is in the cellar.", "# Shop\n\nOpen from nine to five."]);
    let record: Value = serde_json::from_str(exported.lines().nth(1).expect("a record")).expect("JSON");
    assert_eq!((&record["source_id"], &record["workspace"]), (&json!("Home.md"), &json!("vault")));
    let hash = house.place.run(&["hash", "vault/Home.md"]).out;
    assert_eq!(record["source_hash"].as_str(), Some(hash.trim()), "`mnemon validate` compares it");

    let rules = "# Shop\n\n## Tests\n- The suite runs under nextest.\n- Fixtures are in `tests/data`.\n";
    let (report, found) = taken(&house, "AGENTS.md", rules);
    assert_eq!(report["formats"], json!(["rules"]), "{report}");
    let expected = ["Shop › Tests: The suite runs under nextest.", "Shop › Tests: Fixtures are in `tests/data`."];
    assert_eq!(found, expected);
}

#[test]
fn an_import_follows_no_link_and_names_those_that_lead_away() {
    let house = House::open();
    let folder = house.place.path();
    for (name, text) in [("vault/Home.md", "The boiler is in the cellar."), ("secret.md", "the key of the safe")] {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    std::fs::write(folder.join("vault/.hidden"), "the key of the shed").expect("a file");
    for (link, to) in [("away.md", "../secret.md"), ("hidden.md", ".hidden"), ("again.md", "Home.md"), ("up", "..")] {
        symlink(to, folder.join("vault").join(link)).expect("a link");
    }
    let key = elsewhere(&house);
    let done = house.with_key(&key, &["import", "vault"]);
    assert_eq!(done.code, 3, "{done:?}");
    assert!(done.out.starts_with("1 record saved, 0 already there, 2 not taken.\n"), "{done:?}");
    for link in ["vault/away.md", "vault/hidden.md"] {
        assert!(done.out.contains(&format!("{link}: it is a link, and links are not followed")), "{done:?}");
    }
    // The same of a folder that an export made, whose list of files somebody changed.
    export(&house, &key, "own", &["--format", "markdown"]);
    symlink("../..", folder.join("own/default/up")).expect("a link");
    symlink("../../secret.md", folder.join("own/default/away.md")).expect("a link");
    let order = folder.join("own/.mnemon/order");
    assert!(order.is_file(), "the list of files has another name now");
    std::fs::write(&order, "default/up/secret.md\ndefault/away.md\n../secret.md\n").expect("a list");
    let second = elsewhere(&house);
    house.with_key(&second, &["import", "own"]);
    for key in [&key, &second] {
        let exported = house.with_key(key, &["export"]).out;
        assert!(exported.contains("boiler") && !exported.contains("the key of"), "{exported}");
    }
}

#[test]
fn a_dry_run_tells_and_saves_nothing() {
    let house = House::open();
    house.place.write("AGENTS.md", "- The boiler is in the cellar.\n- The shop opens at nine.\n");
    let done = house.admin(&["import", "AGENTS.md", "--dry-run"]);
    let told = "2 records would be saved (dry run; nothing was changed), 0 already there, 0 not taken.\n";
    assert_eq!((done.code, done.out.as_str()), (0, told), "{done:?}");
    assert_eq!(texts(&house.admin(&["export"]).out), Vec::<String>::new());
}

#[test]
fn without_a_service_or_a_known_format_it_says_what_to_do() {
    let place = Place::new();
    place.write("a.csv", "name,text\n");
    let Done { code, err, .. } = place.run(&["import", "a.csv", "--url", "http://127.0.0.1:9", "--key", "mnm_x"]);
    assert_eq!(code, 1);
    assert!(err.contains("no answer from http://127.0.0.1:9"), "{err}");
    let house = House::open();
    house.place.write("a.csv", "name,text\n");
    house.place.write("a.zip", "PK");
    let unknown = house.admin(&["import", "a.csv"]);
    let told = "error: can't tell what a.csv is; name its format with --from (see `mnemon import --help`)\n";
    assert_eq!((unknown.code, unknown.err.as_str()), (1, told));
    let packed = house.admin(&["import", "a.zip"]);
    assert_eq!(packed.err, "error: a.zip is an archive; unpack it and import the files in it\n");
}

fn many(house: &House, count: usize) {
    let line = |n: usize| {
        format!("{{\"type\":\"record\",\"content\":\"Locker {n} belongs to the person who has badge {n}.\"}}\n")
    };
    house.place.write("many.jsonl", &(0..count).map(line).collect::<String>());
}

#[test]
fn at_a_terminal_an_import_shows_how_far_it_is() {
    let house = House::open();
    many(&house, 700);
    let connection = ["--url", house.service.url.as_str(), "--key", house.key.as_str()];
    let done = at_terminal(house.place.command(&[&["import", "many.jsonl"], &connection[..]].concat()), "");
    assert_eq!((done.code, done.out.as_str()), (0, "700 records saved, 0 already there, 0 not taken.\n"), "{done:?}");
    assert!(done.err.contains("importing: 500 of 700 records (71 %), about "), "{}", done.err);
    assert!(done.err.contains("importing: 700 of 700 records (100 %), about 0 s left"), "{}", done.err);
    let piped = house.admin(&["import", "many.jsonl"]);
    assert_eq!((piped.code, piped.err.as_str()), (0, ""), "nothing is shown elsewhere");
}

#[test]
fn an_import_that_is_stopped_says_how_far_it_came_and_the_same_command_goes_on() {
    let house = House::open();
    let count = 20_000;
    many(&house, count);
    let connection = ["--url", house.service.url.as_str(), "--key", house.key.as_str()];
    let mut command = house.place.command(&[&["import", "many.jsonl"], &connection[..]].concat());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let running = command.spawn().expect("the binary runs");
    let until = std::time::Instant::now() + std::time::Duration::from_secs(120);
    while house.admin_json(&["record", "list", "--limit", "1"])["records"] == json!([]) {
        assert!(std::time::Instant::now() < until, "nothing was ever saved");
    }
    signal(&running.id().to_string(), "INT");
    let stopped = Done::of(running.wait_with_output().expect("it ends"));
    assert_eq!((stopped.code, stopped.out.as_str()), (130, ""), "{stopped:?}");
    let said = stopped.err.strip_prefix("The import stopped after ").expect("it says so");
    assert!(said.ends_with(" records, which stay. Run the same command again to continue\n"), "{said}");
    let told: u64 = said.split(' ').next().and_then(|number| number.parse().ok()).expect("a number");
    let rest = import(&house, &house.key, &["many.jsonl"]);
    let (saved, present) = (rest["saved"].as_u64().expect("a number"), rest["present"].as_u64().expect("a number"));
    assert!(present >= told && saved > 0 && saved + present == count as u64, "{told}: {rest}");
}
