//! What an assistant's hooks run: a digest at the start of a session, and the best hits for a prompt. A hook is
//! between a person and the assistant, so it answers at once or not at all, and never fails. What goes wrong is noted
//! in `trouble.rs`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use mnemon_protocol::admin::{AskContext, ContextJson, MeJson};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::places::Places;
use crate::service::{HttpAnswer, NoAnswer, Service};
use crate::settings::{Settings, WorkspaceChoice};
use crate::trouble;

/// How long the service may take. With the start of the program it stays below 300 ms.
const PATIENCE: Duration = Duration::from_millis(250);
/// More than any client sends.
const INPUT_BYTES_MAX: u64 = 4 << 20;
/// The longest query that the service takes.
const QUERY_BYTES_MAX: usize = 4_096;
/// What a prompt may be given.
const PROMPT_TOKENS: usize = 500;
/// What a session may begin with.
const SESSION_TOKENS: usize = 1_500;
/// From here on a record is more likely an answer than not: `score` is a probability.
const PROMPT_SCORE_MIN: f64 = 0.5;

/// The input that a client gives a hook. Claude Code, Codex and Cursor use the same names.
#[derive(Debug, Default, Deserialize)]
struct Input {
    hook_event_name: String,
    #[serde(default)]
    prompt: String,
    #[serde(default)]
    source: String,
    cwd: Option<PathBuf>,
    #[serde(default)]
    workspace_roots: Vec<PathBuf>,
}

/// How the client wants to be answered.
enum Style {
    /// Claude Code and Codex.
    Nested,
    /// Cursor, which wants an object in any case.
    Flat,
}

/// Reads the client's input, and returns what to print, which may be nothing. Without settings it says why there are
/// none, as it says everything that is wrong.
pub async fn answer(places: &Places, settings: Result<&Settings, String>, input: impl Read) -> String {
    let mut bytes = Vec::new();
    if input.take(INPUT_BYTES_MAX).read_to_end(&mut bytes).is_err() {
        return String::new();
    }
    let Ok(input) = serde_json::from_slice::<Input>(&bytes) else { return String::new() };
    let style = if input.hook_event_name == "sessionStart" { Style::Flat } else { Style::Nested };
    let is_start = matches!(input.hook_event_name.as_str(), "SessionStart" | "sessionStart");
    let found = match settings {
        Err(why) if is_start => Err(why),
        Err(_) => Ok(None),
        Ok(settings) => match question(settings, &input) {
            None => Ok(None),
            Some(asked) => {
                let late = || Err(format!("{} did not answer within {} ms", settings.url, PATIENCE.as_millis()));
                let answered = tokio::time::timeout(PATIENCE, ask(settings, asked)).await;
                answered.unwrap_or_else(|_| late()).map(Some)
            }
        },
    };
    let (context, is_trouble) = match found {
        Ok(None) => (None, false),
        Ok(Some(context)) => {
            trouble::clear(places);
            (Some(context), false)
        }
        Err(why) => (trouble::note(places, &why, is_start), true),
    };
    match (style, context.filter(|context| !context.is_empty())) {
        (Style::Nested, None) => String::new(),
        (Style::Flat, None) => "{}".to_owned(),
        (Style::Flat, Some(context)) => json!({"additional_context": context}).to_string(),
        (Style::Nested, Some(context)) => {
            let output = json!({"hookEventName": input.hook_event_name, "additionalContext": context});
            let mut told = json!({"hookSpecificOutput": output});
            if is_trouble {
                // Shown to the person; the rest only reaches the model.
                told["systemMessage"] = context.into();
            }
            told.to_string()
        }
    }
}

/// What to ask the service for; nothing for events that add nothing.
fn question(settings: &Settings, input: &Input) -> Option<AskContext> {
    let folder = input.cwd.as_deref().or_else(|| input.workspace_roots.first().map(PathBuf::as_path));
    let workspace = settings.workspace.as_ref().and_then(|choice| workspace(choice, folder));
    match input.hook_event_name.as_str() {
        // A resumed session has its digest in its history.
        "SessionStart" | "sessionStart" if input.source == "resume" => None,
        "SessionStart" | "sessionStart" => {
            Some(AskContext { workspace, budget: Some(SESSION_TOKENS), ..AskContext::default() })
        }
        "UserPromptSubmit" => {
            let query = input.prompt.trim();
            let end = query.floor_char_boundary(QUERY_BYTES_MAX.min(query.len()));
            // A command of the client is no question, and neither is a word like "yes".
            let is_question = !query.starts_with('/') && query.split_whitespace().nth(1).is_some();
            is_question.then(|| AskContext {
                query: Some(query[..end].to_owned()),
                workspace,
                budget: Some(PROMPT_TOKENS),
                min_score: Some(PROMPT_SCORE_MIN),
            })
        }
        _ => None,
    }
}

fn workspace(choice: &WorkspaceChoice, folder: Option<&Path>) -> Option<String> {
    match folder {
        Some(folder) => choice.in_folder(folder),
        None => choice.in_folder(&std::env::current_dir().ok()?),
    }
}

/// The digest, which is empty where the service has none for this key and workspace, or what a person should mend.
async fn ask(settings: &Settings, asked: AskContext) -> Result<String, String> {
    let service = Service::new(settings);
    let Some(me) = read::<MeJson>(settings, service.once(Method::GET, "/admin/v1/me", Bytes::new()).await)? else {
        return Ok(String::new());
    };
    let Some(project) = me.project else { return Ok(String::new()) };
    let path = format!("/admin/v1/projects/{}/context", project.id);
    let body = serde_json::to_vec(&asked).map_err(|error| error.to_string())?;
    let digest: Option<ContextJson> = read(settings, service.once(Method::POST, &path, body.into()).await)?;
    Ok(digest.map(|digest| digest.markdown).unwrap_or_default())
}

/// An answer of the service; none where it refused for a reason that is nobody's mistake here.
fn read<T: DeserializeOwned>(settings: &Settings, answer: Result<HttpAnswer, NoAnswer>) -> Result<Option<T>, String> {
    let url = &settings.url;
    let answer = answer.map_err(|error| format!("no answer from {url}: {error}"))?;
    match answer.status {
        StatusCode::UNAUTHORIZED => Err(format!("{url} rejected the API key from {}", settings.key_source)),
        status if status.is_server_error() => Err(format!("{url} answered {status}")),
        status if status.is_success() => {
            serde_json::from_slice(&answer.body).map(Some).map_err(|error| format!("{url} is no Mnemon: {error}"))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn asked(input: Value) -> Option<AskContext> {
        let settings = Settings::at("http://127.0.0.1:9");
        question(&settings, &serde_json::from_value(input).unwrap())
    }

    #[test]
    fn sessions_and_questions_are_answered_and_nothing_else() {
        let start = |source| asked(json!({"hook_event_name": "SessionStart", "source": source}));
        assert!(["startup", "clear", "compact"].into_iter().all(|source| start(source).is_some()));
        assert!(start("resume").is_none());
        assert!(asked(json!({"hook_event_name": "sessionStart"})).is_some());
        let prompt = |text: &str| asked(json!({"hook_event_name": "UserPromptSubmit", "prompt": text}));
        let question = prompt(" where do we deploy? ").unwrap();
        assert_eq!((question.query.as_deref(), question.budget), (Some("where do we deploy?"), Some(500)));
        for text in ["", "yes", "/clear now", "  \n"] {
            assert!(prompt(text).is_none(), "{text}");
        }
        assert!(asked(json!({"hook_event_name": "PreToolUse", "prompt": "a question here"})).is_none());
    }

    #[test]
    fn a_long_prompt_is_cut_to_the_longest_query() {
        let prompt = |text: String| {
            let asked = asked(json!({"hook_event_name": "UserPromptSubmit", "prompt": text}));
            asked.and_then(|asked| asked.query).map(|query| query.len())
        };
        assert_eq!(prompt(format!("{} b", "a".repeat(4_094))), Some(4_096));
        assert_eq!(prompt(format!("{} b", "a".repeat(4_095))), Some(4_096));
        assert_eq!(prompt(format!("a b{}", "é".repeat(4_096))), Some(4_095), "no character is torn apart");
    }
}
