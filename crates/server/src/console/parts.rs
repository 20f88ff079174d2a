//! Small parts of pages: icons, chips, bars, times and numbers. What comes from people is escaped here or by the
//! templates.

use std::fmt;

use askama::filters::HtmlSafe;
use mnemon_core::{Status, Timestamp};
use mnemon_engine::admin::StatusCounts;

/// Markup that is safe to write as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Html(pub(super) String);

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Html {}

/// A text from anywhere, as markup.
pub(super) fn esc(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(letter),
        }
    }
    out
}

/// From this length on a word may be broken anywhere; otherwise it would push the page aside.
const LONG_WORD_CHARS: usize = 24;

/// A text from anywhere, as markup that keeps to itself whatever direction it writes in.
pub(super) fn said(text: &str) -> Html {
    let is_long = text.split_whitespace().any(|word| word.chars().count() > LONG_WORD_CHARS);
    let class = if is_long { r#" class="break""# } else { "" };
    Html(format!("<bdi{class}>{}</bdi>", esc(text)))
}

pub(super) fn icon(name: &str) -> Html {
    Html(format!(r##"<svg class="i" aria-hidden="true"><use href="#i-{name}"/></svg>"##))
}

/// A status with its own silhouette and word.
pub(super) fn chip(status: Status) -> Html {
    chip_as(status, status.as_str())
}

/// A status with another word.
pub(super) fn chip_as(status: Status, word: &str) -> Html {
    let name = status.as_str();
    Html(format!(r#"<span class="chip is-{name}">{}{}</span>"#, icon(name), esc(word)))
}

/// A chip that is no status.
pub(super) fn tone(class: &str, word: &str, picture: &str) -> Html {
    if picture.is_empty() {
        return Html(format!(r#"<span class="chip {class} chip-plain">{}</span>"#, esc(word)));
    }
    Html(format!(r#"<span class="chip {class}">{}{}</span>"#, icon(picture), esc(word)))
}

/// A window that asks before something is destroyed. The destructive button exists only in it.
pub(super) struct Ask<'a> {
    pub(super) id: &'a str,
    pub(super) title: String,
    pub(super) text: Html,
    /// The button's words.
    pub(super) yes: &'a str,
    pub(super) action: &'a str,
    /// Hidden fields.
    pub(super) fields: &'a [(&'a str, &'a str)],
    /// Fields to fill in.
    pub(super) inside: Html,
    pub(super) seal: &'a str,
}

pub(super) fn ask(ask: &Ask<'_>) -> Html {
    let Ask { id, title, text, yes, action, fields, inside, seal } = ask;
    let hidden: String = fields.iter().map(|(name, value)| hidden(name, value).0).collect();
    Html(format!(
        r#"<div class="pop" popover id="{id}" role="dialog" aria-labelledby="{id}-h"><h2 id="{id}-h">{title}</h2><form class="form" method="post" action="{action}">{seal}{hidden}<div class="stack">{text}</div>{inside}<div class="form-end"><button class="btn" type="button" popovertarget="{id}" popovertargetaction="hide" autofocus>Cancel</button><button class="btn btn-danger-main" type="submit">{yes}</button></div></form></div>"#,
        title = esc(title),
        action = esc(action),
        yes = esc(yes),
        seal = self::hidden("seal", seal),
    ))
}

pub(super) fn hidden(name: &str, value: &str) -> Html {
    Html(format!(r#"<input type="hidden" name="{name}" value="{}">"#, esc(value)))
}

/// A button that copies the text of an element; there only with script.
pub(super) fn copy(id: &str, word: &str, class: &str) -> Html {
    let picture = icon("copy");
    Html(format!(
        r#"<button class="btn {class} js-only" type="button" data-copy="{id}">{picture}<span data-word>{word}</span></button>"#
    ))
}

const WIDE: u64 = 1_000;
const GAP: u64 = 6;

/// A slim bar of how many records have each status.
pub(super) fn status_bar(counts: &StatusCounts) -> Html {
    let StatusCounts { verified, unverified, stale, conflict } = *counts;
    let parts = [("verified", verified), ("unverified", unverified), ("stale", stale), ("conflict", conflict)];
    let label = format!("{verified} verified, {unverified} unverified, {stale} stale, {conflict} in conflict");
    stackbar(&parts, &label, "bar-slim")
}

/// A bar of parts that make up a whole.
pub(super) fn stackbar(parts: &[(&str, u64)], label: &str, class: &str) -> Html {
    let parts: Vec<&(&str, u64)> = parts.iter().filter(|(_, count)| *count > 0).collect();
    let sum: u64 = parts.iter().map(|(_, count)| count).sum::<u64>().max(1);
    let room = WIDE - GAP * (parts.len().max(1) as u64 - 1);
    let (mut rects, mut x) = (String::new(), 0);
    for (name, count) in parts {
        let width = (count.saturating_mul(room) / sum).max(8);
        let at = if x == 0 { String::new() } else { format!(r#" x="{x}""#) };
        rects.push_str(&format!(r#"<rect class="f-{name}"{at} width="{width}" height="10"/>"#));
        x += width + GAP;
    }
    svg_bar(class, label, &rects)
}

/// A bar filled up to a share of one.
pub(super) fn fillbar(share: f64, label: &str, class: &str, fill: &str) -> Html {
    let width = (share.clamp(0.0, 1.0) * WIDE as f64).round();
    svg_bar(class, label, &format!(r#"<rect class="f-{fill}" width="{width}" height="10"/>"#))
}

/// Parts around zero: what helps to the right of the line, what hurts to the left. All bars of a page share one scale.
pub(super) fn zerobar(parts: &[(&str, f64)], label: &str, (right_max, left_max): (f64, f64)) -> Html {
    let unit = 988.0 / (right_max + left_max).max(f64::EPSILON);
    let zero = (left_max * unit).round();
    let (mut left, mut right) = (zero - 4.0, if zero > 0.0 { zero + 4.0 } else { 0.0 });
    let mut rects = String::new();
    for (name, value) in parts.iter().filter(|(_, value)| *value != 0.0) {
        let width = ((value.abs() * unit).round() - 4.0).max(6.0);
        let x = if *value < 0.0 {
            left -= width;
            left
        } else {
            right
        };
        if *value < 0.0 {
            left -= 4.0;
        } else {
            right += width + 4.0;
        }
        rects.push_str(&format!(r#"<rect class="f-{name}" x="{}" width="{width}" height="10"/>"#, x.max(0.0)));
    }
    if zero > 0.0 {
        rects.push_str(&format!(r#"<path class="zero" d="M{zero} -3V13"/>"#));
    }
    svg_bar("", label, &rects)
}

/// The same beside a number that says it already.
pub(super) fn fillbar_of(share: f64, fill: &str) -> Html {
    let width = (share.clamp(0.0, 1.0) * WIDE as f64).round();
    Html(format!(
        r#"<svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true"><rect class="f-{fill}" width="{width}" height="10"/></svg>"#
    ))
}

fn svg_bar(class: &str, label: &str, inside: &str) -> Html {
    let class = if class.is_empty() { "bar".to_owned() } else { format!("bar {class}") };
    let label = esc(label);
    Html(format!(
        r#"<svg class="{class}" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label="{label}">{inside}</svg>"#
    ))
}

/// A moment in words, exact on hover and for machines.
pub(super) fn moment(at: Timestamp, words: &str) -> Html {
    let iso = at.strftime("%Y-%m-%dT%H:%M:%SZ");
    Html(format!(r#"<time datetime="{iso}" title="{}">{}</time>"#, exact(at), esc(words)))
}

/// How long ago, or in how long.
pub(super) fn ago(at: Timestamp, now: Timestamp) -> Html {
    moment(at, &distance(at, now))
}

/// A moment to the minute.
pub(super) fn exact(at: Timestamp) -> String {
    at.strftime("%-d %b %Y, %H:%M UTC").to_string()
}

/// A day.
pub(super) fn day(at: Timestamp) -> String {
    at.strftime("%-d %B %Y").to_string()
}

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// How long ago, or in how long, in words.
pub(super) fn distance(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - at.as_second();
    let is_past = seconds >= 0;
    let seconds = seconds.abs();
    if seconds < MINUTE {
        return if is_past { "a moment ago" } else { "in a moment" }.to_owned();
    }
    let span = span_of(seconds);
    if is_past { format!("{span} ago") } else { format!("in {span}") }
}

/// A length of time in its largest fitting unit.
pub(super) fn span_of(seconds: i64) -> String {
    const UNITS: [(i64, i64, &str); 5] = [
        (HOUR, MINUTE, "minute"),
        (DAY, HOUR, "hour"),
        (14 * DAY, DAY, "day"),
        (60 * DAY, 7 * DAY, "week"),
        (730 * DAY, 30 * DAY, "month"),
    ];
    let fitting = UNITS.iter().find(|(below, ..)| seconds < *below);
    let (length, unit) = fitting.map_or((365 * DAY, "year"), |(_, length, unit)| (*length, *unit));
    let count = seconds / length;
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// A number with separators.
pub(super) fn number(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun.
pub(super) fn counted(count: u64, one: &str) -> String {
    format!("{} {one}{}", number(count), if count == 1 { "" } else { "s" })
}

/// A size in its largest fitting unit.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match UNITS.iter().find(|(unit, _)| count >= *unit) {
        Some((unit, name)) => match count % unit * 10 / unit {
            0 => format!("{} {name}", count / unit),
            tenths => format!("{}.{tenths} {name}", count / unit),
        },
        None => format!("{count} B"),
    }
}

/// A figure with a sign that is a minus.
pub(super) fn signed(value: f64) -> String {
    format!("{value:.2}").replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_for_people() {
        assert_eq!([number(0), number(999), number(1_000), number(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([counted(1, "record"), counted(2, "record")], ["1 record", "2 records"]);
        assert_eq!([bytes(999), bytes(1_000), bytes(62_400_000)], ["999 B", "1 kB", "62.4 MB"]);
        let now = Timestamp::from_second(100_000_000).unwrap();
        let at = |before: i64| distance(Timestamp::from_second(100_000_000 - before).unwrap(), now);
        assert_eq!([at(0), at(59), at(60), at(119)], ["a moment ago", "a moment ago", "1 minute ago", "1 minute ago"]);
        assert_eq!([at(HOUR), at(3 * DAY), at(21 * DAY)], ["1 hour ago", "3 days ago", "3 weeks ago"]);
        assert_eq!([at(-6 * DAY), at(90 * DAY), at(900 * DAY)], ["in 6 days", "3 months ago", "2 years ago"]);
    }

    #[test]
    fn nothing_from_people_becomes_markup() {
        assert_eq!(esc(r#"<a b="c" d='e'>&"#), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
        assert_eq!(tone("", "<b>", "").0, r#"<span class="chip  chip-plain">&lt;b&gt;</span>"#);
    }

    #[test]
    fn bars_stay_within_their_box() {
        let bar = zerobar(&[("1", 1.5), ("2", -0.5)], "x", (1.5, 0.5)).0;
        assert!(bar.contains(r#"class="zero" d="M247 "#), "{bar}");
        assert!(stackbar(&[("verified", 3), ("stale", 1), ("conflict", 0)], "x", "").0.contains(r#"width="745""#));
    }
}
