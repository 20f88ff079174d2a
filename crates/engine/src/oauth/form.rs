//! The seal on the page's form: it was opened in this browser, for this request, not long ago.
//!
//! The browser keeps a random value in a cookie; the form carries a keyed hash of the request under that value. No
//! other site can read the one or make the other, and the service keeps nothing: any node can check a form made by
//! another.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::SignedDuration;
use mnemon_core::Timestamp;
use sha2::Sha256;

use super::AuthorizationRequest;
use crate::Engine;

/// How long a page may stay open.
pub const FORM_LIFE: SignedDuration = SignedDuration::from_mins(10);

/// Why a form is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    #[error("the page was open for too long")]
    Expired,
    #[error("the form does not belong to this browser or this request")]
    Foreign,
}

impl Engine {
    /// The value of the browser's cookie: the existing one, so that two windows do not invalidate each other, or a new
    /// one.
    pub fn browser_secret(&self, presented: Option<&str>) -> String {
        let is_ours = |text: &&str| URL_SAFE_NO_PAD.decode(text).is_ok_and(|bytes| bytes.len() == 32);
        presented.filter(is_ours).map_or_else(|| URL_SAFE_NO_PAD.encode(self.ids.secret()), str::to_owned)
    }

    pub fn seal_form(&self, browser_secret: &str, request: &AuthorizationRequest) -> String {
        let expires_at = (self.clock.now() + FORM_LIFE).as_second();
        let mac = mac(browser_secret, request, expires_at).finalize().into_bytes();
        format!("{expires_at}.{}", URL_SAFE_NO_PAD.encode(mac))
    }

    /// Checks the seal of a submitted form.
    pub fn check_form(
        &self,
        browser_secret: Option<&str>,
        request: &AuthorizationRequest,
        seal: Option<&str>,
    ) -> Result<(), FormError> {
        let (Some(secret), Some(seal)) = (browser_secret, seal) else { return Err(FormError::Foreign) };
        let (expires_at, given) = seal.split_once('.').ok_or(FormError::Foreign)?;
        let expires_at: i64 = expires_at.parse().map_err(|_| FormError::Foreign)?;
        let given = URL_SAFE_NO_PAD.decode(given).map_err(|_| FormError::Foreign)?;
        mac(secret, request, expires_at).verify_slice(&given).map_err(|_| FormError::Foreign)?;
        let is_over = Timestamp::from_second(expires_at).is_ok_and(|end| end <= self.clock.now());
        if is_over { Err(FormError::Expired) } else { Ok(()) }
    }
}

fn mac(secret: &str, request: &AuthorizationRequest, expires_at: i64) -> Hmac<Sha256> {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(secret.as_bytes()).expect("a key of any length will do");
    mac.update(&expires_at.to_be_bytes());
    let fields = [
        &request.client_id,
        &request.redirect_uri,
        &request.response_type,
        &request.code_challenge,
        &request.code_challenge_method,
        &request.scope,
        &request.state,
        &request.resource,
    ];
    for field in fields {
        // With its length first, so that nothing can move from one field into the next.
        let length = field.as_ref().map_or(u64::MAX, |text| text.len() as u64);
        mac.update(&length.to_be_bytes());
        mac.update(field.as_deref().unwrap_or_default().as_bytes());
    }
    mac
}
