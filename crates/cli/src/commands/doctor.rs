//! `mnemon doctor`: what works, what does not, and how to fix it.

mod clients;
mod directory;
mod promotion;
mod restored;

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::arguments::Doctor;
use crate::connecting::Found;
use crate::mcp_client::McpClient;
use crate::printer::Printer;
use crate::{connecting, settings, storage};

struct Finding {
    what: String,
    outcome: anyhow::Result<String>,
}

pub fn run(doctor: &Doctor, printer: &Printer) -> anyhow::Result<ExitCode> {
    let mut findings = vec![Finding { what: "configuration".to_owned(), outcome: configuration(doctor) }];
    if let Some(candidate) = &doctor.promote {
        findings.push(Finding { what: "promotion".to_owned(), outcome: promotion(doctor, candidate) });
        return Ok(show(printer, &findings));
    }
    let databases = databases(doctor);
    let has_data = !databases.is_empty();
    findings.extend(databases);
    if doctor.restore_check {
        findings.push(Finding { what: "restored data".to_owned(), outcome: restored_data(doctor, has_data) });
        return Ok(show(printer, &findings));
    }
    match connecting::find(&doctor.connection) {
        Ok(found) => findings.extend(service(doctor, &found)?),
        Err(error) => findings.push(Finding { what: "API key".to_owned(), outcome: Err(error) }),
    }
    findings.extend(clients::check()?);
    Ok(show(printer, &findings))
}

fn show(printer: &Printer, findings: &[Finding]) -> ExitCode {
    let is_well = findings.iter().all(|finding| finding.outcome.is_ok());
    if printer.is_json() {
        let findings: Vec<Value> = findings.iter().map(to_json).collect();
        printer.value(&json!({"ok": is_well, "findings": findings}));
    } else {
        for Finding { what, outcome } in findings {
            match outcome {
                Ok(said) => printer.text(&format!("ok      {what}: {said}")),
                Err(error) => printer.text(&format!("FAILED  {what}: {error:#}")),
            }
        }
    }
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn to_json(finding: &Finding) -> Value {
    match &finding.outcome {
        Ok(said) => json!({"what": finding.what, "ok": true, "said": said}),
        Err(error) => json!({"what": finding.what, "ok": false, "said": format!("{error:#}")}),
    }
}

fn configuration(doctor: &Doctor) -> anyhow::Result<String> {
    let config = settings::load(&doctor.settings)?;
    Ok(format!("valid; data in {}", storage::name(&config.storage)))
}

fn promotion(doctor: &Doctor, candidate: &str) -> anyhow::Result<String> {
    let config = settings::load(&doctor.settings)?;
    let Some(database) = &config.storage.database else {
        anyhow::bail!(
            "--promote is for PostgreSQL; name the primary with --database, and the standbys in database.replicas"
        );
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(promotion::check(candidate, database))
}

/// Opens PostgreSQL as the service would: address, password, schema, row-level security, writing. A data directory is
/// read beside the service that uses it.
fn databases(doctor: &Doctor) -> Vec<Finding> {
    let Ok(config) = settings::load(&doctor.settings) else { return Vec::new() };
    let Some(database) = &config.storage.database else { return directory::check(&config.storage.data_dir) };
    let look = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let store =
                storage::open(&config.storage).await.map_err(|error| storage::explain(&config.storage, &error))?;
            store.check().await.map_err(|error| storage::explain(&config.storage, &error))?;
            let replicas = store.check_replicas().await;
            store.close().await;
            anyhow::Ok(replicas)
        })
    };
    let (primary, replicas) = match look() {
        Ok(replicas) => {
            let said = "reachable and writable; the schema is current and row-level security is on";
            (Ok(said.to_owned()), replicas)
        }
        Err(error) => (Err(error), Vec::new()),
    };
    let replica = |(url, outcome): (&mnemon_core::Secret<String>, Result<(), mnemon_store::StoreError>)| {
        let name = storage::without_password(url.expose());
        let outcome = outcome.map(|()| format!("{name} follows the primary"));
        Finding {
            what: "read replica".to_owned(),
            outcome: outcome.map_err(|error| anyhow::anyhow!("{}: {name}", storage::cause(&error))),
        }
    };
    let mut findings = vec![Finding { what: "PostgreSQL".to_owned(), outcome: primary }];
    findings.extend(database.replicas.iter().zip(replicas).map(replica));
    findings
}

/// Reads all that a database holds, before nodes are started on it.
fn restored_data(doctor: &Doctor, has_data: bool) -> anyhow::Result<String> {
    let config = settings::load(&doctor.settings)?;
    if config.storage.database.is_none() {
        anyhow::ensure!(has_data, "there is no data of mnemon in {}", config.storage.data_dir.display());
        return Ok("see the data directory above, which was read as a whole".to_owned());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = storage::open(&config.storage).await.map_err(|error| storage::explain(&config.storage, &error))?;
        let read = restored::check(store.as_ref()).await;
        store.close().await;
        read
    })
}

/// Whether the service answers can be checked without a key, too.
fn service(doctor: &Doctor, found: &Found) -> anyhow::Result<Vec<Finding>> {
    let url = &found.url;
    let client = McpClient::with_key(url, found.key.as_deref().unwrap_or_default())?;
    let health = |path: &str| match client.health(path) {
        Ok(200) => Ok(format!("{url}{path} answers")),
        Ok(status) => Err(anyhow::anyhow!("{url}{path} answered {status}; see the service's log")),
        Err(error) => Err(error),
    };
    let tools = || {
        connecting::find_with_key(&doctor.connection)?;
        let listed = client.request("tools/list", json!({}), None)?;
        let count = listed["tools"].as_array().map_or(0, Vec::len);
        anyhow::Ok(format!("accepted; {count} tools available"))
    };
    Ok(vec![
        Finding { what: "service is alive".to_owned(), outcome: health("/health/live") },
        Finding { what: "searches work".to_owned(), outcome: health("/health/ready") },
        Finding { what: "saves work".to_owned(), outcome: health("/health/writable") },
        Finding { what: "API key".to_owned(), outcome: tools() },
    ])
}
