//! What just happened: shown once, on the page after the redirect, with an undo where there is one.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mnemon_engine::Engine;

/// A sentence about what happened, and how to undo it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flash {
    pub(super) text: String,
    pub(super) undo: Option<Undo>,
}

/// A form that undoes it: where it is sent, and its one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Undo {
    pub(super) action: String,
    pub(super) name: String,
    pub(super) value: String,
}

impl Flash {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), undo: None }
    }

    pub(super) fn with_undo(mut self, action: &str, name: &str, value: impl Into<String>) -> Self {
        self.undo = Some(Undo { action: action.to_owned(), name: name.to_owned(), value: value.into() });
        self
    }

    /// As a cookie, sealed so that only the service can have written it.
    pub(super) fn sealed(&self, engine: &Engine, session: &str) -> String {
        let mut lines = vec![self.text.replace('\n', " ")];
        if let Some(undo) = &self.undo {
            lines.extend([undo.action.clone(), undo.name.clone(), undo.value.clone()]);
        }
        let plain = lines.join("\n");
        format!("{}.{}", URL_SAFE_NO_PAD.encode(&plain), engine.seal_console(session, &plain))
    }

    pub(super) fn open(engine: &Engine, session: &str, cookie: &str) -> Option<Self> {
        let (plain, seal) = cookie.split_once('.')?;
        let plain = String::from_utf8(URL_SAFE_NO_PAD.decode(plain).ok()?).ok()?;
        if !engine.is_console_seal(session, &plain, Some(seal)) {
            return None;
        }
        let mut lines = plain.split('\n').map(str::to_owned);
        let text = lines.next()?;
        let undo = match (lines.next(), lines.next(), lines.next()) {
            (Some(action), Some(name), Some(value)) => Some(Undo { action, name, value }),
            _ => None,
        };
        Some(Self { text, undo })
    }
}
