//! Calling addresses that somebody else has chosen: an upstream that an admin named, a document that a stranger's client
//! id points to.
//!
//! An address is judged where the connection is made, by the resolver that the connection itself uses: there is no moment
//! between check and use in which a name could be pointed elsewhere. No redirect is followed, no proxy is asked, answers
//! are read to a bound and calls end at a deadline.

use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Method, RequestBuilder, Response};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use url::{Host, Url};

use crate::address::is_public;

/// How long making a connection may take, whatever the deadline of the call.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an idle connection is kept: short, because the address behind it is judged when it is made.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// What the operator may set.
#[derive(Debug, Clone, Default)]
pub struct OutgoingConfig {
    /// Hosts that may lie anywhere and speak plain HTTP, as names or addresses.
    pub allowed_hosts: Vec<String>,
    /// Certificates to trust beside the usual roots, in DER.
    pub trusted: Vec<Vec<u8>>,
}

impl OutgoingConfig {
    /// Trusts the certificates of a PEM file too. Says what is wrong with it.
    pub fn trust_pem(&mut self, pem: &[u8]) -> Result<(), String> {
        let before = self.trusted.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| format!("a certificate can't be read: {error}"))?;
            self.trusted.push(certificate.to_vec());
        }
        if self.trusted.len() == before { Err("there is no certificate in it".to_owned()) } else { Ok(()) }
    }
}

/// Why nothing came back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutgoingError {
    /// The address is no web address that we call.
    #[error("'{0}' is not an https address without user and password")]
    Url(String),
    /// The host is not public, and not allowed.
    #[error("'{0}' does not lie in the public internet, and the operator has not allowed it (outgoing.allowed_hosts)")]
    Closed(String),
    /// The name leads nowhere, or nobody is there.
    #[error("'{host}' can't be reached: {cause}")]
    Unreachable {
        /// The host.
        host: String,
        /// What was seen.
        cause: String,
    },
    /// The answer points elsewhere.
    #[error("'{0}' answered with a redirect, and none is followed")]
    Redirect(String),
    /// The answer is too long.
    #[error("the answer is larger than {bytes_max} bytes")]
    TooLarge {
        /// The bound.
        bytes_max: usize,
    },
    /// It took too long.
    #[error("no answer within {seconds} s")]
    TooSlow {
        /// The deadline.
        seconds: u64,
    },
}

/// Where names lead. Tests put their own in its place.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// The addresses of a name.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The machine's own resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// An answer, read whole.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The status.
    pub status: u16,
    /// The type that it says it has.
    pub content_type: Option<String>,
    /// The body.
    pub body: Bytes,
}

/// The way out.
#[derive(Debug, Clone)]
pub struct Outgoing {
    client: Client,
    allowed: Arc<HashSet<String>>,
}

impl Default for Outgoing {
    /// To public addresses alone.
    fn default() -> Self {
        Self::new(&OutgoingConfig::default()).expect("the built-in certificates make a client")
    }
}

impl Outgoing {
    /// Makes the way out, with the machine's own resolver.
    pub fn new(config: &OutgoingConfig) -> Result<Self, OutgoingError> {
        Self::with_resolver(config, Arc::new(SystemResolver))
    }

    /// Makes the way out with another resolver.
    pub fn with_resolver(config: &OutgoingConfig, resolver: Arc<dyn Resolver>) -> Result<Self, OutgoingError> {
        let allowed = Arc::new(config.allowed_hosts.iter().map(|host| plain(host)).collect::<HashSet<String>>());
        let judged = Judged { allowed: Arc::clone(&allowed), resolver };
        let unusable = |cause: &dyn std::fmt::Display| OutgoingError::Unreachable {
            host: "everything".to_owned(),
            cause: format!("the client for outgoing calls can't be made: {cause}"),
        };
        let tls = tls(&config.trusted).map_err(|error| unusable(&error))?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(Arc::new(judged))
            .redirect(reqwest::redirect::Policy::none())
            // A proxy would make the connection in our place, and look names up again.
            .no_proxy()
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .user_agent(concat!("mnemon/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| unusable(&error))?;
        Ok(Self { client, allowed })
    }

    /// Whether this address may be called, as far as the address alone tells: names are judged when they are resolved.
    pub fn check(&self, url: &Url) -> Result<(), OutgoingError> {
        let host = url.host().ok_or_else(|| OutgoingError::Url(url.to_string()))?;
        let is_allowed = self.allowed.contains(&plain(&host.to_string()));
        let is_scheme_right = url.scheme() == "https" || (url.scheme() == "http" && is_allowed);
        if !is_scheme_right || !url.username().is_empty() || url.password().is_some() {
            return Err(OutgoingError::Url(without_secrets(url)));
        }
        // An address in place of a name never meets the resolver. Odd spellings of it (0x7f.1, 017700000001) have become
        // plain ones when the URL was read.
        let literal = match host {
            Host::Domain(_) => return Ok(()),
            Host::Ipv4(address) => IpAddr::V4(address),
            Host::Ipv6(address) => IpAddr::V6(address),
        };
        if is_allowed || is_public(literal) { Ok(()) } else { Err(OutgoingError::Closed(literal.to_string())) }
    }

    /// A request to an address that passed [`Self::check`]. Send it with [`Self::send`], which knows its refusals.
    pub fn request(&self, method: Method, url: &Url) -> Result<RequestBuilder, OutgoingError> {
        self.check(url)?;
        Ok(self.client.request(method, url.clone()))
    }

    /// The client itself, for a library that makes its own requests to this one address: it judges names, follows no
    /// redirect and asks no proxy. It can't judge an address given as a number: hence the check, here.
    pub fn client_for(&self, url: &Url) -> Result<Client, OutgoingError> {
        self.check(url)?;
        Ok(self.client.clone())
    }

    /// Sends, and refuses redirects. The deadline ends the wait for the answer's head; [`read`] has one of its own.
    pub async fn send(&self, request: RequestBuilder, deadline: Duration) -> Result<Response, OutgoingError> {
        let sent = tokio::time::timeout(deadline, request.send()).await.map_err(|_| too_slow(deadline))?;
        let response = sent.map_err(|error| explain(&error, deadline))?;
        if response.status().is_redirection() {
            return Err(OutgoingError::Redirect(host_of(response.url())));
        }
        Ok(response)
    }

    /// Gets an address, whole, within a bound and a deadline for everything together.
    pub async fn fetch(
        &self,
        url: &Url,
        accept: &str,
        bytes_max: usize,
        deadline: Duration,
    ) -> Result<Fetched, OutgoingError> {
        let request = self.request(Method::GET, url)?.header("accept", accept);
        let whole = async {
            let response = self.send(request, deadline).await?;
            let status = response.status().as_u16();
            let content_type = response.headers().get("content-type").and_then(|value| value.to_str().ok());
            let content_type = content_type.map(str::to_owned);
            Ok(Fetched { status, content_type, body: read(response, bytes_max, deadline).await? })
        };
        tokio::time::timeout(deadline, whole).await.map_err(|_| too_slow(deadline))?
    }
}

/// Reads an answer's body to its end, but no further than a bound and no longer than a deadline.
pub async fn read(mut response: Response, bytes_max: usize, deadline: Duration) -> Result<Bytes, OutgoingError> {
    // What an answer says of its length is worth refusing for, and never worth believing.
    if response.content_length().is_some_and(|length| length > bytes_max as u64) {
        return Err(OutgoingError::TooLarge { bytes_max });
    }
    let whole = async {
        let mut body = BytesMut::new();
        while let Some(piece) = response.chunk().await.map_err(|error| explain(&error, deadline))? {
            if body.len() + piece.len() > bytes_max {
                return Err(OutgoingError::TooLarge { bytes_max });
            }
            body.extend_from_slice(&piece);
        }
        Ok(body.freeze())
    };
    tokio::time::timeout(deadline, whole).await.map_err(|_| too_slow(deadline))?
}

/// Resolves names and lets only those through that lie in the public internet, or are allowed.
struct Judged {
    allowed: Arc<HashSet<String>>,
    resolver: Arc<dyn Resolver>,
}

impl Resolve for Judged {
    fn resolve(&self, name: Name) -> Resolving {
        let (allowed, resolver) = (Arc::clone(&self.allowed), Arc::clone(&self.resolver));
        Box::pin(async move {
            let host = name.as_str();
            let addresses = resolver.resolve(host).await?;
            // One address inside is enough: a name that leads both ways is a mistake or an attack.
            let is_closed = !allowed.contains(&plain(host)) && !addresses.iter().all(|address| is_public(*address));
            if is_closed {
                return Err(OutgoingError::Closed(host.to_owned()).into());
            }
            Ok(Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

fn tls(trusted: &[Vec<u8>]) -> Result<rustls::ClientConfig, rustls::Error> {
    let mut roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for certificate in trusted {
        roots.add(CertificateDer::from(certificate.clone()))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// A host as it is compared: small letters, no brackets, no dot at the end.
fn plain(host: &str) -> String {
    host.trim().trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase()
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// The address as it may stand in a message: what comes before an @ or after a ? may be a secret.
fn without_secrets(url: &Url) -> String {
    format!("{}://{}{}", url.scheme(), host_of(url), url.path())
}

fn too_slow(deadline: Duration) -> OutgoingError {
    OutgoingError::TooSlow { seconds: deadline.as_secs().max(1) }
}

/// What went wrong, with our own refusal found again among the causes.
fn explain(error: &reqwest::Error, deadline: Duration) -> OutgoingError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    let mut innermost = String::new();
    while let Some(error) = cause {
        if let Some(refusal) = error.downcast_ref::<OutgoingError>() {
            return refusal.clone();
        }
        innermost = error.to_string();
        cause = error.source();
    }
    if error.is_timeout() && !error.is_connect() {
        return too_slow(deadline);
    }
    OutgoingError::Unreachable { host: error.url().map(host_of).unwrap_or_default(), cause: innermost }
}
