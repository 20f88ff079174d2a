//! Git hooks that run `mnemon validate` in the background after each commit, merge and checkout. What others keep in
//! the same hook stays: ours is a marked block.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::Context;
use mnemon_agent::install::resolved;
use mnemon_agent::private::replace;
use serde_json::json;

use super::files::open_own;
use super::git::Repository;
use crate::arguments::Validate;
use crate::printer::Printer;

const EVENTS: [&str; 3] = ["post-commit", "post-merge", "post-checkout"];
const BEGIN: &str = "# mnemon:begin";
const END: &str = "# mnemon:end";
const SHEBANG: &str = "#!/bin/sh\n";

pub fn install(working_dir: &Path, validate: &Validate, printer: &Printer) -> anyhow::Result<()> {
    let repository = repository(working_dir)?;
    // A mistyped branch would fail in the background, unseen.
    repository.branch(validate.branch.as_deref())?;
    let folder = repository.hooks_folder()?;
    let program = std::env::current_exe().context("can't find the path of this program")?;
    let block = block(program.to_str().context("the path of this program is not UTF-8")?, validate);
    // All texts are made before the first file is written: a hook that can't be changed stops everything.
    let changes: Vec<(PathBuf, Option<String>, String)> = EVENTS
        .iter()
        .map(|event| {
            let path = resolved(&folder.join(event))?;
            let before = read(&path)?;
            let after = with_block(before.as_deref(), &block).with_context(|| {
                let path = path.display();
                format!("{path} is not a shell script; call `mnemon validate --from-git-hook` from it yourself")
            })?;
            anyhow::Ok((path, before, after))
        })
        .collect::<anyhow::Result<_>>()?;
    fs::create_dir_all(&folder).with_context(|| format!("can't make {}", folder.display()))?;
    for (path, before, after) in &changes {
        if before.as_ref() != Some(after) {
            write(path, after)?;
        }
    }
    report(printer, "Installed", &folder, &EVENTS)
}

pub fn uninstall(working_dir: &Path, printer: &Printer) -> anyhow::Result<()> {
    let folder = repository(working_dir)?.hooks_folder()?;
    let mut removed = Vec::new();
    for event in EVENTS {
        let path = resolved(&folder.join(event))?;
        let Some(before) = read(&path)? else { continue };
        let Some(after) = without_block(&before) else { continue };
        if after == SHEBANG {
            fs::remove_file(&path).with_context(|| format!("can't remove {}", path.display()))?;
        } else {
            write(&path, &after)?;
        }
        removed.push(event);
    }
    report(printer, "Removed", &folder, &removed)
}

fn report(printer: &Printer, done: &str, folder: &Path, events: &[&str]) -> anyhow::Result<()> {
    if printer.is_json() {
        printer.value(&json!({"folder": folder.display().to_string(), "hooks": events}));
    } else if events.is_empty() {
        printer.text(&format!("{} has no hook of Mnemon.", folder.display()));
    } else {
        printer.text(&format!("{done} {} in {}.", events.join(", "), folder.display()));
    }
    Ok(())
}

fn repository(working_dir: &Path) -> anyhow::Result<Repository> {
    Repository::find(working_dir)?.context("git hooks need a git repository")
}

fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8(bytes).unwrap_or_else(|_| "not a text".to_owned()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("can't read {}", path.display())),
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let mode = if path.exists() { None } else { Some(0o755) };
    replace(path, text.as_bytes(), mode).with_context(|| format!("can't write {}", path.display()))
}

/// In the background and without a word, so that no commit waits for it. Git's variables name a repository and an index
/// that may be gone by then. A checkout of single files is no checkout.
fn block(program: &str, validate: &Validate) -> String {
    let mut words = vec![quoted(program), "validate".to_owned(), "--from-git-hook".to_owned()];
    words.extend(validate.workspace.as_ref().map(|name| quoted(&format!("--workspace={name}"))));
    words.extend(validate.branch.as_ref().map(|name| quoted(&format!("--branch={name}"))));
    words.extend(validate.any_branch.then(|| "--any-branch".to_owned()));
    let command = words.join(" ");
    format!(
        "{BEGIN} (added by `mnemon validate --install-git-hook`; remove with --uninstall-git-hook)\n\
         if [ \"${{0##*/}}\" != post-checkout ] || [ \"${{3:-1}}\" = 1 ]; then\n\
         \x20   (unset $(git rev-parse --local-env-vars); exec {command}) </dev/null >/dev/null 2>&1 &\n\
         fi\n\
         {END}\n"
    )
}

/// A word that needs no quoting in a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The hook with our block right after its first line: a hook may end anywhere. `None` for what is not a shell script.
fn with_block(before: Option<&str>, block: &str) -> Option<String> {
    let Some(before) = before.filter(|before| !before.trim().is_empty()) else {
        return Some(format!("{SHEBANG}{block}"));
    };
    let others = without_block(before).unwrap_or_else(|| before.to_owned());
    let (first, rest) = others.split_once('\n').unwrap_or((&others, ""));
    let program = first.strip_prefix("#!")?.split([' ', '/']).rfind(|word| !word.is_empty())?;
    let is_shell = ["sh", "bash", "dash", "zsh", "ksh"].contains(&program.trim());
    is_shell.then(|| format!("{first}\n{block}{rest}"))
}

/// The hook without our block; `None` if it has none.
fn without_block(text: &str) -> Option<String> {
    let start = text.find(BEGIN)?;
    let end = start + text[start..].find(END)? + END.len();
    let rest = text[end..].strip_prefix('\n').unwrap_or(&text[end..]);
    Some(format!("{}{rest}", &text[..start]))
}

/// The right to check now. Commits that follow each other quickly share one check: the one that runs, and one that
/// waits.
pub struct Turn {
    _running: File,
}

impl Turn {
    /// `None` if another one already waits for its turn, and will see everything that this one would.
    pub fn wait(working_dir: &Path) -> anyhow::Result<Option<Self>> {
        let folder = repository(working_dir)?.git_folder()?;
        let open = |name: &str| open_own(&folder.join(name));
        let waiting = open("mnemon-validate.waiting")?;
        match waiting.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let running = open("mnemon-validate.lock")?;
        running.lock()?;
        Ok(Some(Self { _running: running }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_takes_the_block_in_and_gives_it_back() {
        let of = |validate: &Validate| block("/opt/it's/mnemon", validate);
        let block = of(&Validate::default());
        assert!(block.contains("exec '/opt/it'\\''s/mnemon' validate --from-git-hook) </dev/null"), "{block}");
        let narrow = of(&Validate {
            workspace: Some("it's $(shop)".into()),
            branch: Some("release".to_owned()),
            ..Validate::default()
        });
        let line = "--from-git-hook '--workspace=it'\\''s $(shop)' '--branch=release') </dev/null";
        assert!(narrow.contains(line), "{narrow}");
        assert!(of(&Validate { any_branch: true, ..Validate::default() }).contains("--from-git-hook --any-branch)"));
        for before in ["#!/bin/sh\necho hello\nexit 0\n", "#!/usr/bin/env bash\nset -e\n", "#!/bin/sh"] {
            let with = with_block(Some(before), &block).unwrap();
            assert_eq!(with.lines().nth(1), block.lines().next());
            assert_eq!(with_block(Some(&with), &block).unwrap(), with, "twice is as good as once");
            assert_eq!(without_block(&with).unwrap().trim_end(), before.trim_end());
        }
        assert_eq!(without_block(&with_block(None, &block).unwrap()).unwrap(), SHEBANG);
        assert_eq!(without_block("#!/bin/sh\n"), None);
        for foreign in ["#!/usr/bin/env python3\n", "echo no first line\n", "\u{7f}ELF"] {
            assert_eq!(with_block(Some(foreign), &block), None, "{foreign}");
        }
    }
}
