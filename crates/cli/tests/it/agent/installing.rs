//! `mnemon agent install` as a person types it, for each client.

use std::path::Path;
use std::process::Command;

use mnemon_testkit::TestServer;

use super::process::Home;
use crate::process::Done;

const CLIENTS: [(&str, &str, &str); 11] = [
    ("claude-code", ".claude.json", "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}"),
    ("claude-desktop", ".config/Claude/claude_desktop_config.json", "{\n  \"mcpServers\": {}\n}\n"),
    ("cline", ".cline/data/settings/cline_mcp_settings.json", "{\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}\n"),
    ("copilot-cli", ".copilot/mcp-config.json", "{\"mcpServers\":{\"x\":{\"tools\":[\"*\"]}}}"),
    ("gemini-cli", ".gemini/settings.json", "{\n  // mine\n  \"ui\": { \"theme\": \"x\" }\n}\n"),
    ("opencode", ".config/opencode/opencode.jsonc", "{\n  \"theme\": \"x\", // dark\n  \"mcp\": {},\n}\n"),
    ("windsurf", ".codeium/windsurf/mcp_config.json", "{\r\n  \"mcpServers\": {}\r\n}\r\n"),
    ("zed", ".config/zed/settings.json", "// Zed settings\n{\n  \"theme\": \"One Dark\", // mine\n}\n"),
    ("codex", ".codex/config.toml", "# mine\nmodel = \"o4\" # fast\n\n[mcp_servers.x]\ncommand = \"x\"\n"),
    ("cursor", ".cursor/mcp.json", "{ \"mcpServers\": { \"x\": { \"url\": \"https://x.example/mcp\" } } }"),
    ("vscode", ".config/Code/User/mcp.json", "{\n\t// mine\n\t\"servers\": {\n\t\t\"x\": {}, // last\n\t},\n}\n"),
];

/// For a service that is not there, so that nothing that happens to run here is asked.
const KEY: [(&str, &str); 2] = [("MNEMON_URL", "http://127.0.0.1:9"), ("MNEMON_API_KEY", "mnm_secret")];

#[test]
fn every_client_takes_the_agent_in_and_gives_it_back() {
    for (client, file, before) in CLIENTS {
        let home = Home::new();
        let path = home.write(file, before);
        let dry = home.run(&["install", "--client", client, "--dry-run"], &KEY);
        assert_eq!(dry.code, 0, "{}", dry.err);
        assert!(dry.out.contains("\n+ ") && dry.out.contains("nothing was changed"), "{}", dry.out);
        assert_eq!(std::fs::read_to_string(&path).expect("there"), before);
        assert!(!home.path().join(".config/mnemon/agent.toml").exists(), "a dry run keeps nothing");

        let done = home.run(&["install", "--client", client], &KEY);
        assert_eq!(done.code, 0, "{}", done.err);
        let with = std::fs::read_to_string(&path).expect("there");
        assert!(with.contains(env!("CARGO_BIN_EXE_mnemon")) && with.contains("agent"), "{with}");
        assert!(!with.contains("mnm_secret"), "the key is not in the client's configuration");
        let kept = std::fs::read_to_string(home.path().join(".config/mnemon/agent.toml")).expect("kept");
        assert!(kept.contains("mnm_secret") && done.out.contains("only you can read that file"), "{}", done.out);
        assert!(done.out.contains("The previous version is in ~/.local/state/mnemon/backups/"), "{}", done.out);
        let again = home.run(&["install", "--client", client], &[]);
        assert!(again.out.contains("already contains the agent"), "{}", again.out);

        let gone = home.run(&["install", "--client", client, "--uninstall"], &[]);
        assert_eq!(gone.code, 0, "{}", gone.err);
        assert_eq!(std::fs::read_to_string(&path).expect("there"), before, "{client}");
        let nothing = home.run(&["install", "--client", client, "--uninstall", "--json"], &[]).json();
        assert_eq!(nothing["changed"], false);
    }
}

#[test]
fn a_project_file_and_a_wrong_client_are_understood() {
    let home = Home::new();
    let done = home.run(&["install", "--client", "claude-code", "--file", ".mcp.json"], &[]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.contains("No API key yet"), "{}", done.out);
    assert!(home.path().join(".mcp.json").exists() && !home.path().join(".claude.json").exists());
    let wrong = home.run(&["install", "--client", "emacs"], &[]);
    assert_eq!(wrong.code, 1);
    assert_eq!(
        wrong.err,
        "error: unknown client 'emacs'; choose one of claude-code, claude-desktop, cline, codex, copilot-cli, cursor, \
         gemini-cli, opencode, vscode, windsurf, zed\n"
    );
    home.write(".cursor/mcp.json", "{ broken");
    let broken = home.run(&["install", "--client", "cursor"], &[]);
    assert!(broken.code == 1 && broken.err.contains("fix it first. Nothing was changed"), "{}", broken.err);
}

/// Everything under a folder, by name.
fn files(home: &Home) -> Vec<(String, String)> {
    let walk = ignore::WalkBuilder::new(home.path()).standard_filters(false).sort_by_file_path(Path::cmp).build();
    let entries = walk.flatten().filter(|entry| entry.path() != home.path());
    let entries = entries.filter(|entry| !entry.path().starts_with(home.path().join(".local")));
    let named = entries.map(|entry| {
        let name = entry.path().strip_prefix(home.path()).expect("inside").display().to_string();
        (name, std::fs::read_to_string(entry.path()).unwrap_or_default())
    });
    named.collect()
}

#[test]
fn hooks_and_instructions_come_and_go_without_a_trace_and_what_stays_is_named() {
    for (client, hooks, instructions) in [
        ("claude-code", ".claude/settings.json", ".claude/CLAUDE.md"),
        ("codex", ".codex/hooks.json", ".codex/AGENTS.md"),
        ("cursor", ".cursor/hooks.json", ".cursor/rules/mnemon.mdc"),
    ] {
        for is_there in [false, true] {
            let home = Home::new();
            if is_there {
                home.write(hooks, "{ \"hooks\": {} }\n");
                home.write(instructions, "# Ours\n");
            }
            let before = files(&home);
            let all = ["install", "--client", client, "--hooks", "--instructions", "--workspace", "auto"];
            let key = KEY;
            let dry = home.run(&[&all[..], &["--dry-run"]].concat(), &key);
            assert!(dry.code == 0 && dry.out.contains("Dry run"), "{dry:?}");
            assert_eq!(files(&home), before, "a dry run changes nothing");
            let done = home.run(&all, &key);
            assert_eq!(done.code, 0, "{done:?}");
            for text in ["Added the agent.", "Added the hooks.", "Added the instructions."] {
                assert!(done.out.contains(text), "{}", done.out);
            }
            let hook = std::fs::read_to_string(home.path().join(hooks)).expect("there");
            assert!(hook.contains(" agent --workspace auto hook\""), "{hook}");
            let block = std::fs::read_to_string(home.path().join(instructions)).expect("there");
            assert!(block.contains("<!-- mnemon:begin -->\n") && block.contains("`remember`"), "{block}");
            let gone = home.run(&["install", "--client", client, "--uninstall"], &[]);
            assert_eq!(gone.code, 0, "{gone:?}");
            for text in ["~/.config/mnemon/agent.toml (the URL and the key", "~/.local/state/mnemon (consent"] {
                assert!(gone.out.contains(&format!("Left in place: {text}")), "{}", gone.out);
            }
            let after: Vec<_> = files(&home).into_iter().filter(|(name, _)| !name.starts_with(".config")).collect();
            assert_eq!(after, before, "{client}");
        }
    }
}

/// Where earlier versions kept it, the records of a service lie too.
#[test]
fn state_leaves_the_folder_of_the_records_and_nothing_invites_to_delete_that() {
    let home = Home::new();
    let records = home.write(".local/share/mnemon/mnemon.db", "records");
    home.write(".local/share/mnemon/consent.toml", "");
    home.write(".local/share/mnemon/sessions/a.json", "{}");
    home.run(&["install", "--client", "zed"], &[]);
    let gone = home.run(&["install", "--client", "zed", "--uninstall"], &[]);
    assert!(gone.code == 0 && !gone.out.contains(".local/share"), "{gone:?}");
    let is_there = |name: &str| home.path().join(name).exists();
    for name in ["consent.toml", "sessions/a.json"] {
        assert!(is_there(&format!(".local/state/mnemon/{name}")), "{name} came along");
        assert!(!is_there(&format!(".local/share/mnemon/{name}")), "{name} left");
    }
    assert_eq!(std::fs::read_to_string(records).expect("it stays"), "records");
}

#[test]
fn instructions_go_where_they_are_told_and_clients_without_hooks_say_so() {
    let home = Home::new();
    home.write("AGENTS.md", "# Team\n");
    let done = home.run(&["install", "--client", "vscode", "--instructions=AGENTS.md"], &[]);
    assert_eq!(done.code, 0, "{done:?}");
    let text = std::fs::read_to_string(home.path().join("AGENTS.md")).expect("there");
    assert!(text.starts_with("# Team\n\n<!-- mnemon:begin -->\n"), "{text}");
    home.run(&["install", "--client", "vscode", "--uninstall"], &[]);
    assert_eq!(std::fs::read_to_string(home.path().join("AGENTS.md")).expect("there"), "# Team\n");
    for (arguments, words) in [
        (["--client", "vscode", "--hooks"], "error: vscode has no hooks; leave out --hooks\n"),
        (["--client", "claude-desktop", "--instructions"], "error: claude-desktop reads no file of instructions; "),
    ] {
        let done = home.run(&[&["install"], &arguments[..]].concat(), &[]);
        assert!(done.code == 1 && done.err.starts_with(words), "{done:?}");
    }
    let cursor = home.run(&["install", "--client", "cursor", "--hooks", "--prompt-hook"], &[]);
    assert!(cursor.err.contains("can't add to a prompt"), "{cursor:?}");
    assert!(!home.path().join(".cursor").exists(), "nothing is done by halves");
}

#[test]
fn a_difference_hides_what_others_keep_in_the_file() {
    let token = concat!("ghp_", "0123456789abcdefghijklmnopqrstuvwxyz");
    let plain = format!(
        "{{\"mcpServers\":{{\"x\":{{\"headers\":{{\"Authorization\":\"Bearer {token}\"}},\"env\":{{\"PIN\":\"4711\"}}}}}}}}"
    );
    let spread = format!(
        "{{\n  \"mcpServers\": {{\n    \"x\": {{ \"env\": {{ \"PIN\": \"4711\", \"T\": \"{token}\" }} }}\n  }}\n}}\n"
    );
    for text in [plain, spread] {
        let home = Home::new();
        home.write(".claude.json", &text);
        for more in [&["--dry-run"][..], &["--dry-run", "--json"], &["--uninstall", "--dry-run"], &[], &["--uninstall"]]
        {
            let done = home.run(&[&["install", "--client", "claude-code"], more].concat(), &[]);
            assert!(done.code == 0 && !done.out.contains(token) && !done.out.contains("4711"), "{done:?}");
        }
    }
}

const SETTINGS: &str = ".config/mnemon/agent.toml";

fn mnemon(home: &Home, arguments: &[&str]) -> Done {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mnemon"));
    command.args(arguments).current_dir(home.path()).env_clear().env("HOME", home.path());
    Done::of(command.output().expect("the binary runs"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejected_key_is_refused_and_a_working_one_is_not_replaced_silently() {
    let server = TestServer::start().await;
    let (ana, ben) = (server.new_user().await, server.new_user().await);
    let home = Home::new();
    let install = |url: &str, key: &str, more: &[&str]| {
        home.run(&[&["install", "--client", "cursor", "--url", url, "--key", key], more].concat(), &[])
    };
    let settings = || std::fs::read_to_string(home.path().join(SETTINGS)).unwrap_or_default();
    let refused = install(&server.url, "mnm_wrong", &[]);
    assert!(refused.code == 1 && refused.err.contains(" does not know this key"), "{refused:?}");
    assert!(refused.err.ends_with(". Nothing was changed\n"), "{refused:?}");
    assert!(settings().is_empty() && !home.path().join(".cursor").exists());

    let away = install("http://127.0.0.1:9", "mnm_any", &[]);
    assert_eq!(away.code, 0, "{away:?}");
    assert!(away.out.contains("The key was not checked: no answer from http://127.0.0.1:9"), "{}", away.out);
    let spared = install(&server.url, &ana.key, &[]);
    assert!(spared.code == 1 && spared.err.contains("holds a key that can't be checked now"), "{spared:?}");
    assert_eq!(install(&server.url, &ana.key, &["--replace"]).code, 0);
    let kept = settings();
    assert!(kept.contains(&ana.key), "{kept}");
    assert_eq!(install(&server.url, &ana.key, &[]).code, 0, "the same key again");
    let spared = install(&server.url, &ben.key, &[]);
    assert!(spared.code == 1 && spared.err.contains(" that works, for http://127.0.0.1:"), "{spared:?}");
    assert!(spared.err.contains("pass --replace to replace it"), "{spared:?}");
    assert_eq!(settings(), kept);
    assert_eq!(install(&server.url, &ben.key, &["--replace"]).code, 0);
    assert!(settings().contains(&ben.key));
}

#[test]
fn a_program_in_a_build_folder_is_said_to_go_and_can_be_copied() {
    let home = Home::new();
    let plain = home.run(&["install", "--client", "zed"], &[]);
    assert!(plain.out.contains(" lies in a build folder, and `cargo clean` would break the assistant"), "{plain:?}");
    home.run(&["install", "--client", "zed", "--uninstall"], &[]);
    let copied = home.run(&["install", "--client", "zed", "--copy"], &[]);
    assert!(copied.code == 0 && !copied.out.contains("build folder"), "{copied:?}");
    let copy = home.path().join(".local/bin/mnemon");
    let entry = std::fs::read_to_string(home.path().join(".config/zed/settings.json")).expect("there");
    assert!(entry.contains(&copy.display().to_string()), "{entry}");
    let runs = Command::new(&copy).arg("--version").output().expect("the copy runs");
    assert!(runs.status.success());
    // What `doctor` says of it, before and after the copy is gone.
    let said = mnemon(&home, &["doctor"]).out;
    assert!(said.contains("ok      zed, the agent: ~/.config/zed/settings.json starts "), "{said}");
    std::fs::remove_file(copy).expect("it is there");
    let said = mnemon(&home, &["doctor"]).out;
    let again = "which is not there; run `mnemon agent install --client zed` again";
    assert!(said.lines().any(|line| line.starts_with("FAILED  zed, the agent: ") && line.ends_with(again)), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_checks_every_client_hook_and_saved_key() {
    let server = TestServer::start().await;
    let ana = server.new_user().await;
    let home = Home::new();
    for (client, ..) in CLIENTS {
        let more: &[&str] = if matches!(client, "claude-code" | "codex" | "cursor") { &["--hooks"] } else { &[] };
        let connection = ["--url", &server.url, "--key", &ana.key];
        let done = home.run(&[&["install", "--client", client], more, &connection[..]].concat(), &[]);
        assert_eq!(done.code, 0, "{client}: {done:?}");
    }
    home.write(".config/mnemon/profiles/old.toml", format!("url = \"{}\"\nkey = \"mnm_gone\"\n", server.url));
    let said = mnemon(&home, &["doctor"]).out;
    for (client, ..) in CLIENTS {
        assert!(said.contains(&format!("ok      {client}, the agent: ")), "{client}: {said}");
        let has_hooks = said.contains(&format!("ok      {client}, the hooks: "));
        assert_eq!(has_hooks, matches!(client, "claude-code" | "codex" | "cursor"), "{client}: {said}");
    }
    assert!(said.contains(&format!("ok      saved key: {} accepts it, as ", server.url)), "{said}");
    assert!(
        said.contains(&format!("FAILED  saved key of profile old: {} does not know this key", server.url)),
        "{said}"
    );
    home.write(".cursor/mcp.json", "{ broken");
    let said = mnemon(&home, &["doctor"]).out;
    assert!(said.contains("FAILED  cursor, the agent: ") && said.contains(" is not valid JSON"), "{said}");
}
