//! Who may ask: clients that registered themselves. Those that a document describes are in `document.rs`.

use std::net::IpAddr;

use mnemon_store::{ClientKind, OauthClient, StoreError};

use super::redirects::{self, REDIRECTS_MAX};
use crate::Engine;

const NAME_CHARS_MAX: usize = 80;

/// A client's wish to be known.
#[derive(Debug, Clone, Default)]
pub struct Registration {
    /// Where it may be returned to.
    pub redirect_uris: Vec<String>,
    /// What it calls itself.
    pub name: Option<String>,
    /// The ways to a token that it will use; empty means the usual one.
    pub grant_types: Vec<String>,
    /// The answers that it will ask for; empty means the usual one.
    pub response_types: Vec<String>,
}

/// Why a client is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// Nobody registered under this id, or it was too long ago.
    #[error("this client is not known here; let it register again, by disconnecting and connecting it anew")]
    Unknown,
    /// Its document is no good.
    #[error("the description of this client can't be used: {0}")]
    Document(String),
    /// A redirect URI is no good.
    #[error("{0}")]
    RedirectUri(&'static str),
    /// Something else in the registration is no good.
    #[error("{0}")]
    Metadata(&'static str),
    /// Too many from one address.
    #[error("too many from this address; try again in {retry_after_seconds} s")]
    TooMany {
        /// When there is room again.
        retry_after_seconds: u64,
    },
    /// It could not be found out.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// Makes a client known.
    pub async fn register_client(
        &self,
        registration: Registration,
        caller: IpAddr,
    ) -> Result<OauthClient, ClientError> {
        let uris = &registration.redirect_uris;
        if uris.is_empty() || uris.len() > REDIRECTS_MAX {
            return Err(ClientError::RedirectUri("redirect_uris must have between 1 and 20 entries"));
        }
        uris.iter().try_for_each(|uri| redirects::parse(uri).map(|_| ())).map_err(ClientError::RedirectUri)?;
        let has = |list: &[String], word: &str| list.is_empty() || list.iter().any(|entry| entry == word);
        if !has(&registration.grant_types, "authorization_code") {
            return Err(ClientError::Metadata("grant_types must have authorization_code, the one way to a token"));
        }
        if !has(&registration.response_types, "code") {
            return Err(ClientError::Metadata("response_types must have code, the one answer there is"));
        }
        let now = self.clock.now();
        let counted = self.oauth.registrations.count(caller, now);
        counted.map_err(|retry_after_seconds| ClientError::TooMany { retry_after_seconds })?;
        let client = OauthClient {
            id: self.ids.uuid(now).to_string(),
            kind: ClientKind::Registered,
            name: registration.name.as_deref().and_then(shown_name),
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

/// A name as it may be shown: what is invisible or turns the direction of reading is left out, and it is cut to length.
pub(super) fn shown_name(name: &str) -> Option<String> {
    let is_shown = |c: &char| {
        let is_trick = matches!(*c, '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
        !is_trick && (!c.is_control() || c.is_whitespace())
    };
    let plain: String = name.chars().filter(is_shown).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let cut: String = words.join(" ").chars().take(NAME_CHARS_MAX).collect();
    Some(cut.trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shown_without_tricks_and_cut_to_length() {
        let check = |name: &str, expected: Option<&str>| assert_eq!(shown_name(name).as_deref(), expected, "{name:?}");
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
