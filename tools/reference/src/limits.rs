//! The page of limits: every limit for callers, from the code that enforces it.

use std::fmt::Write;

use mnemon_core as core;
use mnemon_core::{PlanName, PlanTable};
use mnemon_engine::{admin, oauth};
use mnemon_gateway::Limits;
use mnemon_protocol::sessions;

pub(super) fn page() -> String {
    let mut page =
        "# Limits\n\nA call past a limit fails with a text that states the number. Sizes in bytes are of UTF-8.\n"
            .to_owned();
    table(&mut page, "Records", &records());
    table(&mut page, "Searches", &searches());
    table(&mut page, "Requests", &requests());
    table(&mut page, "Other systems and web clients", &others());
    add_plans(&mut page);
    page
}

type Row = (&'static str, String);

fn records() -> Vec<Row> {
    vec![
        ("`content`", bytes(core::CONTENT_BYTES_MAX)),
        ("`fact_key`", characters(core::FACT_KEY_CHARS_MAX)),
        ("`tags`", format!("{} of {}", core::TAGS_MAX, characters(core::TAG_CHARS_MAX))),
        ("`source`, `source_id`, each", characters(core::SOURCE_CHARS_MAX)),
        ("`source_hash`, `source_revision`, `current_source_hash`, each", characters(core::HASH_CHARS_MAX)),
        ("ids in `supersedes`", count(core::SUPERSEDES_MAX)),
        ("idempotency key", characters(core::IDEMPOTENCY_KEY_CHARS_MAX)),
    ]
}

fn searches() -> Vec<Row> {
    vec![
        ("`query`", bytes(core::QUERY_BYTES_MAX)),
        ("`limit`, at most", count(core::SEARCH_LIMIT_MAX)),
        ("`limit`, if none is given", count(core::SEARCH_LIMIT_DEFAULT)),
        ("`memory_ids`", count(core::SEARCH_IDS_MAX)),
        ("digest (`mnemon context`), if no budget is given", format!("{} tokens", count(admin::BUDGET_TOKENS_DEFAULT))),
    ]
}

fn requests() -> Vec<Row> {
    vec![
        ("request body", bytes(core::REQUEST_BYTES_MAX)),
        ("nesting of its JSON", format!("{} levels", core::JSON_DEPTH_MAX)),
        ("values in its JSON", count(core::JSON_VALUES_MAX)),
        ("sources in one check", count(admin::SOURCES_MAX)),
        ("one part of a session history", bytes(sessions::APPEND_BYTES_MAX)),
        ("name of a session history", characters(sessions::NAME_CHARS_MAX)),
    ]
}

fn others() -> Vec<Row> {
    let limits = Limits::default();
    vec![
        ("answer of another system", bytes(limits.answer_bytes_max)),
        ("time for a call to it (`gateway.call_timeout_s`)", format!("{} s", limits.call_timeout.as_secs())),
        ("calls that a project has running at once (`gateway.calls_per_project`)", count(limits.calls_max)),
        ("tools of an integration", count(mnemon_gateway::TOOLS_MAX)),
        ("failures in a row until it is paused", mnemon_gateway::FAILURES_MAX.to_string()),
        ("length of the pause", format!("{} s", mnemon_gateway::PAUSE.as_secs())),
        ("life of an OAuth token", format!("{} days", oauth::TOKEN_LIFE.as_hours() / 24)),
        ("wrong keys that an address may paste on a page, per minute", count(oauth::WRONG_KEYS_MAX)),
        ("clients that an address may register, per minute", count(oauth::REGISTRATIONS_MAX)),
    ]
}

fn add_plans(page: &mut String) {
    page.push_str(
        "\n## Plans\n\nThese are defaults; [the configuration](configuration.md) may change each. Calls count over the last 60 seconds.\n\n\
         | plan | records per project | workspaces | calls per key | calls per project | session histories | imported per hour |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let table = PlanTable::default();
    for plan in PlanName::ALL {
        let limits = table.limits(plan);
        let shown = |limit: Option<u64>, unit: &str| {
            limit.map_or("no limit".to_owned(), |limit| format!("{}{unit}", grouped(limit)))
        };
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} |",
            plan.as_str(),
            shown(limits.records_max, ""),
            shown(limits.workspaces_max, ""),
            shown(limits.connection_calls_max.map(u64::from), ""),
            shown(limits.project_calls_max.map(u64::from), ""),
            shown(limits.history_bytes_max.map(|bytes| bytes / 1_000_000), " MB"),
            shown(limits.import_bytes_max.map(|bytes| bytes / 1_000_000), " MB")
        );
    }
    let _ = writeln!(page, "\nWhen a paid period ends, memory stays readable for {} days.", core::GRACE_DAYS);
}

fn table(page: &mut String, title: &str, rows: &[Row]) {
    let _ = write!(page, "\n## {title}\n\n| what | limit |\n| --- | --- |\n");
    for (what, limit) in rows {
        let _ = writeln!(page, "| {what} | {limit} |");
    }
}

fn bytes(bytes: usize) -> String {
    match (bytes % (1 << 20), bytes % (1 << 10)) {
        (0, _) => format!("{} MiB", bytes >> 20),
        (_, 0) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}

fn characters(characters: usize) -> String {
    format!("{characters} characters")
}

fn count(count: usize) -> String {
    grouped(count as u64)
}

/// 16384 as 16,384.
fn grouped(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1_000), number % 1_000),
    }
}
