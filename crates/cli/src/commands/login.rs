//! `mnemon login` and `mnemon logout`: a connection that other commands find by themselves.

use std::io::{BufRead, IsTerminal, Read, Write};
use std::process::ExitCode;

use anyhow::{Context, bail};
use mnemon_agent::settings::{ApiKey, DEFAULT_URL, connection_file, parse_url, profiles, save_connection};
use mnemon_platform::terminal::Quiet;
use serde_json::json;

use crate::admin_client::AdminClient;
use crate::arguments::{Login, Logout};
use crate::connecting;
use crate::printer::Printer;

pub fn login(login: &Login, printer: &Printer) -> anyhow::Result<ExitCode> {
    let places = connecting::places()?;
    let file = connection_file(&places, login.profile.as_deref())?;
    let typed = login.url.clone().unwrap_or_else(|| DEFAULT_URL.to_owned());
    let url = parse_url(&typed)
        .with_context(|| format!("'{typed}' is not a service URL; use the form https://memory.example.com"))?;
    let key = match &login.key {
        Some(key) => key.trim().to_owned(),
        None => ask_for_key(&url)?,
    };
    if !key.starts_with("mnm_") {
        bail!("an API key begins with mnm_; copy all of it");
    }
    // A key that the service does not know is not worth keeping.
    let me = AdminClient::at(&url, &key)?.whose()?;
    let shown = places.shown(&file);
    save_connection(&file, &url, &ApiKey::new(key)).with_context(|| format!("can't save the key in {shown}"))?;
    let named = |thing: &Option<mnemon_protocol::admin::NamedJson>| {
        thing.as_ref().map(|thing| thing.name.clone()).unwrap_or_default()
    };
    if printer.is_json() {
        printer.value(&json!({
            "url": url, "member": named(&me.member), "role": me.role, "account": named(&me.account),
            "project": named(&me.project), "file": file.display().to_string(),
        }));
    } else {
        printer.text(&format!(
            "{} ({}) in {}, project {}.",
            named(&me.member),
            me.role,
            named(&me.account),
            named(&me.project)
        ));
        printer.text(&format!("The URL and the key are saved in {shown}; only you can read that file."));
    }
    Ok(ExitCode::SUCCESS)
}

/// From a person without showing it, or from a pipe.
fn ask_for_key(url: &str) -> anyhow::Result<String> {
    let mut key = String::new();
    if std::io::stdin().is_terminal() {
        let mut screen = std::io::stderr();
        write!(screen, "API key for {url}: ")?;
        screen.flush()?;
        let quiet = Quiet::begin();
        let read = std::io::stdin().lock().read_line(&mut key);
        drop(quiet);
        writeln!(screen)?;
        read.context("can't read the key")?;
    } else {
        std::io::stdin().read_to_string(&mut key).context("can't read the key from standard input")?;
    }
    let key = key.trim().to_owned();
    if key.is_empty() {
        bail!("no key was given; type it, pipe it in, or pass --key");
    }
    Ok(key)
}

pub fn logout(logout: &Logout, printer: &Printer) -> anyhow::Result<ExitCode> {
    let places = connecting::places()?;
    let file = connection_file(&places, logout.profile.as_deref())?;
    let shown = places.shown(&file);
    if !file.exists() {
        let known = profiles(&places);
        let others = if known.is_empty() { String::new() } else { format!("; profiles: {}", known.join(", ")) };
        bail!("nothing is saved in {shown}{others}");
    }
    std::fs::remove_file(&file).with_context(|| format!("can't remove {shown}"))?;
    if printer.is_json() {
        printer.value(&json!({"removed": file.display().to_string()}));
    } else {
        printer.text(&format!("Removed {shown}. The key itself stays valid; `mnemon key revoke` ends it."));
    }
    Ok(ExitCode::SUCCESS)
}
