//! Configurations in TOML.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::{ENTRY, Entry, Refusal};

pub(super) fn insert(container: &str, entry: &Entry, text: &str, is_replacing: bool) -> Result<String, Refusal> {
    let mut document = parse(text)?;
    let present = servers(&document, container)?.and_then(|servers| servers.get(ENTRY));
    match present {
        Some(present) if is_same(present, entry) => return Ok(text.to_owned()),
        Some(_) if !is_replacing => return Err(Refusal::Occupied),
        Some(_) => {}
        None => {
            if let Some(appended) = appended(container, entry, text) {
                return Ok(appended);
            }
        }
    }
    // To replace an entry, or if the container is written inline, the TOML library edits it and keeps the rest.
    let servers = document.entry(container).or_insert(Item::Table(Table::new()));
    let servers = servers.as_table_like_mut().ok_or_else(|| not_a_table(container))?;
    let members = [("command", Value::from(&entry.command)), ("args", args(entry))];
    let is_inline = servers.get(ENTRY).map_or(!servers.is_implicit_table(), Item::is_inline_table);
    let item = if is_inline {
        Item::Value(Value::InlineTable(members.into_iter().collect::<InlineTable>()))
    } else {
        let mut table = Table::new();
        for (name, value) in members {
            table.insert(name, Item::Value(value));
        }
        Item::Table(table)
    };
    match servers.get_mut(ENTRY) {
        Some(present) => *present = item,
        None => {
            servers.insert(ENTRY, item);
        }
    }
    Ok(document.to_string())
}

pub(super) fn has_entry(container: &str, text: &str) -> Result<bool, Refusal> {
    let document = parse(text)?;
    Ok(servers(&document, container)?.is_some_and(|servers| servers.contains_key(ENTRY)))
}

/// The program that the entry starts.
pub(super) fn program(container: &str, text: &str) -> Result<Option<String>, Refusal> {
    let document = parse(text)?;
    let entry = servers(&document, container)?.and_then(|servers| servers.get(ENTRY)?.as_table_like());
    Ok(entry.and_then(|entry| entry.get("command")?.as_str().map(str::to_owned)))
}

pub(super) fn remove(container: &str, text: &str, is_container_ours: bool) -> Result<String, Refusal> {
    if !has_entry(container, text)? {
        return Ok(text.to_owned());
    }
    let mut document = parse(text)?;
    if let Some(servers) = document.get_mut(container).and_then(Item::as_table_like_mut) {
        servers.remove(ENTRY);
        if servers.is_empty() && is_container_ours {
            document.remove(container);
        }
    }
    Ok(document.to_string())
}

/// Whether a table's members are tables of their own.
trait Implicit {
    fn is_implicit_table(&self) -> bool;
}

impl Implicit for dyn TableLike + '_ {
    fn is_implicit_table(&self) -> bool {
        self.iter().all(|(_, item)| item.is_table())
    }
}

/// The entry as a separate table at the end of the file, where it can't change the meaning of anything before it.
fn appended(container: &str, entry: &Entry, text: &str) -> Option<String> {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => end,
        _ => &format!("{end}{end}"),
    };
    let (command, args) = (Value::from(&entry.command), args(entry));
    let table = format!("{gap}[{container}.{ENTRY}]{end}command = {command}{end}args = {args}{end}");
    let whole = format!("{text}{table}");
    has_entry(container, &whole).is_ok_and(|has| has).then_some(whole)
}

fn args(entry: &Entry) -> Value {
    Value::Array(entry.args.iter().collect::<Array>())
}

fn parse(text: &str) -> Result<DocumentMut, Refusal> {
    text.parse::<DocumentMut>().map_err(|error| Refusal::Broken { form: "TOML", why: error.message().to_owned() })
}

fn not_a_table(container: &str) -> Refusal {
    Refusal::Broken { form: "TOML", why: format!("{container} must be a table") }
}

fn servers<'a>(document: &'a DocumentMut, container: &str) -> Result<Option<&'a dyn TableLike>, Refusal> {
    match document.get(container) {
        None => Ok(None),
        Some(item) => item.as_table_like().map(Some).ok_or_else(|| not_a_table(container)),
    }
}

fn is_same(present: &Item, entry: &Entry) -> bool {
    let Some(present) = present.as_table_like() else { return false };
    let command = present.get("command").and_then(Item::as_str);
    let args = present.get("args").and_then(Item::as_array);
    let args: Option<Vec<&str>> = args.map(|args| args.iter().filter_map(Value::as_str).collect());
    present.len() == 2
        && command == Some(&entry.command)
        && args.is_some_and(|args| args.len() == entry.args.len() && args.iter().zip(&entry.args).all(|(a, b)| a == b))
}
