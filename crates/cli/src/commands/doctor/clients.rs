//! What is on this machine for assistants: the entries and hooks in their files, the saved keys, and the last hook.

use std::path::Path;

use anyhow::{anyhow, bail};
use mnemon_agent::install::{Target, hook_commands, starts};
use mnemon_agent::places::Places;
use mnemon_agent::settings::{Flags, Settings, profiles};
use mnemon_agent::trouble;

use super::Finding;
use crate::admin_client::AdminClient;
use crate::connecting;

pub fn check() -> anyhow::Result<Vec<Finding>> {
    let places = connecting::places()?;
    let mut findings: Vec<Finding> = Target::ALL.into_iter().flat_map(|target| of_client(target, &places)).collect();
    if places.settings_file.exists() {
        findings.push(saved_key(&places, None));
    }
    findings.extend(profiles(&places).into_iter().map(|profile| saved_key(&places, Some(profile))));
    if let Some(trouble) = trouble::last(&places) {
        let outcome = Err(anyhow!("they have failed since {}: {}", trouble.since, trouble.why));
        findings.push(Finding { what: "hooks".to_owned(), outcome });
    }
    Ok(findings)
}

/// Only clients that have something of ours in their files are named.
fn of_client(target: Target, places: &Places) -> Vec<Finding> {
    let (name, file) = (target.as_str(), target.file(places));
    let again = format!("run `mnemon agent install --client {name}` again");
    let is_there = |program: &str, file: &Path| match Path::new(program).is_file() {
        true => Ok(format!("{} starts {program}", places.shown(file))),
        false => bail!("{} starts {program}, which is not there; {again}", places.shown(file)),
    };
    let finding = |part: &str, outcome: anyhow::Result<String>| Finding { what: format!("{name}, {part}"), outcome };
    let mut findings = Vec::new();
    match starts(target, &file) {
        Ok(None) => {}
        Ok(Some(program)) => findings.push(finding("the agent", is_there(&program, &file))),
        Err(error) => findings.push(finding("the agent", Err(error.into()))),
    }
    if let Some(file) = target.hooks_file(places) {
        match hook_commands(&file) {
            Ok(commands) => {
                let first = commands.first().and_then(|command| first_word(command));
                findings.extend(first.map(|program| finding("the hooks", is_there(&program, &file))));
            }
            Err(error) => findings.push(finding("the hooks", Err(error.into()))),
        }
    }
    findings
}

/// The program of a command line that `mnemon agent install` wrote.
fn first_word(command: &str) -> Option<String> {
    match command.strip_prefix(['\'', '"']) {
        Some(rest) => Some(rest.split(['\'', '"']).next()?.to_owned()),
        None => command.split_whitespace().next().map(str::to_owned),
    }
}

fn saved_key(places: &Places, profile: Option<String>) -> Finding {
    let what = profile.as_ref().map_or("saved key".to_owned(), |name| format!("saved key of profile {name}"));
    let look = || {
        let flags = Flags { profile, ..Flags::default() };
        let settings = Settings::load(&flags, &Default::default(), places)?;
        let Some(key) = &settings.key else { bail!("there is none; run `mnemon login`") };
        let me = AdminClient::at(&settings.url, key.expose())?.whose()?;
        let name = me.member.map(|member| member.name).unwrap_or_default();
        anyhow::Ok(format!("{} accepts it, as {name}'s", settings.url))
    };
    Finding { what, outcome: look() }
}
