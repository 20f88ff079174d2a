//! Links that somebody planted where a command writes: in a repository, an unpacked archive, a shared folder. No
//! command writes through one.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::admin::house::House;
use crate::process::{Done, Place};

const PRECIOUS: &str = "#!/bin/sh\necho mine\n";

/// A file outside, and links to it.
fn plant(place: &Place, links: &[&str]) {
    place.write("precious", PRECIOUS);
    for link in links {
        let link = place.path().join(link);
        std::fs::create_dir_all(link.parent().expect("a folder")).expect("a folder");
        symlink(place.path().join("precious"), link).expect("a link");
    }
}

fn assert_untouched(place: &Place) {
    assert_eq!(std::fs::read_to_string(place.path().join("precious")).expect("it is there"), PRECIOUS);
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.is_symlink())
}

#[test]
fn an_export_and_a_backup_write_through_no_link() {
    let house = House::open();
    assert_eq!(house.admin(&["remember", "The boiler is in the cellar"]).code, 0);
    let place = &house.place;
    plant(place, &["out.jsonl.partial", "taken.jsonl", "kept.db.partial", "taken.db", "vault/.mnemon"]);
    assert_eq!(house.admin(&["export", "out.jsonl"]).code, 0);
    assert!(std::fs::read_to_string(place.path().join("out.jsonl")).expect("an export").contains("boiler"));
    assert_eq!(house.admin(&["export", "vault", "--format", "markdown"]).code, 1);
    assert_eq!(place.run(&["backup", "kept.db", "--data-dir", "data"]).code, 0);
    symlink("nowhere", place.path().join("dangling")).expect("a link");
    for name in ["taken.jsonl", "dangling"] {
        let refused = house.admin(&["export", name]);
        assert!(refused.code == 1 && refused.err.contains("exists already"), "{refused:?}");
    }
    for name in ["taken.db", "dangling"] {
        let refused = place.run(&["backup", name, "--data-dir", "data"]);
        assert!(refused.code == 1 && refused.err.contains("exists already"), "{refused:?}");
    }
    assert!(!place.path().join("nowhere").exists());
    assert_untouched(place);
    let left =
        std::fs::read_dir(place.path()).expect("the directory").map(|entry| entry.expect("an entry").file_name());
    let ours = left.filter(|name| name.to_string_lossy().starts_with(".mnemon"));
    assert_eq!(ours.count(), 0, "nothing is left beside them");
}

#[test]
fn the_ready_file_is_not_written_through_a_link() {
    let place = Place::new();
    plant(&place, &["ready.json", "ready.partial"]);
    place.serve(&["--ready-file", "ready.json"]).stop();
    assert_untouched(&place);
    assert!(!is_link(&place.path().join("ready.json")));
}

#[test]
fn pages_are_not_written_through_links() {
    let place = Place::new();
    plant(&place, &["man1/mnemon.1"]);
    assert_eq!(place.run(&["man", "man1"]).code, 0);
    assert_untouched(&place);
    let page = place.path().join("man1/mnemon.1");
    assert!(!is_link(&page));
    assert_eq!(std::fs::metadata(&page).expect("a page").permissions().mode() & 0o777, 0o644, "others may read it");
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Ana", "-c", "user.email=ana@example.com"]).args(arguments).current_dir(folder);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    assert!(command.output().expect("git runs").status.success(), "{arguments:?}");
}

fn in_shop(place: &Place, arguments: &[&str]) -> Done {
    let mut command = place.command(arguments);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    Done::of(command.current_dir(place.path().join("shop")).output().expect("the binary runs"))
}

#[test]
fn a_git_hook_that_leads_out_of_its_repository_is_refused() {
    let place = Place::new();
    git(place.path(), &["init", "--quiet", "--initial-branch=main", "shop"]);
    git(&place.path().join("shop"), &["commit", "--quiet", "--allow-empty", "--message", "x"]);
    plant(&place, &["shop/.git/hooks/post-merge"]);
    let refused = in_shop(&place, &["validate", "--install-git-hook"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("post-merge") && refused.err.contains("precious"), "{}", refused.err);
    assert_untouched(&place);
    assert!(!place.path().join("shop/.git/hooks/post-commit").exists(), "nothing was written before");
    // A link that stays inside stays a link: the file it leads to gets the block, and keeps its mode.
    std::fs::remove_file(place.path().join("shop/.git/hooks/post-merge")).expect("the link");
    let own = place.write("shop/own-hook", PRECIOUS);
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    symlink("../../own-hook", place.path().join("shop/.git/hooks/post-merge")).expect("a link");
    let installed = in_shop(&place, &["validate", "--install-git-hook"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    assert!(is_link(&place.path().join("shop/.git/hooks/post-merge")));
    assert!(std::fs::read_to_string(&own).expect("the hook").contains("# mnemon:begin"));
    for hook in [own, place.path().join("shop/.git/hooks/post-commit")] {
        assert_eq!(std::fs::metadata(&hook).expect("a hook").permissions().mode() & 0o777, 0o755, "{}", hook.display());
    }
    assert_untouched(&place);
}
