//! Configurations in JSON, with or without comments. A parser locates things; new text is inserted between the existing
//! bytes, in the style of its surroundings.

use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::cst::CstRootNode;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::{ENTRY, Refusal};

pub(super) fn insert(container: &str, wanted: &Value, text: &str, is_replacing: bool) -> Result<String, Refusal> {
    let (mark, text) = split_mark(text);
    if text.trim().is_empty() {
        let whole = serde_json::json!({container: {ENTRY: wanted}});
        return Ok(format!("{mark}{}\n{text}", Style::of("\n").render(&whole, "")));
    }
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()).map_err(broken)?;
    let root = root(parsed.value.as_ref())?;
    let inserts = match member(root, container) {
        None => Style::of(text).member(text, root, container, &serde_json::json!({ENTRY: wanted})),
        Some(holder) => {
            let servers = object(holder, container)?;
            match member(servers, ENTRY) {
                None => Style::of(text).member(text, servers, ENTRY, wanted),
                Some(present) => {
                    let range = present.range();
                    let is_same = serde_json::from_str::<Value>(&text[range.start..range.end])
                        .is_ok_and(|present| present == *wanted);
                    if is_same {
                        return Ok(format!("{mark}{text}"));
                    }
                    if !is_replacing {
                        return Err(Refusal::Occupied);
                    }
                    let indent = line_indent(text, range.start);
                    let new = Style::of(text).render(wanted, indent);
                    return Ok(format!("{mark}{}{new}{}", &text[..range.start], &text[range.end..]));
                }
            }
        }
    };
    let mut out = mark.to_owned();
    let mut done = 0;
    for (at, new) in inserts {
        out.push_str(&text[done..at]);
        out.push_str(&new);
        done = at;
    }
    out.push_str(&text[done..]);
    Ok(out)
}

pub(super) fn has_entry(container: &str, text: &str) -> Result<bool, Refusal> {
    let (_, text) = split_mark(text);
    if text.trim().is_empty() {
        return Ok(false);
    }
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()).map_err(broken)?;
    let Some(holder) = member(root(parsed.value.as_ref())?, container) else { return Ok(false) };
    Ok(member(object(holder, container)?, ENTRY).is_some())
}

/// The program that the entry starts. Some clients keep it at the head of a list with its arguments.
pub(super) fn program(container: &str, text: &str) -> Result<Option<String>, Refusal> {
    if !has_entry(container, text)? {
        return Ok(None);
    }
    let root = CstRootNode::parse(split_mark(text).1, &ParseOptions::default()).map_err(broken)?;
    let find = || {
        let command = root.object_value()?.object_value(container)?.object_value(ENTRY)?.get("command")?.value()?;
        let first = command.as_array().and_then(|list| list.elements().into_iter().next());
        first.unwrap_or(command).as_string_lit()?.decoded_value().ok()
    };
    Ok(find())
}

/// Removes the entry by its name, when the inserted bytes can no longer be found.
pub(super) fn remove(container: &str, text: &str, is_container_ours: bool) -> Result<String, Refusal> {
    let (mark, inner) = split_mark(text);
    if !has_entry(container, text)? {
        return Ok(text.to_owned());
    }
    let root = CstRootNode::parse(inner, &ParseOptions::default()).map_err(broken)?;
    let holder = root.object_value().and_then(|object| object.get(container));
    if let Some(holder) = holder
        && let Some(servers) = holder.object_value()
        && let Some(present) = servers.get(ENTRY)
    {
        present.remove();
        if is_container_ours && servers.properties().is_empty() {
            holder.remove();
        }
    }
    Ok(format!("{mark}{root}"))
}

/// Splits off a byte-order mark, which some editors write first.
pub(super) fn split_mark(text: &str) -> (&str, &str) {
    text.strip_prefix('\u{feff}').map_or(("", text), |rest| ("\u{feff}", rest))
}

fn broken(why: impl ToString) -> Refusal {
    Refusal::Broken { form: "JSON", why: why.to_string() }
}

fn root<'a, 'b>(value: Option<&'b Node<'a>>) -> Result<&'b Object<'a>, Refusal> {
    match value {
        Some(Node::Object(object)) => Ok(object),
        _ => Err(broken("the top-level value must be an object")),
    }
}

fn object<'a, 'b>(value: &'b Node<'a>, name: &str) -> Result<&'b Object<'a>, Refusal> {
    match value {
        Node::Object(object) => Ok(object),
        _ => Err(broken(format!("{name} must be an object"))),
    }
}

fn member<'a, 'b>(object: &'b Object<'a>, name: &str) -> Option<&'b Node<'a>> {
    object.properties.iter().find(|member| member.name.as_str() == name).map(|member| &member.value)
}

/// How a file is formatted.
struct Style {
    newline: &'static str,
    unit: String,
    /// Whether it is written on one line.
    is_flat: bool,
    /// Whether there are no spaces even around punctuation.
    is_tight: bool,
}

impl Style {
    fn of(text: &str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indents = text.lines().map(|line| &line[..line.len() - line.trim_start().len()]);
        let unit = indents.filter(|indent| !indent.is_empty()).min_by_key(|indent| indent.len()).unwrap_or("  ");
        let is_tight = !text.contains("\": ") && !text.contains("{ ") && text.contains(':');
        Self { newline, unit: unit.to_owned(), is_flat: !text.trim().contains('\n') && text != "\n", is_tight }
    }

    /// A value whose first line is indented by `indent`.
    fn render(&self, value: &Value, indent: &str) -> String {
        if self.is_flat {
            return if self.is_tight { value.to_string() } else { spaced(value) };
        }
        let deeper = format!("{indent}{}", self.unit);
        match value {
            Value::Object(members) if !members.is_empty() => {
                let lines = members.iter().map(|(name, value)| {
                    format!("{deeper}{}: {}", Value::from(name.as_str()), self.render(value, &deeper))
                });
                let lines: Vec<String> = lines.collect();
                let newline = self.newline;
                format!("{{{newline}{}{newline}{indent}}}", lines.join(&format!(",{newline}")))
            }
            other => spaced(other),
        }
    }

    /// What to insert where, so that an object gets one more member at its end.
    fn member(&self, text: &str, object: &Object<'_>, name: &str, value: &Value) -> Vec<(usize, String)> {
        let open = object.range.start + 1;
        let own_indent = line_indent(text, object.range.start);
        let name = Value::from(name).to_string();
        let colon = if self.is_tight { ":" } else { ": " };
        let Some(last) = object.properties.last() else {
            let inside = &text[open..object.range.end - 1];
            if self.is_flat {
                return vec![(open, format!("{name}{colon}{}", self.render(value, "")))];
            }
            let indent = format!("{own_indent}{}", self.unit);
            let new = format!("{}{indent}{name}: {}", self.newline, self.render(value, &indent));
            // Without a line break inside, the closing bracket needs one before it.
            let end = if inside.contains('\n') { String::new() } else { format!("{}{own_indent}", self.newline) };
            return vec![(end_of_line(text, open, object.range.end - 1), format!("{new}{end}"))];
        };
        let first = object.properties[0].range.start;
        let is_broken_up = text[open..first].contains('\n');
        let comma = find_comma(text, last.range.end, object.range.end);
        let after = comma.map_or(last.range.end, |comma| comma + 1);
        if !is_broken_up || self.is_flat {
            let flat = Self { newline: self.newline, unit: String::new(), is_flat: true, is_tight: self.is_tight };
            let gap = if self.is_tight { "" } else { " " };
            let new = format!("{gap}{name}{colon}{}", flat.render(value, ""));
            return match comma {
                Some(_) => vec![(after, format!("{new},"))],
                None => vec![(after, format!(",{new}"))],
            };
        }
        let indent = line_indent(text, first).to_owned();
        let new = format!("{}{indent}{name}: {}", self.newline, self.render(value, &indent));
        let place = end_of_line(text, after, object.range.end - 1);
        match comma {
            Some(_) => vec![(place, format!("{new},"))],
            None if place == after => vec![(after, format!(",{new}"))],
            // A comment at the end of the last member's line stays with that member.
            None => vec![(after, ",".to_owned()), (place, new)],
        }
    }
}

/// JSON on one line with spaces around punctuation, as people write it.
fn spaced(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members =
                members.iter().map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), spaced(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// The whitespace at the start of the line that contains a position.
fn line_indent(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..at];
    &line[..line.len() - line.trim_start().len()]
}

/// The comma after a member, past whitespace and comments.
fn find_comma(text: &str, from: usize, to: usize) -> Option<usize> {
    let mut at = from;
    while at < to {
        let rest = &text[at..to];
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        match remark(trimmed) {
            Some(length) => at += length,
            None => return trimmed.starts_with(',').then_some(at),
        }
    }
    None
}

/// The position after the comments on the same line.
fn end_of_line(text: &str, from: usize, to: usize) -> usize {
    let mut at = from;
    loop {
        let rest = &text[at..to];
        let trimmed = rest.trim_start_matches([' ', '\t']);
        match remark(trimmed) {
            Some(length) => at += rest.len() - trimmed.len() + length,
            None => return at,
        }
    }
}

/// The length of the comment at the start of a text; a line comment ends before the line break.
fn remark(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find(['\r', '\n']).unwrap_or(text.len()));
    }
    text.starts_with("/*").then(|| text.find("*/").map_or(text.len(), |end| end + 2))
}
