//! Access for programs that can't hold a key: a person pastes a key on our page, and the program gets a token that acts
//! for it. Authorization code with PKCE, public clients, no refresh token.
//!
//! Requests are judged here; pages, forms, redirects and JSON belong to the server.

mod authorize;
mod clients;
mod document;
mod form;
mod per_address;
mod redirects;
mod revoke;
mod token;

use std::net::IpAddr;

use jiff::SignedDuration;
use mnemon_store::StoreError;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use url::Url;

use crate::Engine;

pub use authorize::{Asked, AuthorizationRequest, AuthorizeError, GrantError, Return, ReturnedError};
pub use clients::{ClientError, Registration};
pub use document::DocumentHosts;
pub use form::{FORM_LIFE, FormError};
pub use per_address::PerAddress;
pub use redirects::return_host;
pub use token::{Issued, TokenError, TokenRequest};

use document::RefusedDocuments;

/// The only scope.
pub const SCOPE: &str = "mcp";
/// How long a token is valid.
pub const TOKEN_LIFE: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How long a code is valid.
pub const CODE_LIFE: SignedDuration = SignedDuration::from_secs(60);
/// How many wrong keys an address may paste per minute.
pub const WRONG_KEYS_MAX: usize = 5;
/// How many clients an address may register per minute.
pub const REGISTRATIONS_MAX: usize = 30;
/// How many documents an address may make us fetch per minute.
const FETCHES_MAX: usize = 30;
/// How many documents are fetched at the same time.
const FETCHING_MAX: usize = 16;
/// How long an ended connection is still listed, and a used code remembered: longer than its token could live.
const KEPT_AFTER_END: SignedDuration = SignedDuration::from_hours(31 * 24);
/// How long a client without connections is kept. Anybody can register one, so it goes soon; a client that comes back
/// later registers again.
const UNUSED_CLIENT_KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);

/// What each node remembers between requests.
#[derive(Debug)]
pub(crate) struct OauthMemory {
    wrong_keys: PerAddress,
    registrations: PerAddress,
    fetches: PerAddress,
    fetching: Semaphore,
    refused: Mutex<RefusedDocuments>,
}

impl Default for OauthMemory {
    fn default() -> Self {
        Self {
            wrong_keys: PerAddress::new(WRONG_KEYS_MAX),
            registrations: PerAddress::new(REGISTRATIONS_MAX),
            fetches: PerAddress::new(FETCHES_MAX),
            fetching: Semaphore::new(FETCHING_MAX),
            refused: Mutex::default(),
        }
    }
}

/// The service as its tokens name it: its own URL, and the one resource behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer {
    base_url: String,
    resource: String,
}

impl Issuer {
    /// From the service's URL, with or without a trailing slash.
    pub fn new(base_url: &str) -> Self {
        let base_url = base_url.trim_end_matches('/').to_owned();
        Self { resource: format!("{base_url}/mcp"), base_url }
    }

    /// The service's URL, without a trailing slash.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The resource that tokens are for.
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// Whether a client means our resource: its URL, or the service's, with or without a trailing slash.
    pub fn is_meant_by(&self, resource: &str) -> bool {
        let plain = |text: &str| {
            let url = Url::parse(text).ok().filter(|url| url.fragment().is_none() && url.query().is_none())?;
            Some(url.as_str().trim_end_matches('/').to_owned())
        };
        let meant = plain(resource);
        meant.is_some() && (meant == plain(&self.resource) || meant == plain(&self.base_url))
    }
}

impl Engine {
    /// Counts a wrong key that somebody pasted, or says in how many seconds its address may paste the next one. A right
    /// key always works: others behind the same address can't lock anybody out.
    pub(crate) fn count_wrong_key(&self, caller: IpAddr) -> Result<(), u64> {
        self.oauth.wrong_keys.count(caller, self.clock.now())
    }

    /// Removes long-ended connections, used codes, and unused clients.
    pub async fn purge_oauth(&self) -> Result<u64, StoreError> {
        let now = self.clock.now();
        self.store.purge_oauth(now - KEPT_AFTER_END, now - UNUSED_CLIENT_KEPT).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_resource_is_known_by_its_address_and_by_nothing_else() {
        let issuer = Issuer::new("https://memory.example/");
        assert_eq!((issuer.base_url(), issuer.resource()), ("https://memory.example", "https://memory.example/mcp"));
        for meant in [
            "https://memory.example/mcp",
            "https://memory.example/mcp/",
            "https://memory.example",
            "https://memory.example/",
            "https://MEMORY.example:443/mcp",
        ] {
            assert!(issuer.is_meant_by(meant), "{meant}");
        }
        for other in [
            "",
            "mcp",
            "http://memory.example/mcp",
            "https://memory.example/MCP",
            "https://memory.example/mcp2",
            "https://memory.example/mcp?x",
            "https://memory.example/mcp#x",
            "https://memory.example:8443/mcp",
            "https://memory.example.evil.example/mcp",
            "https://evil.example/mcp",
            "https://memory.example/mcp/x",
            "https://user@memory.example/mcp",
        ] {
            assert!(!issuer.is_meant_by(other), "{other}");
        }
    }
}
