//! Whose commits count: the default branch's, as this clone knows it. Other branches, edits and old clones change
//! nothing.

use super::*;

/// A team: a repository that all push to, and clones of it.
struct Team(Story);

impl Team {
    async fn meet() -> Self {
        let story = Story::begin().await;
        story.git(&["init", "--quiet", "--bare", "--initial-branch=main", "origin.git"]);
        let team = Self(story);
        team.clone_as("ana");
        team.write("ana", "a.md", "first\n");
        team.publish("ana");
        team.git("ana", &["remote", "set-head", "origin", "main"]);
        team
    }

    fn clone_as(&self, name: &str) {
        self.0.git(&["clone", "--quiet", "origin.git", name]);
    }

    fn git(&self, who: &str, arguments: &[&str]) {
        git(&self.0.place.path().join(who), arguments);
    }

    fn write(&self, who: &str, name: &str, text: &str) {
        self.0.write(&format!("{who}/{name}"), text);
    }

    fn commit(&self, who: &str) {
        commit(&self.0.place.path().join(who));
    }

    fn publish(&self, who: &str) {
        self.commit(who);
        self.git(who, &["push", "--quiet", "origin", "HEAD:main"]);
    }

    async fn save(&self, who: &str) {
        let hash = self.0.hash(&[&format!("{who}/a.md")]);
        self.0.save(&format!("a fact by {who} {hash}"), "a.md", &hash).await;
    }

    async fn status(&self) -> Value {
        self.0.status("a.md").await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_is_never_merged_changes_nothing_and_a_merge_does() {
    let team = Team::meet().await;
    team.save("ana").await;
    team.0.hook_runs_in("ana");
    assert_eq!(team.status().await, json!([1, 0, 0]));
    team.git("ana", &["checkout", "--quiet", "-b", "experiment"]);
    team.write("ana", "a.md", "an idea\n");
    team.write("ana", "b.md", "a file that main does not have\n");
    team.commit("ana");
    let hash = team.0.hash(&["ana/b.md"]);
    team.0.save("a fact of b", "b.md", &hash).await;
    for _ in 0..2 {
        team.0.hook_runs_in("ana");
        let told = team.0.validated_in("ana", &[]);
        assert_eq!((names(&told["verified"]), &told["left_alone"]), (vec!["a.md"], &json!(1)), "{told}");
        assert_eq!(told["verified"][0]["here"], "differs on branch experiment; origin/main counts");
        assert_eq!((&told["branch"], &told["workspace"]), (&json!("origin/main"), &json!("default")));
        assert_eq!(team.status().await, json!([1, 0, 0]));
    }
    // A commit of the branch that was not pushed is not what others have either.
    team.git("ana", &["checkout", "--quiet", "main"]);
    team.git("ana", &["merge", "--quiet", "experiment"]);
    team.0.hook_runs_in("ana");
    assert_eq!(team.status().await, json!([1, 0, 0]));
    team.publish("ana");
    team.0.hook_runs_in("ana");
    assert_eq!((team.status().await, team.0.status("b.md").await), (json!([0, 0, 1]), json!([1, 0, 0])));
    // Who wants another branch names it.
    team.git("ana", &["branch", "release", "HEAD~2"]);
    let told = team.0.validated_in("ana", &["--branch", "release"]);
    assert_eq!((&told["branch"], names(&told["verified"])), (&json!("release"), vec!["a.md"]));
    let wrong = team.0.validate_in("ana", &["--branch", "--output=x"]);
    assert!(wrong.code != 0, "{wrong:?}");
    let wrong = team.0.validate_in("ana", &["--branch=--output=x"]);
    assert!(wrong.err.contains("this clone has no branch '--output=x'"), "{wrong:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_clone_does_not_turn_the_status_back() {
    let team = Team::meet().await;
    team.clone_as("ben");
    team.save("ben").await;
    team.0.hook_runs_in("ben");
    assert_eq!(team.status().await, json!([1, 0, 0]));
    team.write("ana", "a.md", "second\n");
    team.publish("ana");
    team.save("ana").await;
    team.0.hook_runs_in("ana");
    assert_eq!(team.status().await, json!([1, 0, 1]), "the old fact is stale, the new one holds");
    for round in 0..3 {
        // Ben works on, on what he fetched then.
        team.git("ben", &["checkout", "--quiet", "-b", &format!("work-{round}")]);
        team.commit("ben");
        team.0.hook_runs_in("ben");
        assert_eq!(team.status().await, json!([1, 0, 1]), "{round}");
    }
    // What he only confirms is told: a fact that was saved since, of the file as everybody has it.
    team.clone_as("eva");
    team.0.hook_runs_in("eva");
    team.0.save("a later fact", "a.md", &team.0.hash(&["eva/a.md"])).await;
    team.0.hook_runs_in("eva");
    assert_eq!(team.status().await, json!([2, 0, 1]));
    team.git("ben", &["fetch", "--quiet"]);
    team.0.hook_runs_in("ben");
    assert_eq!(team.status().await, json!([2, 0, 1]));
    // Asked for by hand, it says what it has.
    team.git("ben", &["update-ref", "refs/remotes/origin/main", "main"]);
    team.0.hook_runs_in("ben");
    assert_eq!(team.status().await, json!([1, 0, 2]), "a branch that was set back is a new state");
}

#[tokio::test(flavor = "multi_thread")]
async fn worktrees_submodules_and_old_checkouts_do_not_lie() {
    let team = Team::meet().await;
    team.save("ana").await;
    team.write("ana", "a.md", "second\n");
    team.publish("ana");
    team.git("ana", &["worktree", "add", "--quiet", "--detach", "../old", "HEAD~1"]);
    for folder in ["ana", "old"] {
        let told = team.0.validated_in(folder, &[]);
        assert_eq!((names(&told["stale"]), &told["verified"]), (vec!["a.md"], &json!([])), "{folder}");
    }
    let told = team.0.validated_in("old", &[]);
    assert_eq!(told["stale"][0]["here"], "differs in the commit that is checked out; origin/main counts");

    // A submodule is a repository of its own, and for the one around it nothing that is read.
    let path = team.0.place.path().join("origin.git");
    team.0.git(&["init", "--quiet", "--initial-branch=main", "around"]);
    let around = team.0.place.path().join("around");
    git(&around, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", path.to_str().unwrap(), "lib"]);
    commit(&around);
    let hash = team.0.hash(&["around/lib/a.md"]);
    team.0.save("a fact of the part", "lib/a.md", &hash).await;
    let told = team.0.validated_in("around", &[]);
    assert_eq!((&told["verified"], &told["stale"], &told["left_alone"]), (&json!([]), &json!([]), &json!(1)), "{told}");
    assert_eq!(team.0.status("lib/a.md").await, json!([0, 1, 0]));
    let told = team.0.validated_in("around/lib", &[]);
    assert_eq!((names(&told["stale"]), &told["branch"]), (vec!["a.md"], &json!("origin/main")), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_root_wins_wherever_the_command_runs() {
    let story = Story::begin_in_repository("sha1").await;
    story.write("README.md", "of the root\n");
    story.write("docs/README.md", "of the documents\n");
    story.commit();
    story.save_of("README.md").await;
    story.save_of("docs/README.md").await;
    for folder in ["", "docs"] {
        let told = story.validated_in(folder, &[]);
        assert_eq!(names(&told["verified"]), ["README.md", "docs/README.md"], "{folder}: {told}");
    }
    let told = story.validated_in("docs", &["."]);
    assert_eq!((names(&told["verified"]), &told["left_alone"]), (vec!["docs/README.md"], &json!(1)));
    let told = story.validated_in("docs", &["../README.md"]);
    assert_eq!(names(&told["verified"]), ["README.md"]);
    let outside = story.validate_in("docs", &["../.."]);
    assert!(outside.code == 1 && outside.err.contains("lies outside of"), "{outside:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_branch_that_counts_nothing_is_told() {
    let story = Story::begin().await;
    story.git(&["init", "--quiet", "--initial-branch=trunk"]);
    story.write("a.md", "first\n");
    story.save_of("a.md").await;
    let empty = story.validate(&[]);
    assert!(
        empty.code == 0 && empty.out.contains("has no commit yet, so the service was told nothing.\n"),
        "{empty:?}"
    );
    story.commit();
    story.write_and_commit("a.md", "second\n");
    let done = story.validate(&[]);
    assert!(done.out.contains("Name the branch that counts with --branch.\n"), "{}", done.out);
    assert!(done.out.contains("compared with the commit that is checked out: 0 verified, 1 stale"), "{}", done.out);
    let told = story.validated(&[]);
    assert_eq!((&told["stale"][0]["told"], &told["branch"]), (&json!(false), &Value::Null));
    story.hook_runs_in("");
    assert_eq!(story.status("a.md").await, json!([0, 1, 0]), "nothing was told");
    assert_eq!(story.validated(&["--branch", "trunk"])["stale"][0]["told"], true);
    assert_eq!(story.status("a.md").await, json!([0, 0, 1]));
    story.git(&["clone", "--quiet", "--bare", ".", "bare.git"]);
    let bare = story.validate_in("bare.git", &[]);
    assert!(bare.code == 1 && bare.err.contains("bare"), "{bare:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shallow_clone_knows_what_it_has_and_says_what_it_cannot_know() {
    let team = Team::meet().await;
    team.save("ana").await;
    team.write("ana", "b.md", "second\n");
    team.git("ana", &["rm", "--quiet", "a.md"]);
    team.publish("ana");
    team.publish("ana");
    team.0.save("a fact of b", "b.md", &team.0.hash(&["ana/b.md"])).await;
    let origin = format!("file://{}", team.0.place.path().join("origin.git").display());
    team.0.git(&["clone", "--quiet", "--depth=1", &origin, "shallow"]);
    let done = team.0.validate_in("shallow", &[]);
    assert!(done.code == 0 && done.out.contains("This clone is shallow: "), "{done:?}");
    assert!(done.out.contains(": 1 verified, 0 stale, 0 gone, 0 unknown, 1 not files here.\n"), "{}", done.out);
    assert_eq!(names(&team.0.validated_in("ana", &[])["gone"]), ["a.md"]);
    let missing = team.0.place.path().join("no git here");
    let mut command = team.0.place.command(&["validate", "--url", &team.0.recorder.url, "--key", &team.0.caller.key]);
    command.current_dir(team.0.place.path().join("ana")).env("PATH", missing);
    let without = Done::of(command.output().expect("the binary runs"));
    assert!(without.code == 1 && without.err.contains("but git is not installed"), "{without:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn line_ends_of_other_systems_are_no_change() {
    let story = Story::begin_in_repository("sha1").await;
    story.write_and_commit("a.md", "one\ntwo\n");
    // As a colleague has it on Windows.
    story.write("windows", "one\r\ntwo\r\n");
    story.save("prefixed", "a.md", &story.hash(&["windows"])).await;
    story.save("git's", "a.md", &story.hash(&["--git", "windows"])).await;
    story.save("as it is stored", "a.md", &story.hash(&["--git", "a.md"])).await;
    story.write("a.md", "one\r\ntwo\r\n");
    let told = story.validated(&[]);
    assert_eq!((names(&told["verified"]), &told["verified"][0]["here"]), (vec!["a.md"], &Value::Null));
    assert_eq!(story.status("a.md").await, json!([3, 0, 0]));
    // A fact that is saved after the check, in the other form, makes nothing stale.
    story.save("later", "a.md", &story.hash(&["a.md"])).await;
    assert_eq!(story.status("a.md").await, json!([4, 0, 0]));
}
