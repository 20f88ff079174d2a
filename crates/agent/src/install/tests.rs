//! Configurations in the shapes that people really have, before, with and after the agent.

use super::*;
use crate::places::Environment;

struct Ground {
    folder: tempfile::TempDir,
    places: Places,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::find(&Environment::from([("HOME".to_owned(), folder.path().into())])).unwrap();
        Self { folder, places }
    }

    fn install(&self, target: Target, path: &Path, is_replacing: bool) -> Result<Plan, InstallError> {
        let plan = plan_install(target, path, &entry(), is_replacing)?;
        if !plan.is_empty() {
            apply(&plan, target, &self.places, true)?;
        }
        Ok(plan)
    }

    fn uninstall(&self, target: Target, path: &Path) {
        let plan = plan_uninstall(Piece::Server, target, path, &self.places).unwrap();
        if !plan.is_empty() {
            apply(&plan, target, &self.places, false).unwrap();
        }
    }
}

fn entry() -> Entry {
    Entry { command: "/opt/mnemon \"x\"/mnemon".to_owned(), args: vec!["agent".to_owned()] }
}

/// What each client writes itself, and what people and their editors turn it into.
fn shapes(target: Target) -> Vec<&'static str> {
    match target {
        Target::ClaudeCode => vec![
            "{\n  \"numStartups\": 212,\n  \"tipsHistory\": {\n    \"new-user-warmup\": 3\n  },\n  \"mcpServers\": {\n    \"github\": {\n      \"type\": \"http\",\n      \"url\": \"https://api.githubcopilot.com/mcp/\"\n    }\n  },\n  \"projects\": {\n    \"/home/ana/shop\": {\n      \"mcpServers\": {},\n      \"allowedTools\": []\n    }\n  },\n  \"userID\": \"é\"\n}",
            "{\"numStartups\":1,\"projects\":{}}",
            "{\n  \"mcpServers\": {}\n}\n",
            "{}",
        ],
        Target::ClaudeDesktop => vec![
            "{\r\n  \"mcpServers\": {\r\n    \"filesystem\": {\r\n      \"command\": \"npx\",\r\n      \"args\": [\"-y\", \"server-filesystem\", \"C:\\\\Users\\\\ana\"]\r\n    }\r\n  },\r\n  \"globalShortcut\": \"\"\r\n}\r\n",
            "{\n\t\"globalShortcut\": \"Ctrl+Space\"\n}",
        ],
        Target::Cursor => vec![
            "{\n    \"mcpServers\": {\n        \"linear\": {\n            \"url\": \"https://mcp.linear.app/mcp\"\n        },\n        \"db\": { \"command\": \"uvx\", \"args\": [\"mcp-server-sqlite\"], \"env\": { \"A\": \"1\" } }\n    }\n}\n",
            "{ \"mcpServers\": { \"one\": { \"url\": \"https://one.example/mcp\" } } }",
        ],
        Target::Cline => vec!["{\n  \"mcpServers\": {\n    \"x\": { \"command\": \"x\", \"disabled\": true }\n  }\n}"],
        Target::CopilotCli => vec!["{\n  \"mcpServers\": {}\n}", ""],
        Target::GeminiCli => vec![
            "{\n  \"security\": {\n    \"auth\": { \"selectedType\": \"gemini-api-key\" }\n  }\n}",
            "{\n  // mine\n  \"mcpServers\": { \"git\": { \"command\": \"uvx\" } },\n}\n",
        ],
        Target::OpenCode => vec![
            "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    \"jira\": {\n      \"type\": \"remote\" // ours\n    },\n  },\n}\n",
        ],
        Target::Windsurf => {
            vec!["{\n    \"mcpServers\": {\n        \"a\": { \"serverUrl\": \"https://a.example/mcp\" }\n    }\n}\n"]
        }
        Target::Zed => vec![
            "// Zed settings\n//\n// For information, see the documentation\n{\n  \"ui_font_size\": 16,\n  // servers\n  \"context_servers\": {\n    \"x\": {\n      \"source\": \"custom\",\n      \"command\": \"x\",\n    },\n  },\n}\n",
            "{\n  \"vim_mode\": true\n}\n",
        ],
        Target::VsCode => vec![
            "{\n\t// the team's servers\n\t\"servers\": {\n\t\t\"playwright\": {\n\t\t\t\"command\": \"npx\", // pinned below\n\t\t\t\"args\": [\"@playwright/mcp@0.0.1\"],\n\t\t}, // keep last\n\t},\n\t/* asked for once */\n\t\"inputs\": [\n\t\t{ \"id\": \"token\", \"type\": \"promptString\" },\n\t],\n}\n",
            "{\n  \"servers\": {\n    // nothing yet\n  }\n}",
            "\u{feff}{\n  \"inputs\": []\n}\n",
        ],
        Target::Codex => vec![
            "# my settings\nmodel = \"gpt-5.2-codex\"  # fast\napproval_policy = \"on-request\"\n\n[mcp_servers.docs]\nurl = \"https://docs.example/mcp\"\nbearer_token_env_var = \"DOCS\"\n\n[mcp_servers.docs.env_http_headers]\nX-Team = \"TEAM\"\n\n# trusted\n[projects.\"/home/ana/shop\"]\ntrust_level = \"trusted\"",
            "model = \"o4\"\r\n\r\n[tui]\r\nnotifications = true\r\n",
            "mcp_servers = { docs = { command = \"docs\", args = [] } } # one line\nmodel = \"o4\"\n",
            "mcp_servers.docs.command = \"docs\"\n[tui]\nx = 1\n",
            "",
        ],
    }
}

fn has_entry(target: Target, text: &str) -> bool {
    match target {
        Target::Codex => toml::has_entry(target.container(), text).unwrap(),
        _ => json::has_entry(target.container(), text).unwrap(),
    }
}

/// Everything of a text must be found again, in its order: an insertion takes nothing away.
fn is_contained(small: &str, large: &str) -> bool {
    let mut rest = large.chars();
    small.chars().all(|wanted| rest.any(|c| c == wanted))
}

#[test]
fn every_shape_takes_the_agent_in_and_comes_back_byte_for_byte() {
    for target in Target::ALL {
        for before in shapes(target) {
            let ground = Ground::new();
            let path = ground.folder.path().join("configuration");
            fs::write(&path, before).unwrap();
            ground.install(target, &path, false).unwrap();
            let with = fs::read_to_string(&path).unwrap();
            assert!(has_entry(target, &with), "{}: {with}", target.as_str());
            assert!(is_contained(before, &with), "{}: {with}", target.as_str());
            assert!(ground.install(target, &path, false).unwrap().is_empty(), "twice is as good as once");
            ground.uninstall(target, &path);
            assert_eq!(fs::read_to_string(&path).unwrap(), before, "{}: it was {with}", target.as_str());
        }
    }
}

#[test]
fn what_is_changed_in_between_stays() {
    for target in Target::ALL {
        for before in shapes(target) {
            let ground = Ground::new();
            let path = ground.folder.path().join("configuration");
            fs::write(&path, before).unwrap();
            ground.install(target, &path, false).unwrap();
            let with = fs::read_to_string(&path).unwrap();
            // Another entry, put in by hand at the end.
            let change = |text: &str| match target {
                Target::Codex => format!("{text}\n[later]\nx = 1\n"),
                _ => match text.rfind('}') {
                    Some(end) => {
                        let comma = if text[..end].trim_end().ends_with(['{', ',']) { "" } else { "," };
                        format!("{}{comma} \"later\": 1 {}", &text[..end], &text[end..])
                    }
                    None => text.to_owned(),
                },
            };
            fs::write(&path, change(&with)).unwrap();
            ground.uninstall(target, &path);
            let left = fs::read_to_string(&path).unwrap();
            assert!(!has_entry(target, &left), "{}: {left}", target.as_str());
            assert!(left.contains("later"), "{}: {left}", target.as_str());
            let is_whole = before.lines().map(str::trim).all(|line| left.contains(line.trim_end_matches(['}', ']'])));
            assert!(is_whole, "{}: {before}\nbecame\n{left}", target.as_str());
        }
    }
}

#[test]
fn a_file_that_was_not_there_goes_again() {
    for target in Target::ALL {
        let ground = Ground::new();
        let path = target.file(&ground.places);
        let plan = ground.install(target, &path, false).unwrap();
        assert_eq!(plan.before, None);
        let text = fs::read_to_string(&path).unwrap();
        assert!(has_entry(target, &text) && text.ends_with('\n'), "{text}");
        ground.uninstall(target, &path);
        assert!(!path.exists(), "{}", target.as_str());
        assert!(plan_uninstall(Piece::Server, target, &path, &ground.places).unwrap().is_empty());
    }
}

#[test]
fn an_entry_of_somebody_else_is_replaced_only_when_told() {
    for (target, before) in [
        (
            Target::Cursor,
            "{\n  \"mcpServers\": {\n    \"mnemon\": { \"url\": \"http://127.0.0.1:7676/mcp\" },\n    \"x\": {}\n  }\n}\n",
        ),
        (Target::Codex, "[mcp_servers.mnemon]\nurl = \"http://127.0.0.1:7676/mcp\"\n\n[tui] # last\n"),
        (Target::Codex, "mcp_servers = { mnemon = { url = \"u\" }, x = { command = \"x\" } }\n"),
    ] {
        let ground = Ground::new();
        let path = ground.folder.path().join("configuration");
        fs::write(&path, before).unwrap();
        let error = ground.install(target, &path, false).unwrap_err().to_string();
        assert!(error.contains("--replace"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
        ground.install(target, &path, true).unwrap();
        let with = fs::read_to_string(&path).unwrap();
        assert!(with.contains("agent") && !with.contains("url"), "{with}");
        assert!(with.contains("x") || with.contains("last"), "{with}");
        ground.uninstall(target, &path);
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_left_as_it_is() {
    for (target, text, words) in [
        (Target::Cursor, "{ \"mcpServers\": ", "is not valid JSON"),
        (Target::Cursor, "[]", "must be an object"),
        (Target::VsCode, "{ \"servers\": [] }", "servers must be an object"),
        (Target::Codex, "model = ", "is not valid TOML"),
        (Target::Codex, "mcp_servers = 1\n", "must be a table"),
    ] {
        let ground = Ground::new();
        let path = ground.folder.path().join("configuration");
        fs::write(&path, text).unwrap();
        let error = ground.install(target, &path, true).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("Nothing was changed"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[cfg(unix)]
#[test]
fn links_and_modes_stay() {
    use std::os::unix::fs::PermissionsExt;
    let ground = Ground::new();
    let (real, link) = (ground.folder.path().join("dotfiles.json"), ground.folder.path().join("link.json"));
    fs::write(&real, "{}").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    ground.install(Target::Cursor, &link, false).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains(ENTRY));
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    ground.uninstall(Target::Cursor, &link);
    assert_eq!(fs::read_to_string(&real).unwrap(), "{}");
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_out_of_a_project_is_refused() {
    let ground = Ground::new();
    let (project, precious) = (ground.folder.path().join("project"), ground.folder.path().join("precious"));
    fs::create_dir_all(project.join(".git")).unwrap();
    fs::create_dir_all(project.join("inside")).unwrap();
    fs::write(&precious, "mine").unwrap();
    std::os::unix::fs::symlink(&precious, project.join("CLAUDE.md")).unwrap();
    std::os::unix::fs::symlink("..", project.join(".github")).unwrap();
    std::os::unix::fs::symlink("inside", project.join("linked")).unwrap();
    for name in ["CLAUDE.md", ".github/copilot-instructions.md", ".github/deeper/x.md"] {
        let error = plan_instructions(&project.join(name)).unwrap_err().to_string();
        assert!(error.contains("by a link, out of") && error.contains("Nothing was changed"), "{error}");
    }
    assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
    let plan = plan_instructions(&project.join("linked/AGENTS.md")).unwrap();
    assert!(plan.path.ends_with("inside/AGENTS.md"), "{:?}", plan.path);
}

#[test]
fn the_difference_shows_what_is_put_in() {
    let (before, after) = ("a\nb\nc\n", "a\nb\nnew\nc\n");
    let plan = Plan { piece: Piece::Server, path: "x".into(), before: Some(before.into()), after: Some(after.into()) };
    assert_eq!(plan.difference(&[]), "  a\n  b\n+ new\n  c");
    assert_eq!(inserted(&plan).as_deref(), Some("new\n"));
}

const WITH_HOOKS: [Target; 3] = [Target::ClaudeCode, Target::Codex, Target::Cursor];

/// Hook files as people have them.
fn hook_shapes() -> Vec<&'static str> {
    vec![
        "{}",
        "{\n  \"model\": \"opus\",\n  \"permissions\": { \"allow\": [\"Bash(ls:*)\"] }\n}\n",
        "{\"hooks\":{\"SessionStart\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"date\"}]}]}}",
        "{\n\t\"hooks\": {\n\t\t\"SessionStart\": [],\n\t\t\"Stop\": [\n\t\t\t{ \"hooks\": [{ \"type\": \"command\", \"command\": \"say done\" }] }\n\t\t]\n\t}\n}",
        "{\r\n  \"version\": 1,\r\n  \"hooks\": {\r\n    \"sessionStart\": [\r\n      { \"command\": \"./mine.sh\" }\r\n    ]\r\n  }\r\n}\r\n",
    ]
}

fn hooks(has_prompts: bool) -> Hooks {
    Hooks { command: "/opt/mnemon agent --workspace auto hook".to_owned(), has_prompts }
}

#[test]
fn every_hook_file_takes_the_hooks_in_and_comes_back_byte_for_byte() {
    for (target, has_prompts) in WITH_HOOKS.into_iter().flat_map(|target| [(target, false), (target, true)]) {
        for before in hook_shapes() {
            let ground = Ground::new();
            let path = ground.folder.path().join("hooks.json");
            fs::write(&path, before).unwrap();
            let plan = plan_hooks(target, &path, &hooks(has_prompts)).unwrap();
            apply(&plan, target, &ground.places, true).unwrap();
            let with = fs::read_to_string(&path).unwrap();
            let parsed: serde_json::Value = serde_json::from_str(&with).unwrap();
            let event = if target == Target::Cursor { "sessionStart" } else { "SessionStart" };
            let ours = &parsed["hooks"][event].as_array().unwrap().last().unwrap().to_string();
            assert!(ours.contains("/opt/mnemon agent --workspace auto hook"), "{with}");
            let has_prompt_hook = !parsed["hooks"]["UserPromptSubmit"].is_null();
            assert_eq!(has_prompt_hook, has_prompts && target != Target::Cursor, "{with}");
            assert!(plan_hooks(target, &path, &hooks(has_prompts)).unwrap().is_empty(), "twice is as good as once");
            let back = plan_uninstall(Piece::Hooks, target, &path, &ground.places).unwrap();
            apply(&back, target, &ground.places, false).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), before, "it was {with}");
        }
    }
}

#[test]
fn hooks_that_others_added_since_stay() {
    for target in WITH_HOOKS {
        for before in hook_shapes() {
            let ground = Ground::new();
            let path = ground.folder.path().join("hooks.json");
            fs::write(&path, before).unwrap();
            let plan = plan_hooks(target, &path, &hooks(true)).unwrap();
            apply(&plan, target, &ground.places, true).unwrap();
            let mut changed: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            changed["later"] = serde_json::json!(true);
            fs::write(&path, changed.to_string()).unwrap();
            let back = plan_uninstall(Piece::Hooks, target, &path, &ground.places).unwrap();
            let mut expected: serde_json::Value = serde_json::from_str(before).unwrap();
            expected["later"] = serde_json::json!(true);
            let mut left: serde_json::Value = serde_json::from_str(back.after.as_deref().unwrap()).unwrap();
            // An empty list, an empty object and the version that Cursor needs say nothing.
            for value in [&mut expected, &mut left] {
                value.as_object_mut().unwrap().remove("version");
                if let Some(hooks) = value["hooks"].as_object_mut() {
                    hooks.retain(|_, list| list.as_array().is_some_and(|list| !list.is_empty()));
                }
                if value["hooks"].as_object().is_none_or(|hooks| hooks.is_empty()) {
                    value.as_object_mut().unwrap().remove("hooks");
                }
            }
            assert_eq!(left, expected, "{}", target.as_str());
        }
    }
}

#[test]
fn a_hook_file_that_cannot_be_read_is_left_as_it_is() {
    for (text, words) in [
        ("{ \"hooks\": ", "is not valid JSON"),
        ("[]", "must be an object"),
        ("{ \"hooks\": [] }", "hooks must be an object"),
        ("{ \"hooks\": { \"SessionStart\": {} } }", "hooks.SessionStart must be a list"),
    ] {
        let ground = Ground::new();
        let path = ground.folder.path().join("hooks.json");
        fs::write(&path, text).unwrap();
        let error = plan_hooks(Target::ClaudeCode, &path, &hooks(true)).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("Nothing was changed"), "{error}");
    }
}

#[test]
fn a_file_and_its_folders_that_were_not_there_go_again() {
    let ground = Ground::new();
    let path = ground.folder.path().join("project/.cursor/rules/mnemon.mdc");
    fs::create_dir(ground.folder.path().join("project")).unwrap();
    let plan = plan_instructions(&path).unwrap();
    apply(&plan, Target::Cursor, &ground.places, true).unwrap();
    assert_eq!(extras(Target::Cursor, &ground.places), [(Piece::Instructions, path.clone())]);
    let back = plan_uninstall(Piece::Instructions, Target::Cursor, &path, &ground.places).unwrap();
    apply(&back, Target::Cursor, &ground.places, false).unwrap();
    assert!(ground.folder.path().join("project").exists());
    assert!(!ground.folder.path().join("project/.cursor").exists());
    assert_eq!(extras(Target::Cursor, &ground.places), []);
}
