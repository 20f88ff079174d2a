//! Usage: what assistants did, by day and by key, as plots and as a table.

use askama::Template;
use axum::extract::Request;
use axum::response::Response;
use mnemon_core::Timestamp;
use mnemon_engine::admin::{DayUsage, KeyUsage, UsageReport};
use mnemon_engine::console::ConsoleError;
use mnemon_engine::stored::Day;

use super::parts::{self as p, Html};
use super::query::Query;
use super::shell::{Place, Shell};
use super::visit::Visit;
use crate::http::Fields;

const PATH: &str = "/console/usage";
/// The periods that can be chosen.
const PERIODS: [(u16, &str); 4] = [(7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "A year")];
/// How many days the table in the page has; all of them are in the file.
const TABLE_DAYS: usize = 14;
const DAY_SECONDS: i64 = 86_400;

#[derive(Template)]
#[template(path = "console/usage.html")]
struct Page<'a> {
    shell: Shell<'a>,
    periods: Vec<(String, &'static str, bool)>,
    records: String,
    /// Whether the drafts of others are counted too, as the plan does.
    counts_all: bool,
    limit: Option<Limit>,
    /// The records of each day, if at least two days are known.
    curve: Option<Curve>,
    plots: Vec<Plot>,
    days: Vec<DayRow>,
    more_days: usize,
    csv: String,
    keys: Vec<KeyLine>,
    /// Whether this person can see what the guard held back.
    sees_guard: bool,
}

/// The records against what the plan allows.
struct Limit {
    plan: &'static str,
    max: String,
    bar: Html,
}

/// How many records lived at the end of each day.
struct Curve {
    label: String,
    values: String,
    from: String,
    first: String,
    middle: String,
    under: String,
    line: String,
    /// The words at the plan's line, which is as high as the picture if there is none.
    limit: Option<String>,
    outlook: String,
}

struct Plot {
    title: &'static str,
    unit: &'static str,
    sum: String,
    /// Compared with the period before.
    change: String,
    top: String,
    most: String,
    least: String,
    values: String,
    path: String,
    from: String,
    first: String,
    middle: String,
}

struct DayRow {
    day: String,
    calls: String,
    searches: String,
    saves: String,
    rejections: String,
    /// Unknown before figures were kept.
    records: String,
}

struct KeyLine {
    label: String,
    link: String,
    share: Html,
    calls: String,
    searches: String,
    saves: String,
    rejections: String,
    /// Calls that were too many for the key or for the project.
    refused: Html,
}

fn period(fields: &Fields) -> u16 {
    let asked = fields.find("days").and_then(|days| days.parse().ok());
    asked.filter(|asked| PERIODS.iter().any(|(days, _)| days == asked)).unwrap_or(30)
}

/// `GET /console/usage`
pub(super) async fn show(visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    visit.show(build(&visit, &fields).await)
}

/// Every day of the period, oldest first.
fn every_day(report: &UsageReport) -> Vec<(Day, KeyUsage)> {
    report.days.iter().map(|day| (day.day, day.figures)).collect()
}

fn date(day: Day) -> Timestamp {
    Timestamp::from_second(i64::from(day.0) * DAY_SECONDS).unwrap_or(Timestamp::UNIX_EPOCH)
}

async fn build<'a>(visit: &'a Visit, fields: &Fields) -> Result<Page<'a>, ConsoleError> {
    let me = visit.member()?;
    let (days, admin) = (period(fields), &visit.visitor.admin);
    let report = visit.engine().show_usage(admin, me.project.id, days).await?;
    let keys = visit.engine().list_keys(admin, me.project.id).await?;
    let rows = every_day(&report);
    // The plan counts every record, drafts of others too. Only admins are told that number.
    let counted = report.days.iter().rev().find_map(|day| day.records);
    let records = counted.unwrap_or(report.records);
    let max = me.limits.and_then(|limits| limits.records_max);
    let plan = me.account.plan().map_or("none", mnemon_core::PlanName::as_str);
    let label = |id| {
        let key = keys.iter().find(|shown| shown.key.id == id).and_then(|shown| shown.key.label.clone());
        key.unwrap_or_else(|| "without a label".to_owned())
    };
    let all_calls: u64 = report.keys.iter().map(|(_, usage)| usage.calls).sum();
    let mut by_key: Vec<_> = report.keys.iter().collect();
    by_key.sort_by_key(|(_, usage)| std::cmp::Reverse(usage.calls));
    let key_line = |(id, usage): &&(mnemon_core::KeyId, KeyUsage)| {
        let share = usage.calls as f64 / all_calls.max(1) as f64;
        KeyLine {
            label: label(*id),
            link: Query::default().with("q", &label(*id)).link("/console/keys"),
            share: p::fillbar(share, &format!("{:.0} % of calls", share * 100.0), "bar-slim", "2"),
            calls: p::number(usage.calls),
            searches: p::number(usage.searches),
            saves: p::number(usage.saves),
            rejections: p::number(usage.rejections),
            refused: refused(usage.refused_by_connection + usage.refused_by_project),
        }
    };
    let plot = |title, unit, pick: fn(&KeyUsage) -> u64| {
        let change = change(pick(&report.total), pick(&report.before), days);
        Plot { change, ..plot(title, unit, &rows, pick) }
    };
    Ok(Page {
        shell: Shell::new(visit, Place::Usage, "Usage"),
        periods: PERIODS.map(|(known, word)| (format!("{PATH}?days={known}"), word, known == days)).into(),
        records: p::number(records),
        counts_all: counted.is_some(),
        limit: max.map(|max| Limit {
            plan,
            max: p::number(max),
            bar: p::fillbar(records as f64 / max.max(1) as f64, &format!("{records} of {max}"), "", "2"),
        }),
        curve: curve(&report.days, max),
        plots: vec![
            plot("Calls", "calls", |usage| usage.calls),
            plot("Searches", "searches", |usage| usage.searches),
            plot("Saves", "saves", |usage| usage.saves),
            plot("Rejected by the guard", "rejections", |usage| usage.rejections),
        ],
        days: report.days.iter().rev().take(TABLE_DAYS).map(day_row).collect(),
        more_days: rows.len().saturating_sub(TABLE_DAYS),
        csv: format!("{PATH}/csv?days={days}"),
        keys: by_key.iter().take(25).map(key_line).collect(),
        sees_guard: visit.is_admin(),
    })
}

fn refused(count: u64) -> Html {
    match count {
        0 => Html("0".to_owned()),
        count => p::tone("is-stale", &p::number(count), "stale"),
    }
}

fn day_row(row: &DayUsage) -> DayRow {
    let usage = &row.figures;
    DayRow {
        day: date(row.day).strftime("%-d %b").to_string(),
        calls: p::number(usage.calls),
        searches: p::number(usage.searches),
        saves: p::number(usage.saves),
        rejections: p::number(usage.rejections),
        records: row.records.map(p::number).unwrap_or_default(),
    }
}

/// Where the line of the plan is drawn, of a hundred from the top.
const LIMIT_AT: f64 = 12.0;

/// The records day by day, from the first day that is known on.
fn curve(days: &[DayUsage], max: Option<u64>) -> Option<Curve> {
    let known: Vec<(Day, u64)> = days.iter().filter_map(|row| Some((row.day, row.records?))).collect();
    let (first, last) = (known.first()?, known.last()?);
    if known.len() < 2 {
        return None;
    }
    let most = known.iter().map(|(_, records)| *records).max().unwrap_or_default();
    // Above the limit there is room, and a limit that is far away would flatten the curve.
    let limit = max.filter(|max| most.saturating_mul(5) >= *max);
    let top = limit.unwrap_or_else(|| rounded_up(most)).max(most).max(1) as f64;
    let step = 1_000.0 / (known.len() - 1) as f64;
    let points: Vec<String> = known
        .iter()
        .enumerate()
        .map(|(at, (_, records))| {
            let height = *records as f64 / top * (100.0 - LIMIT_AT);
            format!("{:.0} {:.1}", at as f64 * step, 100.0 - height)
        })
        .collect();
    let allowed = max.map(|max| format!("; the plan allows {}", p::number(max))).unwrap_or_default();
    let name = |at: usize| known.get(at).map(|(day, _)| date(*day).strftime("%-d %b").to_string()).unwrap_or_default();
    Some(Curve {
        label: format!(
            "Living records over {} days: from {} to {}{allowed}",
            known.len(),
            p::number(first.1),
            p::number(last.1)
        ),
        values: known.iter().map(|(_, records)| records.to_string()).collect::<Vec<_>>().join(","),
        from: date(first.0).strftime("%Y-%m-%d").to_string(),
        first: name(0),
        middle: name(known.len() / 2),
        under: format!("M0 100L{}L1000 100Z", points.join("L")),
        line: format!("M{}", points.join("L")),
        limit: limit.map(|max| format!("the plan’s limit, {}", p::number(max))),
        outlook: outlook(first.1, last.1, known.len() as u64 - 1, max),
    })
}

/// When the limit is reached, if all goes on like this.
fn outlook(first: u64, last: u64, days: u64, max: Option<u64>) -> String {
    let grown = last.saturating_sub(first);
    match max {
        Some(max) if last >= max => "The limit is reached: nothing more can be saved.".to_owned(),
        Some(max) if grown > 0 => {
            let left = (max - last).saturating_mul(days) / grown;
            let span = p::span_of(i64::try_from(left).unwrap_or(i64::MAX / DAY_SECONDS).max(1) * DAY_SECONDS);
            format!("At the pace of these days the limit is reached in about {span}.")
        }
        _ => format!("{} more than {} before.", p::counted(grown, "record"), p::counted(days, "day")),
    }
}

/// How a sum compares with that of the period before.
fn change(now: u64, before: u64, days: u16) -> String {
    let than = format!("than the {days} days before");
    match (now, before) {
        (0, 0) => String::new(),
        (_, 0) => format!("none in the {days} days before"),
        (now, before) if now == before => format!("as many as in the {days} days before"),
        (now, before) if now > before => format!("{} % more {than}", (now - before) * 100 / before),
        (now, before) => format!("{} % fewer {than}", (before - now) * 100 / before),
    }
}

/// The next round number.
fn rounded_up(most: u64) -> u64 {
    let mut power = 1;
    while most > power * 10 {
        power *= 10;
    }
    [1, 2, 3, 4, 5, 8, 10].into_iter().map(|step| step * power).find(|top| most <= *top).unwrap_or(most)
}

fn plot(title: &'static str, unit: &'static str, rows: &[(Day, KeyUsage)], pick: fn(&KeyUsage) -> u64) -> Plot {
    let values: Vec<u64> = rows.iter().map(|(_, usage)| pick(usage)).collect();
    let most = values.iter().copied().max().unwrap_or_default();
    let top = rounded_up(most).max(1);
    let width = 1_000.0 / values.len().max(1) as f64;
    let column = |(at, value): (usize, &u64)| {
        let (left, height) = (at as f64 * width + width * 0.14, *value as f64 / top as f64 * 100.0);
        format!("M{left:.1} 100V{:.1}h{:.1}V100z", 100.0 - height, width * 0.72)
    };
    let columns = values.iter().enumerate().filter(|(_, value)| **value > 0).map(column);
    let words: Vec<String> = values.iter().map(u64::to_string).collect();
    let name = |at: usize| rows.get(at).map(|(day, _)| date(*day).strftime("%-d %b").to_string()).unwrap_or_default();
    Plot {
        title,
        unit,
        sum: p::number(values.iter().sum()),
        change: String::new(),
        top: p::number(top),
        most: p::number(most),
        least: p::number(values.iter().copied().min().unwrap_or_default()),
        values: words.join(","),
        path: columns.collect(),
        from: rows.first().map(|(day, _)| date(*day).strftime("%Y-%m-%d").to_string()).unwrap_or_default(),
        first: name(0),
        middle: name(rows.len() / 2),
    }
}

/// `GET /console/usage/csv`: every day of the period.
pub(super) async fn csv(visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    match lines(&visit, period(&fields)).await {
        Ok(text) => super::page::file(text, "text/csv; charset=utf-8", "usage.csv"),
        Err(error) => visit.trouble(&error),
    }
}

async fn lines(visit: &Visit, days: u16) -> Result<String, ConsoleError> {
    let report = visit.engine().show_usage(&visit.visitor.admin, visit.project()?, days).await?;
    let mut text = "day,calls,searches,saves,rejected,records\n".to_owned();
    for row in &report.days {
        let (day, records) = (date(row.day).strftime("%Y-%m-%d"), row.records.map(|count| count.to_string()));
        let (records, KeyUsage { calls, searches, saves, rejections, .. }) = (records.unwrap_or_default(), row.figures);
        text.push_str(&format!("{day},{calls},{searches},{saves},{rejections},{records}\n"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::rounded_up;

    #[test]
    fn the_outlook_counts_days_to_the_limit() {
        let told = |first, last, max| super::outlook(first, last, 30, max);
        assert_eq!(told(100, 400, Some(500)), "At the pace of these days the limit is reached in about 10 days.");
        assert_eq!(told(100, 500, Some(500)), "The limit is reached: nothing more can be saved.");
        assert_eq!(told(500, 100, Some(500)), "0 records more than 30 days before.");
        assert_eq!(told(100, 101, None), "1 record more than 30 days before.");
        assert!(told(0, 1, Some(u64::MAX)).contains("years"));
    }

    #[test]
    fn an_axis_ends_at_a_round_number_and_a_change_is_a_share() {
        assert_eq!(super::change(108, 100, 30), "8 % more than the 30 days before");
        assert_eq!(super::change(3, 4, 7), "25 % fewer than the 7 days before");
        assert_eq!([0, 1, 9, 10, 11, 1_420, 99_999].map(rounded_up), [1, 1, 10, 10, 20, 2_000, 100_000]);
    }
}
