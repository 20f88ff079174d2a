//! Usage: what assistants did, by day and by key, as plots and as a table.

use askama::Template;
use axum::extract::Request;
use axum::response::Response;
use mnemon_core::Timestamp;
use mnemon_engine::admin::{KeyUsage, UsageReport};
use mnemon_engine::console::ConsoleError;
use mnemon_engine::stored::Day;

use super::parts::{self as p, Html};
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
    limit: Option<Limit>,
    plots: Vec<Plot>,
    days: Vec<DayRow>,
    more_days: usize,
    csv: String,
    keys: Vec<KeyLine>,
}

/// The records against what the plan allows.
struct Limit {
    plan: &'static str,
    max: String,
    bar: Html,
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
}

struct KeyLine {
    label: String,
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
        records: p::number(report.records),
        limit: max.map(|max| Limit {
            plan,
            max: p::number(max),
            bar: p::fillbar(
                report.records as f64 / max.max(1) as f64,
                &format!("{} of {max}", report.records),
                "",
                "2",
            ),
        }),
        plots: vec![
            plot("Calls", "calls", |usage| usage.calls),
            plot("Searches", "searches", |usage| usage.searches),
            plot("Saves", "saves", |usage| usage.saves),
            plot("Rejected by the guard", "rejections", |usage| usage.rejections),
        ],
        days: rows.iter().rev().take(TABLE_DAYS).map(day_row).collect(),
        more_days: rows.len().saturating_sub(TABLE_DAYS),
        csv: format!("{PATH}/csv?days={days}"),
        keys: by_key.iter().take(25).map(key_line).collect(),
    })
}

fn refused(count: u64) -> Html {
    match count {
        0 => Html("0".to_owned()),
        count => p::tone("is-stale", &p::number(count), "stale"),
    }
}

fn day_row((day, usage): &(Day, KeyUsage)) -> DayRow {
    DayRow {
        day: date(*day).strftime("%-d %b").to_string(),
        calls: p::number(usage.calls),
        searches: p::number(usage.searches),
        saves: p::number(usage.saves),
        rejections: p::number(usage.rejections),
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
    let mut text = "day,calls,searches,saves,rejected\n".to_owned();
    for (day, usage) in every_day(&report) {
        let day = date(day).strftime("%Y-%m-%d");
        let KeyUsage { calls, searches, saves, rejections, .. } = usage;
        text.push_str(&format!("{day},{calls},{searches},{saves},{rejections}\n"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::rounded_up;

    #[test]
    fn an_axis_ends_at_a_round_number_and_a_change_is_a_share() {
        assert_eq!(super::change(108, 100, 30), "8 % more than the 30 days before");
        assert_eq!(super::change(3, 4, 7), "25 % fewer than the 7 days before");
        assert_eq!([0, 1, 9, 10, 11, 1_420, 99_999].map(rounded_up), [1, 1, 10, 10, 20, 2_000, 100_000]);
    }
}
