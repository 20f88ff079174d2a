//! Clients whose id is the URL of a document that describes them. Anybody who names such an id makes us call that URL:
//! hence the limits on who may do so how often, and the rules for outgoing calls (`mnemon_gateway::outgoing`).

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use jiff::SignedDuration;
use lru::LruCache;
use mnemon_core::Timestamp;
use mnemon_gateway::{Outgoing, OutgoingError};
use mnemon_guard::Guard;
use mnemon_store::{ClientKind, OauthClient};
use serde::Deserialize;
use url::Url;

use super::clients::{ClientError, shown_name};
use super::redirects::{self, REDIRECTS_MAX};
use crate::Engine;

const DOCUMENT_BYTES_MAX: usize = 64 << 10;
const DOCUMENT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a document is not fetched again.
const DOCUMENT_FRESH: SignedDuration = SignedDuration::from_mins(10);
/// How long a rejected one is not fetched again.
const REFUSAL_FRESH: SignedDuration = SignedDuration::from_mins(1);
const REFUSALS_MAX: usize = 1_024;
const ID_CHARS_MAX: usize = 2_048;

/// One text for every URL that is not reached, for whatever reason: the reason would reveal our network to a stranger.
const NOT_REACHED: &str = "its URL is not reachable from this service";

/// The hosts that documents are fetched from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentHosts {
    /// Every host on the public internet.
    pub any_public: bool,
    /// These hosts, wherever they are.
    pub named: BTreeSet<String>,
}

impl Default for DocumentHosts {
    fn default() -> Self {
        Self { any_public: true, named: BTreeSet::new() }
    }
}

/// Documents that were just rejected, and why: fetching them again at once would only help an attacker.
#[derive(Debug)]
pub(super) struct RefusedDocuments(LruCache<String, (Timestamp, String)>);

impl Default for RefusedDocuments {
    fn default() -> Self {
        Self(LruCache::new(std::num::NonZeroUsize::new(REFUSALS_MAX).unwrap_or(std::num::NonZeroUsize::MIN)))
    }
}

/// What a document may contain; the rest is ignored.
#[derive(Debug, Deserialize)]
struct Document {
    client_id: String,
    client_name: Option<String>,
    redirect_uris: Vec<String>,
    token_endpoint_auth_method: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// Whether an id claims to be the URL of a document.
fn is_address(id: &str) -> bool {
    id.contains("://")
}

impl Engine {
    /// The client with this id; its document is fetched if that is due.
    pub(super) async fn find_client(&self, id: &str, caller: IpAddr) -> Result<OauthClient, ClientError> {
        if is_address(id) {
            return self.document_client(id, caller).await;
        }
        self.known_client(id).await
    }

    /// The client that a document describes, from the store while it is fresh.
    async fn document_client(&self, id: &str, caller: IpAddr) -> Result<OauthClient, ClientError> {
        let url = parse_address(id).map_err(|why| ClientError::Document(why.to_owned()))?;
        let now = self.clock.now();
        let known = self.store.find_client(id).await?;
        let is_fresh =
            |client: &OauthClient| client.kind == ClientKind::Document && now < client.known_at + DOCUMENT_FRESH;
        if let Some(client) = known.filter(is_fresh) {
            return Ok(client);
        }
        self.recently_refused(id, now)?;
        self.oauth
            .fetches
            .count(caller, now)
            .map_err(|retry_after_seconds| ClientError::TooMany { retry_after_seconds })?;
        match self.fetch_document(&url, id, now).await {
            Ok(client) => {
                self.store.save_client(client.clone()).await?;
                Ok(client)
            }
            Err(why) => {
                tracing::info!(client.host = url.host_str(), why, "rejected a client's metadata document");
                self.oauth.refused.lock().0.put(id.to_owned(), (now, why.clone()));
                Err(ClientError::Document(why))
            }
        }
    }

    fn recently_refused(&self, id: &str, now: Timestamp) -> Result<(), ClientError> {
        let mut refused = self.oauth.refused.lock();
        match refused.0.get(id) {
            Some((at, why)) if now < *at + REFUSAL_FRESH => Err(ClientError::Document(why.clone())),
            _ => Ok(()),
        }
    }

    async fn fetch_document(&self, url: &Url, id: &str, now: Timestamp) -> Result<OauthClient, String> {
        let outgoing = self.way_to_document(url).ok_or_else(|| NOT_REACHED.to_owned())?;
        let turn = self.oauth.fetching.acquire().await;
        let fetched = outgoing.fetch(url, "application/json", DOCUMENT_BYTES_MAX, DOCUMENT_TIMEOUT).await;
        drop(turn);
        let fetched = fetched.map_err(|error| match error {
            // Only the log may know exactly what was found at a URL.
            OutgoingError::Unreachable { .. } | OutgoingError::Closed(_) | OutgoingError::Url(_) => {
                tracing::info!(client.host = url.host_str(), %error, "could not fetch a client's metadata document");
                NOT_REACHED.to_owned()
            }
            OutgoingError::Redirect(_) | OutgoingError::TooLarge { .. } | OutgoingError::TooSlow { .. } => {
                error.to_string()
            }
        })?;
        if fetched.status != 200 {
            return Err(format!("its URL answered with status {}", fetched.status));
        }
        read(self.guard, &fetched.body, id, now)
    }
}

impl Engine {
    /// The outgoing client for a document; `None` if the operator's list does not include its host.
    fn way_to_document(&self, url: &Url) -> Option<Outgoing> {
        let host = url.host_str()?;
        let hosts = &self.document_hosts;
        let is_named = hosts.named.contains(&host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase());
        match is_named {
            true => Some(self.outgoing.also_allowing(host)),
            false => hosts.any_public.then(|| self.outgoing.clone()),
        }
    }
}

/// The URL of a document: HTTPS, with a path, in normalized form.
fn parse_address(id: &str) -> Result<Url, &'static str> {
    const WRONG: &str = "a client id that is a URL must be https, with a path, without user, password and fragment, \
                         in normalized form";
    if id.len() > ID_CHARS_MAX {
        return Err("a client id must be at most 2048 characters long");
    }
    let url = Url::parse(id).map_err(|_| WRONG)?;
    // A URL that differs from its normalized form has dots in its path, an odd host or something invisible.
    let is_plain = url.as_str() == id && !id.to_ascii_lowercase().contains("%2e");
    let has_secrets = !url.username().is_empty() || url.password().is_some() || url.fragment().is_some();
    let is_right = url.scheme() == "https" && url.path() != "/" && is_plain && !has_secrets;
    if is_right { Ok(url) } else { Err(WRONG) }
}

fn read(guard: &Guard, body: &[u8], id: &str, now: Timestamp) -> Result<OauthClient, String> {
    let document: Document = serde_json::from_slice(body)
        .map_err(|_| "it is not a JSON object with client_id and redirect_uris".to_owned())?;
    if document.client_id != id {
        return Err("its client_id is not its own URL".to_owned());
    }
    let methods = document.token_endpoint_auth_methods_supported.unwrap_or_default();
    let mut methods = methods.into_iter().chain(document.token_endpoint_auth_method).peekable();
    if methods.peek().is_some() && !methods.any(|method| method == "none") {
        return Err("it does not allow token_endpoint_auth_method none; only public clients are supported".to_owned());
    }
    // A document serves many services, and may name redirect URIs that we don't accept.
    let mut redirect_uris = document.redirect_uris;
    redirect_uris.retain(|uri| redirects::parse(uri).is_ok());
    redirect_uris.truncate(REDIRECTS_MAX);
    if redirect_uris.is_empty() {
        return Err("it has no redirect URI that is https, or http on localhost".to_owned());
    }
    let name = document.client_name.as_deref().and_then(|name| shown_name(guard, name));
    Ok(OauthClient { id: id.to_owned(), kind: ClientKind::Document, name, redirect_uris, known_at: now })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "https://app.example/client.json";

    fn check(json: &str) -> Result<Vec<String>, String> {
        read(Guard::shipped(), json.as_bytes(), ID, Timestamp::UNIX_EPOCH).map(|client| client.redirect_uris)
    }

    #[test]
    fn a_url_is_https_with_a_path_in_normalized_form() {
        for id in [ID, "https://app.example/a/b?c=d", "https://app.example:8443/x", "https://1.1.1.1/x"] {
            assert!(parse_address(id).is_ok(), "{id}");
        }
        for id in [
            "https://",
            "https://app.example",
            "https://app.example/",
            "http://app.example/x",
            "https://APP.example/x",
            "https://app.example:443/x",
            "https://app.example/a/../x",
            "https://app.example/./x",
            "https://app.example/%2E%2e/x",
            "https://user@app.example/x",
            "https://:p@app.example/x",
            "https://app.example/x#y",
            "https://app.example/x y",
            "https://0x7f.1/x",
            "https://2130706433/x",
            "https://017700000001/x",
            "https://app.example\\x/y",
            "file:///etc/x",
            "https://[0:0:0:0:0:0:0:1]/x",
            " https://app.example/x",
        ] {
            assert!(parse_address(id).is_err(), "{id}");
        }
    }

    #[test]
    fn a_document_names_itself_and_is_a_public_client() {
        let redirects = r#""redirect_uris": ["https://app.example/cb", "http://localhost/cb", "cursor://x"]"#;
        let expected = Ok(vec!["https://app.example/cb".to_owned(), "http://localhost/cb".to_owned()]);
        assert_eq!(check(&format!(r#"{{"client_id": "{ID}", {redirects}}}"#)), expected);
        for methods in [
            r#""token_endpoint_auth_method": "none""#,
            r#""token_endpoint_auth_methods_supported": ["private_key_jwt", "none"]"#,
            r#""token_endpoint_auth_method": "private_key_jwt", "token_endpoint_auth_methods_supported": ["none"]"#,
        ] {
            assert_eq!(check(&format!(r#"{{"client_id": "{ID}", {methods}, {redirects}}}"#)), expected, "{methods}");
        }
        for wrong in [
            r#"{"client_id": "https://app.example/other.json", "redirect_uris": ["https://app.example/cb"]}"#,
            r#"{"client_id": "https://app.example/client.json", "redirect_uris": []}"#,
            r#"{"client_id": "https://app.example/client.json", "redirect_uris": ["http://app.example/cb"]}"#,
            r#"{"client_id": "https://app.example/client.json"}"#,
            r#"{"redirect_uris": ["https://app.example/cb"]}"#,
            r#"{"client_id": "https://app.example/client.json", "redirect_uris": ["https://a.b/"],
                "token_endpoint_auth_method": "private_key_jwt"}"#,
            r#"{"client_id": "https://app.example/client.json", "redirect_uris": ["https://a.b/"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic"]}"#,
            "[]",
            "null",
            "",
            "<html>",
        ] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }
}
