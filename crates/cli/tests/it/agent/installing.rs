//! `mnemon agent install` as a person types it, for each client.

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
        assert!(done.out.contains("The previous version is in ~/.local/share/mnemon/backups/"), "{}", done.out);
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
