//! Calls URLs that somebody else chose: an upstream that an admin entered, a document that a stranger's client id
//! points to.
//!
//! An address is checked where the connection is made, by the resolver that the connection itself uses: between check
//! and use there is no moment in which a name could be pointed elsewhere. Redirects are not followed, proxies are not
//! used, answers are read up to a limit, and calls end at a deadline.

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

/// How long connecting may take, whatever the deadline of the call.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an idle connection is kept: short, because its address was checked when it was made.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Default)]
pub struct OutgoingConfig {
    /// Hosts that may be anywhere and use plain HTTP, as names or addresses, for every caller.
    /// [`Outgoing::also_allowing`] adds one for a single caller.
    pub allowed_hosts: Vec<String>,
    /// Certificates to trust in addition to the usual roots, in DER.
    pub trusted: Vec<Vec<u8>>,
}

impl OutgoingConfig {
    /// Also trusts the certificates of a PEM file. Returns what is wrong with it.
    pub fn trust_pem(&mut self, pem: &[u8]) -> Result<(), String> {
        let before = self.trusted.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| format!("can't read a certificate: {error}"))?;
            self.trusted.push(certificate.to_vec());
        }
        if self.trusted.len() == before { Err("it contains no certificate".to_owned()) } else { Ok(()) }
    }
}

/// Why nothing came back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutgoingError {
    /// Not a URL that we call.
    #[error("'{0}' must be an https URL without user and password")]
    Url(String),
    #[error("'{0}' is not on the public internet, and the operator has not allowed it (outgoing.allowed_hosts)")]
    Closed(String),
    /// The name does not resolve, or there is no answer.
    #[error("'{host}' is unreachable: {cause}")]
    Unreachable { host: String, cause: String },
    #[error("'{0}' answered with a redirect, which is not followed")]
    Redirect(String),
    #[error("the answer is larger than {bytes_max} bytes")]
    TooLarge { bytes_max: usize },
    #[error("no answer within {seconds} s")]
    TooSlow { seconds: u64 },
}

/// Resolves names. Tests replace it.
#[async_trait]
pub trait Resolver: Send + Sync {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
    }
}

#[derive(Debug, Clone)]
pub struct Fetched {
    pub status: u16,
    /// Its declared content type.
    pub content_type: Option<String>,
    pub body: Bytes,
}

/// The client for outgoing calls.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// Judges every name that it resolves.
    judging: Client,
    /// Judges none, for hosts that are allowed. Its connections are its own, so that no other call uses one that was
    /// made for somebody else.
    trusting: Client,
    allowed: Arc<HashSet<String>>,
}

impl Default for Outgoing {
    /// Only to public addresses.
    fn default() -> Self {
        Self::new(&OutgoingConfig::default()).expect("the built-in certificates make a client")
    }
}

impl Outgoing {
    /// A client with the machine's own resolver.
    pub fn new(config: &OutgoingConfig) -> Result<Self, OutgoingError> {
        Self::with_resolver(config, Arc::new(SystemResolver))
    }

    /// A client with another resolver.
    pub fn with_resolver(config: &OutgoingConfig, resolver: Arc<dyn Resolver>) -> Result<Self, OutgoingError> {
        let allowed = Arc::new(config.allowed_hosts.iter().map(|host| plain(host)).collect::<HashSet<String>>());
        let judging = client(config, Names { resolver: Arc::clone(&resolver), judges: true })?;
        let trusting = client(config, Names { resolver, judges: false })?;
        Ok(Self { judging, trusting, allowed })
    }

    /// The same client with one more allowed host.
    #[must_use]
    pub fn also_allowing(&self, host: &str) -> Self {
        let allowed = self.allowed.iter().cloned().chain([plain(host)]).collect();
        Self { allowed: Arc::new(allowed), ..self.clone() }
    }

    /// Whether this URL may be called, judged by the URL alone: names are checked when they are resolved.
    pub fn check(&self, url: &Url) -> Result<(), OutgoingError> {
        let host = url.host().ok_or_else(|| OutgoingError::Url(url.to_string()))?;
        let is_allowed = self.is_allowed(url);
        let is_scheme_right = url.scheme() == "https" || (url.scheme() == "http" && is_allowed);
        if !is_scheme_right || !url.username().is_empty() || url.password().is_some() {
            return Err(OutgoingError::Url(without_secrets(url)));
        }
        // A literal address never reaches the resolver. Odd spellings (0x7f.1, 017700000001) were normalized when the
        // URL was parsed.
        let literal = match host {
            Host::Domain(_) => return Ok(()),
            Host::Ipv4(address) => IpAddr::V4(address),
            Host::Ipv6(address) => IpAddr::V6(address),
        };
        if is_allowed || is_public(literal) { Ok(()) } else { Err(OutgoingError::Closed(literal.to_string())) }
    }

    fn is_allowed(&self, url: &Url) -> bool {
        url.host().is_some_and(|host| self.allowed.contains(&plain(&host.to_string())))
    }

    /// A request to a URL that passed [`Self::check`]. Send it with [`Self::send`], which knows its errors.
    pub fn request(&self, method: Method, url: &Url) -> Result<RequestBuilder, OutgoingError> {
        self.check(url)?;
        // No redirect is followed, so the host that is allowed is the one that is called.
        let client = if self.is_allowed(url) { &self.trusting } else { &self.judging };
        Ok(client.request(method, url.clone()))
    }

    /// Sends, and refuses redirects. The deadline covers the wait for the answer's head; [`read`] has its own.
    pub async fn send(&self, request: RequestBuilder, deadline: Duration) -> Result<Response, OutgoingError> {
        let sent = tokio::time::timeout(deadline, request.send()).await.map_err(|_| too_slow(deadline))?;
        let response = sent.map_err(|error| explain(&error, deadline))?;
        if response.status().is_redirection() {
            return Err(OutgoingError::Redirect(host_of(response.url())));
        }
        Ok(response)
    }

    /// Fetches a URL completely, within a size limit and one deadline for everything.
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

/// Reads the body of an answer, up to a size limit and a deadline.
pub async fn read(mut response: Response, bytes_max: usize, deadline: Duration) -> Result<Bytes, OutgoingError> {
    // A declared length is enough to refuse an answer, but never to trust it.
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

fn client(config: &OutgoingConfig, names: Names) -> Result<Client, OutgoingError> {
    let unusable = |cause: &dyn std::fmt::Display| OutgoingError::Unreachable {
        host: "everything".to_owned(),
        cause: format!("can't set up the client for outgoing calls: {cause}"),
    };
    let tls = tls(&config.trusted).map_err(|error| unusable(&error))?;
    let client = Client::builder()
        .tls_backend_preconfigured(tls)
        .dns_resolver(Arc::new(names))
        .redirect(reqwest::redirect::Policy::none())
        // A proxy would connect in our place and resolve the name again.
        .no_proxy()
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .user_agent(concat!("mnemon/", env!("CARGO_PKG_VERSION")));
    client.build().map_err(|error| unusable(&error))
}

/// Resolves names and, where it judges, lets only those through that lie in the public internet.
struct Names {
    resolver: Arc<dyn Resolver>,
    judges: bool,
}

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let (resolver, judges) = (Arc::clone(&self.resolver), self.judges);
        Box::pin(async move {
            let host = name.as_str();
            let addresses = resolver.resolve(host).await?;
            // One internal address is enough: a name that points both ways is a mistake or an attack.
            if judges && !addresses.iter().all(|address| is_public(*address)) {
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

/// A host in comparable form: lowercase, no brackets, no trailing dot.
fn plain(host: &str) -> String {
    host.trim().trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase()
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// A URL that may appear in a message: the parts before an @ or after a ? may be secret.
fn without_secrets(url: &Url) -> String {
    format!("{}://{}{}", url.scheme(), host_of(url), url.path())
}

fn too_slow(deadline: Duration) -> OutgoingError {
    OutgoingError::TooSlow { seconds: deadline.as_secs().max(1) }
}

/// What went wrong; our own refusal is recovered from the chain of causes.
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
