//! Session histories that a member's agent uploads: accepted line by line, redacted once more, kept compressed within
//! the plan's volume. They are only stored: no search looks into them.

use mnemon_core::{Access, JSON_DEPTH_MAX, SessionId, SubscriptionState, Timestamp};
use mnemon_guard::{Field, redact};
use mnemon_protocol::json;
use mnemon_protocol::sessions::{APPEND_BYTES_MAX, CLIENTS, Chain, NAME_CHARS_MAX};
use mnemon_store::{Session, SessionAppend, SessionAppended, SessionPart, StoreError};
use serde_json::Value;

use crate::{CallContext, CallError, Connection, Engine};

/// Up to this size, a part absorbs the next append: otherwise small appends would make a row each, and compress badly.
const PART_BYTES_MAX: u64 = 256 * 1024;
/// The default level: on text, higher levels cost much time and gain little.
const ZSTD_LEVEL: i32 = 3;
/// How many values a line of a history may have. Tools return long lists, so more than a request may have.
const LINE_VALUES_MAX: usize = 65_536;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    #[error("{0}")]
    Forbidden(&'static str),
    #[error("{}", .0.notice().unwrap_or_default())]
    Subscription(SubscriptionState),
    /// The request is wrong; the text says what and how.
    #[error("{0}")]
    Invalid(String),
    #[error("no such session")]
    NotFound,
    /// The history has another length than the append says; this is the actual state.
    #[error("the session has {} bytes; continue from there", .0.as_ref().map_or(0, |session| session.bytes))]
    Elsewhere(Option<Box<Session>>),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendSession {
    pub client: String,
    pub name: String,
    /// The byte at which this starts.
    pub offset: u64,
    /// The chain that the history should have now, if the caller knows it.
    pub chain: Option<Chain>,
    /// When the history was last written.
    pub modified_at: Option<Timestamp>,
    /// The lines, each with its newline.
    pub text: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionText {
    /// The byte at which it starts, as received.
    pub offset: u64,
    /// Where the next piece starts.
    pub next: Option<u64>,
    pub text: String,
}

impl Engine {
    /// Appends lines to a history. Repeating the last append changes nothing and returns the same answer.
    pub async fn append_session(&self, ctx: &CallContext, append: AppendSession) -> Result<Session, SessionError> {
        let volume_bytes_max = self.admit_upload(ctx)?;
        check_name(&append.client, &append.name)?;
        self.check_shown_name(ctx, &append.name).await?;
        let clean = clean_lines(&append.text)?;
        let (project, member) = (ctx.project(), ctx.credential.member);
        let found = self.store.find_session(project, member, &append.client, &append.name).await?;
        let (bytes, chain) = found.as_ref().map_or((0, Chain::default()), stands);
        if let Some(session) = &found
            && is_repeat(session, &append)
        {
            return Ok(session.clone());
        }
        if bytes != append.offset || append.chain.is_some_and(|expected| expected != chain) {
            return Err(SessionError::Elsewhere(found.map(Box::new)));
        }
        let size = append.text.len() as u64;
        let part = match &found {
            Some(session) => self.merged(ctx, session, &clean.text, size).await?,
            None => to_part(0, size, &clean.text)?,
        };
        // A clock that runs ahead must not make a history outlive everybody else's.
        let modified_at = append.modified_at.map_or(ctx.now, |at| at.min(ctx.now));
        let appended = SessionAppend {
            project,
            member,
            client: append.client,
            name: append.name,
            id: SessionId::new(self.ids.uuid(ctx.now)),
            start: bytes,
            chain: *chain.as_bytes(),
            size,
            chain_after: *chain.after_all(&append.text).as_bytes(),
            redacted: clean.redacted,
            part,
            modified_at,
            at: ctx.now,
            volume_bytes_max,
        };
        match self.store.append_session(appended).await? {
            SessionAppended::Done(session) => {
                self.counts.session_appends.add(1);
                self.counts.session_bytes.add(size);
                Ok(session)
            }
            SessionAppended::Elsewhere(session) => Err(SessionError::Elsewhere(session.map(Box::new))),
        }
    }

    pub async fn show_session(&self, ctx: &CallContext, client: &str, name: &str) -> Result<Session, SessionError> {
        need_key(ctx)?;
        check_name(client, name)?;
        let found = self.store.find_session(ctx.project(), ctx.credential.member, client, name).await?;
        found.ok_or(SessionError::NotFound)
    }

    /// The caller's own histories, by the time of their first upload.
    pub async fn list_own_sessions(
        &self,
        ctx: &CallContext,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>, SessionError> {
        need_key(ctx)?;
        Ok(self.store.list_sessions(ctx.project(), Some(ctx.credential.member), after, limit).await?)
    }

    /// What is kept of one of the caller's own histories, piece by piece.
    pub async fn read_session(
        &self,
        ctx: &CallContext,
        client: &str,
        name: &str,
        offset: u64,
    ) -> Result<SessionText, SessionError> {
        let session = self.show_session(ctx, client, name).await?;
        let Some(part) = self.store.find_session_part(ctx.project(), session.id, offset).await? else {
            return Ok(SessionText { offset: session.bytes, next: None, text: String::new() });
        };
        let end = part.start + part.size;
        Ok(SessionText { offset: part.start, next: (end < session.bytes).then_some(end), text: to_text(&part)? })
    }

    /// Deletes one of the caller's own histories.
    pub async fn delete_own_session(&self, ctx: &CallContext, client: &str, name: &str) -> Result<(), SessionError> {
        let session = self.show_session(ctx, client, name).await?;
        if ctx.credential.access == Access::Read {
            return Err(SessionError::Forbidden("this key is read-only"));
        }
        let audit = self.audit(ctx, "session.delete", session.id.to_string());
        let was_there = self.store.delete_session(ctx.project(), session.id, audit).await?;
        if was_there { Ok(()) } else { Err(SessionError::NotFound) }
    }

    /// Admins see the names of histories, so one is searched and judged like any other name.
    async fn check_shown_name(&self, ctx: &CallContext, name: &str) -> Result<(), SessionError> {
        let is_refused = match self.is_refused_label(Some(ctx), &[Field::Name], name).await {
            Ok(is_refused) => is_refused,
            Err(CallError::Store(error)) => return Err(error.into()),
            Err(_) => {
                let text = "Mnemon Guard refused too many texts of this key; try again in a minute";
                return Err(SessionError::Forbidden(text));
            }
        };
        if is_refused || redact(name).count > 0 {
            let text = "a session's name must hold neither a secret nor an instruction";
            return Err(SessionError::Invalid(text.to_owned()));
        }
        Ok(())
    }

    /// Admits an upload; returns the plan's volume.
    fn admit_upload(&self, ctx: &CallContext) -> Result<Option<u64>, SessionError> {
        need_key(ctx)?;
        if !ctx.subscription.allows_writing() {
            return Err(SessionError::Subscription(ctx.subscription));
        }
        if ctx.credential.access == Access::Read {
            return Err(SessionError::Forbidden("this key is read-only"));
        }
        Ok(self.plan_limits(ctx).history_bytes_max)
    }

    /// The part to store: the last one with these lines added if it is short, else a new one.
    async fn merged(
        &self,
        ctx: &CallContext,
        session: &Session,
        text: &str,
        size: u64,
    ) -> Result<SessionPart, SessionError> {
        let last_byte = session.bytes.saturating_sub(1);
        let last = self.store.find_session_part(ctx.project(), session.id, last_byte).await?;
        match last.filter(|last| last.size + size <= PART_BYTES_MAX) {
            Some(last) => to_part(last.start, last.size + size, &(to_text(&last)? + text)),
            None => to_part(session.bytes, size, text),
        }
    }
}

fn need_key(ctx: &CallContext) -> Result<(), SessionError> {
    match ctx.connection {
        Connection::Key => Ok(()),
        Connection::Oauth(_) => Err(SessionError::Forbidden("session histories require an API key")),
    }
}

fn stands(session: &Session) -> (u64, Chain) {
    (session.bytes, Chain::from_bytes(session.chain))
}

/// Whether this repeats the last append: its answer may have been lost on the way.
fn is_repeat(session: &Session, append: &AppendSession) -> bool {
    append.offset == session.last_start
        && append.offset + append.text.len() as u64 == session.bytes
        && Chain::from_bytes(session.last_chain).after_all(&append.text) == Chain::from_bytes(session.chain)
}

fn check_name(client: &str, name: &str) -> Result<(), SessionError> {
    if !CLIENTS.contains(&client) {
        return Err(SessionError::Invalid(format!("client must be one of {}", CLIENTS.join(", "))));
    }
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if name.is_empty() || name.len() > NAME_CHARS_MAX || !is_plain {
        let text = format!("a session name must be 1 to {NAME_CHARS_MAX} letters, digits, '-', '_' and '.'");
        return Err(SessionError::Invalid(text));
    }
    Ok(())
}

struct Clean {
    text: String,
    redacted: u64,
}

/// Checks that these are lines of JSON objects, and redacts secrets that the agent left.
fn clean_lines(bytes: &[u8]) -> Result<Clean, SessionError> {
    let invalid = |text: String| SessionError::Invalid(text);
    if bytes.is_empty() || bytes.len() > APPEND_BYTES_MAX {
        return Err(invalid(format!("send 1 to {APPEND_BYTES_MAX} bytes of lines at a time, not {}", bytes.len())));
    }
    if !bytes.ends_with(b"\n") {
        return Err(invalid("the last line must end with a newline".to_owned()));
    }
    let mut clean = Clean { text: String::with_capacity(bytes.len()), redacted: 0 };
    for (at, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        let mut value = json::parse(line, JSON_DEPTH_MAX, LINE_VALUES_MAX)
            .map_err(|error| invalid(format!("line {at}: {error}")))?;
        if !value.is_object() {
            return Err(invalid(format!("line {at} must be a JSON object")));
        }
        let redacted = redact_strings(&mut value) + redact_members(&mut value);
        clean.redacted += redacted;
        match std::str::from_utf8(line) {
            // A line without secrets stays unchanged, byte for byte.
            Ok(line) if redacted == 0 => clean.text.push_str(line),
            _ => clean.text.push_str(&format!("{value}\n")),
        }
    }
    Ok(clean)
}

/// Redacts secrets in every string of a value, and counts them.
fn redact_strings(value: &mut Value) -> u64 {
    match value {
        Value::String(text) => {
            let redacted = redact(text);
            let count = redacted.count as u64;
            if count > 0 {
                *text = redacted.text.into_owned();
            }
            count
        }
        Value::Array(items) => items.iter_mut().map(redact_strings).sum(),
        Value::Object(members) => {
            let inner: u64 = members.values_mut().map(redact_strings).sum();
            if members.keys().all(|key| redact(key).count == 0) {
                return inner;
            }
            let named = std::mem::take(members);
            let mut count = inner;
            members.extend(named.into_iter().map(|(key, value)| {
                let redacted = redact(&key);
                count += redacted.count as u64;
                (redacted.text.into_owned(), value)
            }));
            count
        }
        _ => 0,
    }
}

/// Replaces secrets that are recognised by the name beside their value, as in `"password": "…"`: the line is searched
/// as a whole. What is found is between quotes, so the line is JSON afterwards too; should it not be, it stays as it
/// was.
fn redact_members(value: &mut Value) -> u64 {
    let line = value.to_string();
    let redacted = redact(&line);
    if redacted.count == 0 {
        return 0;
    }
    match serde_json::from_str(&redacted.text) {
        Ok(clean @ Value::Object(_)) => {
            *value = clean;
            redacted.count as u64
        }
        _ => 0,
    }
}

fn to_part(start: u64, size: u64, text: &str) -> Result<SessionPart, SessionError> {
    let failed = |error| SessionError::Store(StoreError::Failed(format!("can't compress a session: {error}")));
    let body = zstd::bulk::compress(text.as_bytes(), ZSTD_LEVEL).map_err(failed)?;
    Ok(SessionPart { start, size, kept_bytes: text.len() as u64, body })
}

fn to_text(part: &SessionPart) -> Result<String, SessionError> {
    let broken =
        || StoreError::Broken { table: "session_part", column: "body", row: format!("from byte {}", part.start) };
    let size = usize::try_from(part.kept_bytes).map_err(|_| broken())?;
    let bytes = zstd::bulk::decompress(&part.body, size).map_err(|_| broken())?;
    if bytes.len() != size {
        return Err(broken().into());
    }
    Ok(String::from_utf8(bytes).map_err(|_| broken())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mnemon_guard::canary;

    #[test]
    fn lines_without_secrets_stay_byte_for_byte() {
        let text = "{ \"text\" :\t\"caf\\u00e9 \\ud83d\\ude00\", \"n\": 1.50 }\n{}\n".as_bytes();
        let clean = clean_lines(text).unwrap();
        assert_eq!((clean.text.as_bytes(), clean.redacted), (text, 0));
    }

    #[test]
    fn a_secret_of_every_kind_is_redacted_wherever_it_is() {
        for (kind, secret) in canary::all() {
            let line = serde_json::json!({"text": secret.text, "deep": [{"er": secret.text}]}).to_string() + "\n";
            let clean = clean_lines(line.as_bytes()).unwrap();
            assert!(!clean.text.contains(&secret.hidden) && clean.redacted >= 2, "{kind}: {}", clean.text);
        }
        let key = canary::of("github-token");
        let clean = clean_lines(format!("{{\"{key}\": 1}}\n").as_bytes()).unwrap();
        assert_eq!(clean.text, "{\"[redacted:github-token]\":1}\n");
    }

    #[test]
    fn a_password_under_its_name_is_taken_out() {
        let word = ["Tiger", "#42!"].concat();
        let line = serde_json::json!({"env": {"DB_PASSWORD": word, "HOME": "/root"}, "n": [1]}).to_string() + "\n";
        let clean = clean_lines(line.as_bytes()).unwrap();
        let expected = "{\"env\":{\"DB_PASSWORD\":\"[redacted:password]\",\"HOME\":\"/root\"},\"n\":[1]}\n";
        assert_eq!((clean.text.as_str(), clean.redacted), (expected, 1));
    }

    #[test]
    fn a_line_that_is_not_json_is_named() {
        let check = |text: &str, expected: &str| {
            let error = clean_lines(text.as_bytes()).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("", "send 1 to 524288 bytes of lines at a time, not 0");
        check("{}", "must end with a newline");
        check("{}\n[]\n", "line 2 must be a JSON object");
        check("{}\n{}\nx\n", "line 3: ");
        check("{}\n\n", "line 2: ");
        let fits = format!("{{\"text\":\"{}\"}}\n", "a".repeat(APPEND_BYTES_MAX - 12));
        assert_eq!(fits.len(), APPEND_BYTES_MAX);
        assert!(clean_lines(fits.as_bytes()).is_ok());
        check(&fits.replace("text", "texts"), "not 524289");
    }

    #[test]
    fn names_are_plain() {
        assert_eq!(check_name("codex", &"a".repeat(NAME_CHARS_MAX)), Ok(()));
        for (client, name) in [
            ("codex", ""),
            ("codex", &*"a".repeat(NAME_CHARS_MAX + 1)),
            ("codex", "a/b"),
            ("codex", "é"),
            ("word", "a"),
        ] {
            assert!(check_name(client, name).is_err(), "{client} {name}");
        }
    }
}
