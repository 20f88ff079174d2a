//! Lists as CSV (RFC 4180), for spreadsheets.

use axum::body::Body;
use axum::response::Response;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use mnemon_engine::admin::AdminError;
use mnemon_protocol::admin::{AuditJson, FiguresJson, UsageJson};

use super::extract::word;

/// How a list is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Csv,
}

impl Format {
    pub(crate) fn read(text: Option<&str>) -> Result<Self, AdminError> {
        let parse = |text: &str| match text {
            "json" => Some(Self::Json),
            "csv" => Some(Self::Csv),
            _ => None,
        };
        text.map_or(Ok(Self::Json), |text| word(text, "format", parse, "json, csv"))
    }
}

pub(crate) fn audit(lines: &[AuditJson]) -> Response {
    let head =
        ["at", "actor", "member_id", "actor_name", "action", "subject", "subject_name", "project_id", "affected"];
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let row = |line: &AuditJson| {
        vec![
            line.at.clone(),
            line.actor.clone(),
            text(&line.member_id),
            text(&line.actor_name),
            line.action.clone(),
            line.subject.clone(),
            text(&line.subject_name),
            text(&line.project_id),
            line.affected.to_string(),
        ]
    };
    table("audit.csv", &head, lines.iter().map(row))
}

/// The days.
pub(crate) fn usage(usage: &UsageJson) -> Response {
    let head = [
        "day",
        "calls",
        "searches",
        "saves",
        "rejections",
        "refused_by_connection",
        "refused_by_project",
        "bytes",
        "records",
    ];
    let row = |day: &FiguresJson| {
        let counts = [
            day.calls,
            day.searches,
            day.saves,
            day.rejections,
            day.refused_by_connection,
            day.refused_by_project,
            day.bytes,
        ];
        let mut cells = vec![day.day.clone().unwrap_or_default()];
        cells.extend(counts.iter().map(u64::to_string));
        cells.push(day.records.map(|records| records.to_string()).unwrap_or_default());
        cells
    };
    table("usage.csv", &head, usage.days.iter().map(row))
}

fn table(name: &'static str, head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Response {
    let mut text = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    let rows = rows.map(|row| row.into_iter().map(never_a_formula).collect());
    for row in std::iter::once(head.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>()).chain(rows) {
        text.write_record(row).expect("every row has the cells of the head");
    }
    let text = text.into_inner().expect("bytes in memory can be written");
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let disposition = format!("attachment; filename=\"{name}\"");
    headers.insert(CONTENT_DISPOSITION, disposition.parse().expect("a name of ours is a header value"));
    response
}

/// A spreadsheet treats a cell that begins with one of these as a formula.
fn never_a_formula(cell: String) -> String {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_formula { format!("'{cell}") } else { cell }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn cells_are_quoted_and_never_formulas() {
        let cells = ["plain", "", "a,b", "say \"hi\"\nthere", "=1+1", "@SUM(A1,B1)", "-5"].map(str::to_owned);
        let answer = table("x.csv", &["a"; 7], std::iter::once(cells.to_vec()));
        let text = answer.into_body().collect().await.unwrap().to_bytes();
        let expected = "a,a,a,a,a,a,a\r\nplain,,\"a,b\",\"say \"\"hi\"\"\nthere\",'=1+1,\"'@SUM(A1,B1)\",'-5\r\n";
        assert_eq!(text, expected);
    }
}
