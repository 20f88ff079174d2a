//! What has changed in the definition of a tool: its lines before and now, with the words that differ marked.

use std::fmt::Write;

use serde_json::Value;
use similar::{Algorithm, Change, ChangeTag, capture_diff_slices};

use super::parts::{self as p, Html};

/// How many equal lines are shown around a change.
const AROUND: usize = 1;
/// Longer definitions are compared up to here: the comparison takes time by the square of it.
const LINES_MAX: usize = 400;
/// The most lines that are shown; a page has to stay small.
const SHOWN_MAX: usize = 60;

/// The difference as markup; nothing if both say the same in every line.
pub(super) fn of_definitions(accepted: &str, present: &str) -> Option<Html> {
    let (before, now) = (lines(accepted), lines(present));
    let steps = compare(&before, &now);
    if steps.iter().all(|step| matches!(step, Step::Same(_))) {
        return None;
    }
    Some(render(&near_changes(steps)))
}

/// A definition in lines: its words first, then what it takes and promises, one property a line.
fn lines(definition: &str) -> Vec<String> {
    let Ok(Value::Object(tool)) = serde_json::from_str::<Value>(definition) else {
        return definition.lines().take(LINES_MAX).map(str::to_owned).collect();
    };
    let mut out = Vec::new();
    for name in ["title", "description"] {
        if let Some(text) = tool.get(name).and_then(Value::as_str) {
            out.extend(text.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned));
        }
    }
    for (name, value) in tool.iter().filter(|(name, _)| !["name", "title", "description"].contains(&name.as_str())) {
        flatten(name, value, &mut out);
    }
    out.truncate(LINES_MAX);
    out
}

/// One line for each value, with the way to it.
fn flatten(path: &str, value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                flatten(&format!("{path}.{name}"), value, out);
            }
        }
        Value::String(text) => out.push(format!("{path}: {text}")),
        other => out.push(format!("{path}: {other}")),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Same(String),
    Before(String),
    Now(String),
}

/// The way from one text to the other, by lines.
fn compare(before: &[String], now: &[String]) -> Vec<Step> {
    let changes = capture_diff_slices(Algorithm::Myers, before, now);
    let changes = changes.iter().flat_map(|change| change.iter_changes(before, now));
    let step = |change: Change<String>| match change.tag() {
        ChangeTag::Equal => Step::Same(change.value()),
        ChangeTag::Delete => Step::Before(change.value()),
        ChangeTag::Insert => Step::Now(change.value()),
    };
    changes.map(step).collect()
}

/// Leaves out what is equal and far from any change.
fn near_changes(steps: Vec<Step>) -> Vec<Step> {
    let changed: Vec<usize> =
        steps.iter().enumerate().filter(|(_, step)| !matches!(step, Step::Same(_))).map(|(at, _)| at).collect();
    let is_near = |at: usize| changed.iter().any(|change| change.abs_diff(at) <= AROUND);
    steps.into_iter().enumerate().filter(|(at, _)| is_near(*at)).map(|(_, step)| step).collect()
}

fn render(steps: &[Step]) -> Html {
    let mut out = r#"<div class="diff" role="group" aria-label="What changed in the definition">"#.to_owned();
    let mut at = 0;
    while at < steps.len().min(SHOWN_MAX) {
        match (&steps[at], steps.get(at + 1)) {
            (Step::Before(before), Some(Step::Now(now))) => {
                let (before, now) = mark(before, now);
                line(&mut out, "del", &before);
                line(&mut out, "add", &now);
                at += 1;
            }
            (Step::Before(text), _) => line(&mut out, "del", &format!("<del>{}</del>", p::esc(text))),
            (Step::Now(text), _) => line(&mut out, "add", &format!("<ins>{}</ins>", p::esc(text))),
            (Step::Same(text), _) => line(&mut out, "", &p::esc(text)),
        }
        at += 1;
    }
    if steps.len() > at {
        line(&mut out, "", &format!("… and {}", p::counted((steps.len() - at) as u64, "line")));
    }
    out.push_str("</div>");
    Html(out)
}

fn line(out: &mut String, class: &str, inside: &str) {
    let sign = match class {
        "del" => r#"<span role="img" aria-label="before">−</span>"#,
        "add" => r#"<span role="img" aria-label="now">+</span>"#,
        _ => "<span> </span>",
    };
    let class = if class.is_empty() { String::new() } else { format!(r#" class="{class}""#) };
    let _ = write!(out, "<div{class}>{sign}<bdi>{inside}</bdi></div>");
}

/// Marks what lies between the common beginning and the common end of two lines, in whole words.
fn mark(before: &str, now: &str) -> (String, String) {
    let (own, other): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive(' ').collect(), now.split_inclusive(' ').collect());
    let first = own.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let rest = own[first..].iter().rev().zip(other[first..].iter().rev()).take_while(|(a, b)| a == b).count();
    let part = |words: &[&str], tag: &str| {
        let text = |words: &[&str]| p::esc(&words.concat());
        let middle = &words[first..words.len() - rest];
        let inside = if middle.is_empty() { String::new() } else { format!("<{tag}>{}</{tag}>", text(middle)) };
        format!("{}{inside}{}", text(&words[..first]), text(&words[words.len() - rest..]))
    };
    (part(&own, "del"), part(&other, "ins"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = r#"{"name":"read","description":"Reads a file.\nNothing else.","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}"#;

    #[test]
    fn what_differs_is_marked_and_the_rest_left_out() {
        let now = BEFORE
            .replace("Reads a file.", "Reads a file or <b>any</b> address.")
            .replace(r#""properties":{"#, r#""properties":{"address":{"type":"string"},"#);
        let shown = of_definitions(BEFORE, &now).unwrap().0;
        assert!(shown.contains("Reads a <del>file.</del>"), "{shown}");
        assert!(shown.contains("Reads a <ins>file or &lt;b&gt;any&lt;/b&gt; address.</ins>"), "{shown}");
        assert!(shown.contains("<ins>inputSchema.properties.address.type: string</ins>"), "{shown}");
        assert_eq!(of_definitions(BEFORE, BEFORE), None);
    }

    #[test]
    fn a_long_change_is_cut() {
        let now: String = (0..100).map(|line| format!("line {line}\n")).collect();
        let shown = of_definitions("nothing", &now).unwrap().0;
        assert!(shown.contains("… and 41 lines"), "{shown}");
    }
}
