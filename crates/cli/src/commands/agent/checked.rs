//! What is checked before an assistant's configuration is written: the key, and the path of this program.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use mnemon_agent::private::replace;
use mnemon_agent::settings::{Flags, Settings};

use super::Desk;
use crate::admin_client::AdminClient;
use crate::http_client::is_no_answer;

/// Cargo puts it into its build folders, and uv into its cache.
const CACHE_MARK: &str = "CACHEDIR.TAG";
/// How far above the program the mark may be.
const MARK_LEVELS: usize = 4;
/// npx keeps what it started in a folder of this name.
const NPX_CACHE: &str = "_npx";
const UV_CACHE: &str = "uv";

/// Asks the service whose key it is. A key that it rejects is refused; if it does not answer, that is only said.
pub(super) fn warning_about_key(settings: &Settings) -> anyhow::Result<Option<String>> {
    let Some(key) = &settings.key else { return Ok(None) };
    match AdminClient::at(&settings.url, key.expose())?.whose() {
        Ok(_) => Ok(None),
        Err(error) if is_no_answer(&error) => Ok(Some(format!("The key was not checked: {error:#}."))),
        Err(error) => bail!("{error:#}. Nothing was changed"),
    }
}

/// Refuses to replace a saved key that may still work.
pub(super) fn spare_saved_key(desk: &Desk) -> anyhow::Result<()> {
    let Ok(saved) = Settings::load(&Flags::default(), &Default::default(), &desk.places) else { return Ok(()) };
    let key = |settings: &Settings| settings.key.as_ref().map(|key| key.expose().to_owned());
    let Some(known) =
        key(&saved).filter(|known| key(&desk.settings).as_ref() != Some(known) || saved.url != desk.settings.url)
    else {
        return Ok(());
    };
    let whose = match AdminClient::at(&saved.url, &known)?.whose() {
        Ok(me) => format!("a key of {} that works", me.member.map(|member| member.name).unwrap_or_default()),
        Err(error) if is_no_answer(&error) => "a key that can't be checked now".to_owned(),
        Err(_) => return Ok(()),
    };
    let file = desk.places.shown(&desk.places.settings_file);
    bail!("{file} holds {whose}, for {}; pass --replace to replace it. Nothing was changed", saved.url)
}

/// This program, or the copy of it that was asked for.
pub(super) fn program(desk: &Desk, is_copied: bool, is_dry_run: bool) -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("can't find the path of this program")?;
    let name = program.file_name().context("this program has no name")?;
    let copy = desk.places.home.join(".local/bin").join(name);
    if !is_copied || copy == program {
        return Ok(program);
    }
    if !is_dry_run {
        let write = || {
            std::fs::create_dir_all(desk.places.home.join(".local/bin"))?;
            replace(&copy, &std::fs::read(&program)?, Some(0o755))
        };
        write().with_context(|| format!("can't copy this program to {}", copy.display()))?;
    }
    Ok(copy)
}

/// What to do if the program lies where it will be cleaned away.
pub(super) fn warning_about_path(desk: &Desk, program: &Path) -> Option<String> {
    let (place, act) = place_that_is_cleaned(program)?;
    Some(format!(
        "{} lies in {place}, and {act} would break the assistant; with --copy it is copied to ~/.local/bin first.",
        desk.places.shown(program),
    ))
}

fn place_that_is_cleaned(program: &Path) -> Option<(&'static str, &'static str)> {
    let is_below = |name: &str| program.iter().any(|part| part == name);
    if is_below(NPX_CACHE) {
        return Some(("the cache of npx", "cleaning it"));
    }
    let mut folders = program.ancestors().skip(1).take(MARK_LEVELS);
    let is_marked = folders.any(|folder| folder.join(CACHE_MARK).exists());
    let place =
        if is_below(UV_CACHE) { ("the cache of uv", "cleaning it") } else { ("a build folder", "`cargo clean`") };
    is_marked.then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_cleaned_is_known_by_its_name_or_its_mark() {
        let ground = tempfile::tempdir().unwrap();
        let at = |path: &str| ground.path().join(path);
        let npx = at(".npm/_npx/0f/node_modules/@mnemon/cli-linux-x64/bin/mnemon");
        assert_eq!(place_that_is_cleaned(&npx), Some(("the cache of npx", "cleaning it")));
        for (marked, path, expected) in [
            ("project/target", "project/target/release/mnemon", ("a build folder", "`cargo clean`")),
            (".cache/uv", ".cache/uv/archive-v0/0f/bin/mnemon", ("the cache of uv", "cleaning it")),
        ] {
            assert_eq!(place_that_is_cleaned(&at(path)), None, "{path}");
            std::fs::create_dir_all(at(marked)).unwrap();
            std::fs::write(at(marked).join(CACHE_MARK), "").unwrap();
            assert_eq!(place_that_is_cleaned(&at(path)), Some(expected), "{path}");
        }
        assert_eq!(place_that_is_cleaned(Path::new("/usr/bin/mnemon")), None);
    }
}
