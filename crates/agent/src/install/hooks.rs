//! Hooks: commands that an assistant runs when a session starts or a person sends a prompt.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};

use super::{Refusal, Target};

/// How long an assistant waits for the hook, in seconds. The hook itself gives up long before.
const TIMEOUT_SECONDS: &str = "5";
/// Every command of ours ends like this, whatever its path and flags are.
const OUR_END: &str = " hook";

/// What the hooks run, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hooks {
    /// A command line.
    pub command: String,
    /// Whether prompts are answered too, beside the start of a session.
    pub has_prompts: bool,
}

/// The events that a client knows, by the names it uses: the start of a session, and a prompt.
fn events(target: Target, has_prompts: bool) -> &'static [&'static str] {
    match (target, has_prompts) {
        // Cursor lets a hook stop a prompt and has no way to add to it.
        (Target::Cursor, _) => &["sessionStart"],
        (_, false) => &["SessionStart"],
        (_, true) => &["SessionStart", "UserPromptSubmit"],
    }
}

const ALL_EVENTS: [&str; 3] = ["SessionStart", "UserPromptSubmit", "sessionStart"];

pub(super) fn insert(target: Target, hooks: &Hooks, text: &str) -> Result<String, Refusal> {
    let (mark, inner) = super::json::split_mark(text);
    let inner = if inner.trim().is_empty() { "{}\n" } else { inner };
    let file = parse(inner)?;
    let root = file.object_value().ok_or_else(|| broken("the top-level value must be an object"))?;
    if target == Target::Cursor && root.get("version").is_none() {
        root.append("version", CstInputValue::Number("1".to_owned()));
    }
    let holder = root.object_value_or_create("hooks").ok_or_else(|| broken("hooks must be an object"))?;
    for event in events(target, hooks.has_prompts) {
        let list =
            holder.array_value_or_create(event).ok_or_else(|| broken(&format!("hooks.{event} must be a list")))?;
        let present = list.elements().into_iter().find(is_ours);
        let wanted = handler(target, &hooks.command);
        match present {
            Some(present) if command_of(&present).as_deref() == Some(&hooks.command) => {}
            Some(present) => {
                let at = list.elements().iter().position(is_ours).unwrap_or_default();
                present.remove();
                list.insert(at, wanted);
            }
            None => {
                list.ensure_multiline();
                list.append(wanted);
            }
        }
    }
    if !hooks.has_prompts && target != Target::Cursor {
        take_out(&holder, &["UserPromptSubmit"]);
    }
    Ok(format!("{mark}{file}"))
}

pub(super) fn has_hooks(text: &str) -> Result<bool, Refusal> {
    Ok(!commands(text)?.is_empty())
}

/// The command lines of our hooks.
pub(super) fn commands(text: &str) -> Result<Vec<String>, Refusal> {
    let (_, inner) = super::json::split_mark(text);
    if inner.trim().is_empty() {
        return Ok(Vec::new());
    }
    let Some(holder) = parse(inner)?.object_value().and_then(|root| root.object_value("hooks")) else {
        return Ok(Vec::new());
    };
    let lists = ALL_EVENTS.iter().filter_map(|event| holder.array_value(event));
    Ok(lists.flat_map(|list| list.elements()).filter(is_ours).filter_map(|element| command_of(&element)).collect())
}

/// Removes our hooks, and the lists that are empty then.
pub(super) fn remove(text: &str) -> Result<String, Refusal> {
    if !has_hooks(text)? {
        return Ok(text.to_owned());
    }
    let (mark, inner) = super::json::split_mark(text);
    let file = parse(inner)?;
    if let Some(root) = file.object_value()
        && let Some(holder) = root.object_value("hooks")
    {
        take_out(&holder, &ALL_EVENTS);
        if holder.properties().is_empty()
            && let Some(hooks) = root.get("hooks")
        {
            hooks.remove();
        }
    }
    Ok(format!("{mark}{file}"))
}

fn take_out(holder: &CstObject, events: &[&str]) {
    for event in events {
        let Some(list) = holder.array_value(event) else { continue };
        let ours: Vec<CstNode> = list.elements().into_iter().filter(is_ours).collect();
        let had_ours = !ours.is_empty();
        for element in ours {
            element.remove();
        }
        if had_ours
            && list.elements().is_empty()
            && let Some(property) = holder.get(event)
        {
            property.remove();
        }
    }
}

fn handler(target: Target, command: &str) -> CstInputValue {
    let text = |text: &str| CstInputValue::String(text.to_owned());
    let command = ("command".to_owned(), text(command));
    let timeout = ("timeout".to_owned(), CstInputValue::Number(TIMEOUT_SECONDS.to_owned()));
    if target == Target::Cursor {
        return CstInputValue::Object(vec![command, timeout]);
    }
    let one = CstInputValue::Object(vec![("type".to_owned(), text("command")), command, timeout]);
    CstInputValue::Object(vec![("hooks".to_owned(), CstInputValue::Array(vec![one]))])
}

fn is_ours(element: &CstNode) -> bool {
    command_of(element).is_some_and(|command| command.contains("mnemon") && command.ends_with(OUR_END))
}

/// The command of a handler: its own, or that of the only handler in a group. A group with more is somebody else's
/// work.
fn command_of(element: &CstNode) -> Option<String> {
    let object = element.as_object()?;
    let object = match object.array_value("hooks") {
        Some(group) => {
            let [only] = <[CstNode; 1]>::try_from(group.elements()).ok()?;
            only.as_object()?
        }
        None => object,
    };
    object.get("command")?.value()?.as_string_lit()?.decoded_value().ok()
}

fn parse(text: &str) -> Result<CstRootNode, Refusal> {
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| broken(&error.to_string()))
}

fn broken(why: &str) -> Refusal {
    Refusal::Broken { form: "JSON", why: why.to_owned() }
}
