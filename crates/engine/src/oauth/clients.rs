//! Who may ask: clients that registered themselves. Those that a document describes are in `document.rs`.

use std::net::IpAddr;

use mnemon_guard::{Field, Guard, Verdict, redact};
use mnemon_store::{ClientKind, OauthClient, StoreError};

use super::redirects::{self, REDIRECTS_BYTES_MAX, REDIRECTS_MAX};
use crate::Engine;

const NAME_CHARS_MAX: usize = 80;

/// A client's registration request.
#[derive(Debug, Clone, Default)]
pub struct Registration {
    pub redirect_uris: Vec<String>,
    pub name: Option<String>,
    /// The grants it will use; empty means the usual one.
    pub grant_types: Vec<String>,
    /// The response types it will use; empty means the usual one.
    pub response_types: Vec<String>,
}

/// Why a client is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// No client is registered under this id, or it was too long ago.
    #[error("unknown client; disconnect it and connect it again so that it registers again")]
    Unknown,
    /// Its metadata document can't be used.
    #[error("this client's metadata can't be used: {0}")]
    Document(String),
    #[error("{0}")]
    RedirectUri(&'static str),
    /// Something else in the registration is wrong.
    #[error("{0}")]
    Metadata(&'static str),
    #[error("too many registrations from this address; try again in {retry_after_seconds} s")]
    TooMany { retry_after_seconds: u64 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// Registers a client.
    pub async fn register_client(
        &self,
        registration: Registration,
        caller: IpAddr,
    ) -> Result<OauthClient, ClientError> {
        let uris = &registration.redirect_uris;
        if uris.is_empty() || uris.len() > REDIRECTS_MAX {
            return Err(ClientError::RedirectUri("redirect_uris must have between 1 and 20 entries"));
        }
        if uris.iter().map(String::len).sum::<usize>() > REDIRECTS_BYTES_MAX {
            return Err(ClientError::RedirectUri("redirect_uris must have at most 4096 bytes together"));
        }
        uris.iter().try_for_each(|uri| redirects::parse(uri).map(|_| ())).map_err(ClientError::RedirectUri)?;
        let has = |list: &[String], word: &str| list.is_empty() || list.iter().any(|entry| entry == word);
        if !has(&registration.grant_types, "authorization_code") {
            return Err(ClientError::Metadata("grant_types must contain authorization_code, the only grant supported"));
        }
        if !has(&registration.response_types, "code") {
            return Err(ClientError::Metadata("response_types must contain code, the only response type supported"));
        }
        let now = self.clock.now();
        let counted = self.oauth.registrations.count(caller, now);
        counted.map_err(|retry_after_seconds| ClientError::TooMany { retry_after_seconds })?;
        let client = OauthClient {
            id: self.ids.uuid(now).to_string(),
            kind: ClientKind::Registered,
            name: registration.name.as_deref().and_then(|name| shown_name(self.guard, name)),
            redirect_uris: registration.redirect_uris,
            known_at: now,
        };
        self.store.save_client(client.clone()).await?;
        Ok(client)
    }

    /// The client with this id, as far as it is known already.
    pub(super) async fn known_client(&self, id: &str) -> Result<OauthClient, ClientError> {
        self.store.find_client(id).await?.ok_or(ClientError::Unknown)
    }
}

/// A name that is safe to show: invisible and direction-changing characters are removed, secrets are redacted, and it
/// is cut to length. A name that gives orders is not shown at all: the client that chose it is unknown.
pub(super) fn shown_name(guard: &Guard, name: &str) -> Option<String> {
    let is_shown = |c: &char| {
        let is_trick = matches!(*c, '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
        !is_trick && (!c.is_control() || c.is_whitespace())
    };
    let plain: String = name.chars().filter(is_shown).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let joined = words.join(" ");
    let cut: String = redact(&joined).text.chars().take(NAME_CHARS_MAX).collect();
    let is_shown = |name: &String| !name.is_empty() && guard.judge(Field::Name, name) != Verdict::Refuse;
    Some(cut.trim().to_owned()).filter(is_shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shown_without_tricks_and_cut_to_length() {
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(shown_name(Guard::shipped(), name).as_deref(), expected, "{name:?}")
        };
        check("Claude", Some("Claude"));
        check("  Two\n\tlines ", Some("Two lines"));
        check("\u{202e}edualC", Some("edualC"));
        check("a\u{200b}b\u{e0041}c\u{7}", Some("abc"));
        check("<b>bold</b>", Some("<b>bold</b>"));
        check("Café \u{1F4AC}", Some("Café \u{1F4AC}"));
        check("", None);
        check(" \u{200b} ", None);
        check(&"x".repeat(81), Some(&"x".repeat(80)));
    }
}
