//! Converts an admin's request to the stored form of an integration.

use std::sync::Arc;

use mnemon_core::{Project, ProjectId, Secret};
use mnemon_gateway::is_reserved_header;
use mnemon_store::{IntegrationRow, SavedIntegration, UpstreamAddress};

use super::sealing::NO_KEY;
use crate::Engine;
use crate::admin::{AdminContext, AdminError};
use crate::integrations::{Headers, PRESETS, Place, Preset, check_allowed, headers_to_json};

/// Maximum number of headers, and the longest value, of a credential.
const HEADERS_MAX: usize = 16;
const HEADER_BYTES_MAX: usize = 8 << 10;
const URL_BYTES_MAX: usize = 2_048;
/// An integration as sent. Absent fields stay as they are.
#[derive(Debug, Clone, Default)]
pub struct IntegrationRequest {
    pub preset: Option<String>,
    pub url: Option<String>,
    pub command: Option<String>,
    pub title: Option<String>,
    /// A token, sent as `Authorization: Bearer`.
    pub bearer: Option<Secret<String>>,
    pub headers: Option<Vec<(String, Secret<String>)>>,
    /// Removes the credential.
    pub drops_credential: bool,
    pub allow: Option<Vec<String>>,
    pub is_enabled: Option<bool>,
}

impl Engine {
    /// What to store: what was sent, over what is stored, over the preset.
    pub(super) async fn merge(
        &self,
        ctx: &AdminContext,
        project: &Project,
        name: &str,
        known: Option<&IntegrationRow>,
        request: IntegrationRequest,
    ) -> Result<SavedIntegration, AdminError> {
        let preset = request.preset.as_deref().map(find_preset).transpose()?;
        let address = self.address(project, &request, preset, known)?;
        let sealed = self.sealed(project.id, name, &address, &request, known)?;
        let title = match (&request.title, preset, known) {
            (Some(title), _, _) => self.check_name(ctx, "title", title).await?,
            (None, Some(preset), None) => preset.title.to_owned(),
            (None, _, Some(known)) => known.title.clone(),
            (None, None, None) => capitalized(name),
        };
        let allow = match (request.allow, preset, known) {
            (Some(allow), _, _) => allow,
            (None, Some(preset), None) => preset.allow.iter().map(|tool| (*tool).to_owned()).collect(),
            (None, _, Some(known)) => known.allow.clone(),
            (None, None, None) => Vec::new(),
        };
        check_allowed(&allow).map_err(AdminError::Invalid)?;
        let kept_preset = || known.filter(|known| known.address == address).and_then(|known| known.preset.clone());
        Ok(SavedIntegration {
            project: project.id,
            name: name.to_owned(),
            title,
            preset: preset.map(|preset| preset.name.to_owned()).or_else(kept_preset),
            sealed,
            allow,
            is_enabled: request.is_enabled.or(known.map(|known| known.is_enabled)).unwrap_or(true),
            at: ctx.now,
            address,
        })
    }

    fn address(
        &self,
        project: &Project,
        request: &IntegrationRequest,
        preset: Option<&Preset>,
        known: Option<&IntegrationRow>,
    ) -> Result<UpstreamAddress, AdminError> {
        let url = request.url.as_deref().map(str::trim).or(preset.map(|preset| preset.url));
        match (url, request.command.as_deref(), known) {
            (Some(_), Some(_), _) => Err(AdminError::Invalid("give only one of preset, url and command".to_owned())),
            (None, None, Some(known)) => Ok(known.address.clone()),
            (None, None, None) => Err(AdminError::Invalid("one of preset, url and command is required".to_owned())),
            (Some(url), None, _) => {
                let no_url = || AdminError::Invalid(format!("url must be a URL of at most {URL_BYTES_MAX} bytes"));
                let parsed = url.parse().ok().filter(|_| url.len() <= URL_BYTES_MAX).ok_or_else(no_url)?;
                let checked = self.integrations.way_to(&parsed, project.account).check(&parsed);
                checked.map_err(|error| AdminError::Invalid(format!("url: {error}")))?;
                Ok(UpstreamAddress::Url(url.to_owned()))
            }
            (None, Some(command), _) if self.integrations.allowances.command(command, project.account).is_some() => {
                Ok(UpstreamAddress::Command(command.to_owned()))
            }
            (None, Some(_), _) => {
                // The same for a command of somebody else's as for none.
                let text = "the operator has not configured this command for this account (gateway.commands)";
                Err(AdminError::Invalid(text.to_owned()))
            }
        }
    }

    /// The credential, sealed. One that was given for a URL is never sent to another: a change of the URL needs the
    /// credential too.
    fn sealed(
        &self,
        project: ProjectId,
        name: &str,
        address: &UpstreamAddress,
        request: &IntegrationRequest,
        known: Option<&IntegrationRow>,
    ) -> Result<Option<Vec<u8>>, AdminError> {
        let invalid = |text: &str| Err(AdminError::Invalid(text.to_owned()));
        let headers = given_headers(request)?;
        if headers.is_empty() {
            let is_kept = |known: &&IntegrationRow| known.address == *address && !request.drops_credential;
            return Ok(known.filter(is_kept).and_then(|known| known.sealed.clone()));
        }
        if request.drops_credential {
            return invalid("set a credential or remove it, not both");
        }
        if matches!(address, UpstreamAddress::Command(_)) {
            return invalid("a command takes no credential here; the operator sets it in the configuration");
        }
        let plain = headers_to_json(&headers);
        let sealed = self.integrations.sealer.seal(&Place { project, name }, &plain, self.ids.secret());
        sealed.map(Some).ok_or_else(|| AdminError::Invalid(NO_KEY.to_owned()))
    }
}

fn find_preset(name: &str) -> Result<&'static Preset, AdminError> {
    let names = || PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
    Preset::find(name).ok_or_else(|| AdminError::Invalid(format!("preset must be one of {}", names())))
}

/// The headers that were sent, checked. No message repeats a value.
fn given_headers(request: &IntegrationRequest) -> Result<Headers, AdminError> {
    let bearer = request
        .bearer
        .as_ref()
        .map(|token| ("Authorization".to_owned(), Secret::new(format!("Bearer {}", token.expose().trim()))));
    if request.bearer.as_ref().is_some_and(|token| token.expose().trim().is_empty()) {
        return Err(AdminError::Invalid("bearer must not be empty".to_owned()));
    }
    let given: Vec<_> = bearer.into_iter().chain(request.headers.clone().unwrap_or_default()).collect();
    if given.len() > HEADERS_MAX {
        return Err(AdminError::Invalid(format!("{} headers given; the limit is {HEADERS_MAX}", given.len())));
    }
    for (at, (name, value)) in given.iter().enumerate() {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let is_taken = given[..at].iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
        let is_reserved = is_reserved_header(name);
        if name.is_empty() || name.len() > 128 || !name.bytes().all(is_token) || is_reserved || is_taken {
            return Err(AdminError::Invalid(
                "header names must be valid, unique and not reserved by the protocol".to_owned(),
            ));
        }
        let is_visible = value.expose().bytes().all(|byte| (0x20..0x7f).contains(&byte));
        if value.expose().is_empty() || value.expose().len() > HEADER_BYTES_MAX || !is_visible {
            let text = format!("the value of {name} must be 1 to {HEADER_BYTES_MAX} visible ASCII characters");
            return Err(AdminError::Invalid(text));
        }
    }
    Ok(given.into_iter().map(|(name, value)| (name, Arc::new(value))).collect())
}

fn capitalized(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
}
