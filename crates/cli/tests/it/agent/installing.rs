//! `mnemon agent install` as a person types it, for each client.

use std::path::Path;

use super::process::Home;

const CLIENTS: [(&str, &str, &str); 5] = [
    ("claude-code", ".claude.json", "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}"),
    ("claude-desktop", ".config/Claude/claude_desktop_config.json", "{\n  \"mcpServers\": {}\n}\n"),
    ("codex", ".codex/config.toml", "# mine\nmodel = \"o4\" # fast\n\n[mcp_servers.x]\ncommand = \"x\"\n"),
    ("cursor", ".cursor/mcp.json", "{ \"mcpServers\": { \"x\": { \"url\": \"https://x.example/mcp\" } } }"),
    ("vscode", ".config/Code/User/mcp.json", "{\n\t// mine\n\t\"servers\": {\n\t\t\"x\": {}, // last\n\t},\n}\n"),
];

#[test]
fn every_client_takes_the_agent_in_and_gives_it_back() {
    for (client, file, before) in CLIENTS {
        let home = Home::new();
        let path = home.write(file, before);
        let dry = home.run(&["install", "--client", client, "--dry-run"], &[("MNEMON_API_KEY", "mnm_secret")]);
        assert_eq!(dry.code, 0, "{}", dry.err);
        assert!(dry.out.contains("\n+ ") && dry.out.contains("nothing was changed"), "{}", dry.out);
        assert_eq!(std::fs::read_to_string(&path).expect("there"), before);
        assert!(!home.path().join(".config/mnemon/agent.toml").exists(), "a dry run keeps nothing");

        let done = home.run(&["install", "--client", client], &[("MNEMON_API_KEY", "mnm_secret")]);
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
        "error: unknown client 'emacs'; choose one of claude-code, claude-desktop, codex, cursor, vscode\n"
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
            let key = [("MNEMON_API_KEY", "mnm_secret")];
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
