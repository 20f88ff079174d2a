//! Each repository has its workspace, and `auto` names it the same everywhere.

use std::process::Stdio;

use mnemon_testkit::eventually;

use super::*;

impl Story {
    fn repository(&self, name: &str, remote: Option<&str>) {
        self.git(&["init", "--quiet", "--initial-branch=main", name]);
        if let Some(remote) = remote {
            git(&self.place.path().join(name), &["remote", "add", "origin", remote]);
        }
    }

    async fn save_in(&self, workspace: &str, file: &str, content: &str) {
        let hash = self.hash(&[file]);
        let name = Path::new(file).file_name().expect("a name").to_str().expect("UTF-8");
        let fact = json!({"content": content, "source_id": name, "source_hash": hash, "workspace": workspace});
        self.caller.call("remember", fact).await.structured();
    }

    async fn status_in(&self, workspace: &str, source: &str) -> Value {
        let asked = json!({"source_id": source, "workspace": workspace});
        let told = self.caller.call("validate_memory", asked).await;
        let told = told.structured();
        json!([told["verified_count"], told["unverified_count"], told["stale_count"]])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_repositories_of_one_project_leave_each_other_alone() {
    let story = Story::begin().await;
    story.repository("shop", Some("git@example.com:acme/shop.git"));
    story.repository("web", None);
    let (shop, web) = (story.place.path().join("shop"), story.place.path().join("web"));
    let check = |name: &str| {
        let done = story.validate_in(name, &["--workspace", "auto", "--from-git-hook"]);
        assert_eq!(done.code, 0, "{done:?}");
    };
    for (name, folder) in [("shop", &shop), ("web", &web)] {
        story.write(&format!("{name}/README.md"), &format!("{name}, first\n"));
        commit(folder);
        story.save_in(name, &format!("{name}/README.md"), &format!("a fact of {name}")).await;
        check(name);
    }
    for round in 0..20 {
        let (name, folder) = if round % 2 == 0 { ("shop", &shop) } else { ("web", &web) };
        let other = if round % 2 == 0 { "web" } else { "shop" };
        story.write(&format!("{name}/other.md"), &format!("round {round}\n"));
        commit(folder);
        check(name);
        assert_eq!(story.status_in(name, "README.md").await, json!([1, 0, 0]), "{round}");
        assert_eq!(story.status_in(other, "README.md").await, json!([1, 0, 0]), "{round}");
    }
    story.write("web/README.md", "web, second\n");
    commit(&web);
    check("web");
    assert_eq!(story.status_in("web", "README.md").await, json!([0, 0, 1]));
    assert_eq!(story.status_in("shop", "README.md").await, json!([1, 0, 0]));
    let forgot = story.run_in("web", &["forget", "--source-id", "README.md", "--workspace", "auto", "--yes"]);
    assert_eq!((forgot.code, forgot.out.as_str()), (0, "Forgot 1 record(s).\n"), "{forgot:?}");
    assert_eq!(story.status_in("shop", "README.md").await, json!([1, 0, 0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn auto_means_the_same_in_every_command() {
    let story = Story::begin().await;
    story.repository("shop", None);
    let shop = story.place.path().join("shop");
    story.write("shop/a.md", "first\n");
    commit(&shop);
    git(&shop, &["worktree", "add", "--quiet", "--detach", "../tree"]);
    std::fs::create_dir(story.place.path().join("outside")).expect("a folder");
    let auto = ["--workspace", "auto"];
    let run = |folder: &str, words: &[&str]| {
        let done = story.run_in(folder, &[words, &auto[..]].concat());
        assert_eq!(done.code, 0, "{words:?}: {done:?}");
        done
    };
    run("shop", &["remember", "the shop closes at six"]);
    for folder in ["shop", "tree"] {
        let who = story.run_in(folder, &["whoami", "--json"]).json();
        assert_eq!(who["auto_workspace"], "shop", "{folder}");
        assert!(story.run_in(folder, &["whoami"]).out.contains("\nworkspace auto   shop\n"));
        assert_eq!(run(folder, &["search", "closes", "--json"]).json()["result"][0]["workspace"], "shop");
        assert!(run(folder, &["context"]).out.contains("closes at six"));
        assert!(run(folder, &["record", "list"]).out.contains("closes at six"));
        assert!(run(folder, &["export"]).out.contains("closes at six"));
        assert_eq!(run(folder, &["validate", "--json"]).json()["workspace"], "shop");
    }
    assert!(story.run_in("shop", &["whoami"]).out.contains("\nworkspace        default\n"));
    story.write("notes.md", "# Tea\n\nTea is at four o'clock.\n");
    run("tree", &["import", "../notes.md"]);
    assert_eq!(run("shop", &["search", "tea", "--json"]).json()["result"][0]["workspace"], "shop");
    // Outside of a repository it names none, so the key's own counts, or the default one.
    run("outside", &["remember", "the office opens at nine"]);
    assert_eq!(story.run_in("outside", &["whoami", "--json"]).json()["auto_workspace"], Value::Null);
    assert_eq!(run("outside", &["search", "office", "--json"]).json()["result"][0]["workspace"], "default");
    let all = story.run_in("outside", &["forget", "--source-id", "x", "--workspace", "auto", "--yes"]);
    assert!(all.code == 1 && all.err.contains("names no workspace"), "{all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_without_sources_says_where_they_are() {
    let story = Story::begin().await;
    story.repository("shop", None);
    story.write("shop/a.md", "first\n");
    commit(&story.place.path().join("shop"));
    let nothing = story.validate_in("shop", &[]);
    assert!(!nothing.out.contains("Others have"), "{}", nothing.out);
    story.save_in("shop", "shop/a.md", "a fact").await;
    let done = story.validate_in("shop", &[]);
    let expected = "This workspace has no sources. Others have: shop. Name one with --workspace.\n\
                    Sources of workspace default, compared with main: 0 verified, 0 stale, 0 gone, 0 unknown.\n";
    assert_eq!(done.out, expected);
    let done = story.validate_in("shop", &["--workspace", "auto"]);
    assert_eq!(done.out, "Sources of workspace shop, compared with main: 1 verified, 0 stale, 0 gone, 0 unknown.\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_checks_the_sources_of_its_own_workspace() {
    let story = Story::begin().await;
    story.repository("shop", None);
    story.write("shop/a.md", "first\n");
    commit(&story.place.path().join("shop"));
    for workspace in ["shop", "default"] {
        story.save_in(workspace, "shop/a.md", "a fact").await;
    }
    let mut command = story.place.command(&["agent", "--check-sources", "--workspace", "auto"]);
    command.args(["--url", &story.recorder.url, "--key", &story.caller.key]).env("HOME", story.place.path());
    command.current_dir(story.place.path().join("shop")).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut agent = command.spawn().expect("it runs");
    eventually("its workspace is checked", async || story.status_in("shop", "a.md").await == json!([1, 0, 0])).await;
    agent.kill().and_then(|()| agent.wait()).expect("it ends");
    assert_eq!(story.status_in("default", "a.md").await, json!([0, 1, 0]), "and no other");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_keeps_the_workspace_and_the_branch_it_was_installed_with() {
    let story = Story::begin().await;
    story.repository("shop", None);
    story.write("shop/a.md", "first\n");
    commit(&story.place.path().join("shop"));
    git(&story.place.path().join("shop"), &["branch", "it's"]);
    let wrong = story.validate_in("shop", &["--install-git-hook", "--branch", "absent"]);
    assert!(wrong.code == 1 && wrong.err.contains("this clone has no branch 'absent'"), "{wrong:?}");
    let installed = story.validate_in("shop", &["--install-git-hook", "--workspace", "auto", "--branch", "it's"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let hook = std::fs::read_to_string(story.place.path().join("shop/.git/hooks/post-merge")).expect("it is there");
    assert!(hook.contains("validate --from-git-hook '--workspace=auto' '--branch=it'\\''s') </dev/null"), "{hook}");
}
