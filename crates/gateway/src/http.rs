//! Streamable HTTP: one POST per request, answered with JSON or a stream of events.

use std::sync::Arc;

use mnemon_core::Secret;
use mnemon_protocol::mcp::header;
use parking_lot::Mutex;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, StatusCode};
use serde_json::value::RawValue;
use url::Url;

use crate::message::{self, ENVELOPE_BYTES_MAX, Incoming};
use crate::scrub::Scrubber;
use crate::sse::Events;
use crate::{Limits, Outgoing, UpstreamError};

/// The header that carries the session id in the older revisions.
const SESSION: &str = "mcp-session-id";
/// A session id is visible ASCII; no honest server uses a longer one.
const SESSION_BYTES_MAX: usize = 1_024;
/// How many questions from the upstream are answered while waiting for one answer.
const QUESTIONS_MAX: usize = 16;

/// Headers that belong to the connection or the protocol, never to a credential. Those that frame a message are the
/// most dangerous: two servers that read it differently see two different requests.
const RESERVED_HEADERS: [&str; 17] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "traceparent",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether a header of this name can't be part of an integration's credential.
pub fn is_reserved_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("proxy-") || RESERVED_HEADERS.contains(&name.as_str())
}

/// A connection to one upstream. It knows the session, if any, and adds the upstream's credential.
pub(crate) struct HttpWire {
    outgoing: Outgoing,
    url: Url,
    headers: HeaderMap,
    scrubber: Scrubber,
    limits: Limits,
    session: Mutex<Option<HeaderValue>>,
    /// The negotiated revision, once there is one.
    version: Mutex<Option<&'static str>>,
}

pub(crate) struct Sent<'a> {
    pub(crate) id: Option<u64>,
    pub(crate) body: Vec<u8>,
    /// Repeats parts of the body in headers, as the modern revision requires.
    pub(crate) mirror: Option<Mirror<'a>>,
}

pub(crate) struct Mirror<'a> {
    pub(crate) version: &'static str,
    pub(crate) method: &'a str,
    pub(crate) name: Option<&'a str>,
}

impl HttpWire {
    pub(crate) fn new(
        outgoing: Outgoing,
        url: &str,
        headers: &[(String, Arc<Secret<String>>)],
        limits: Limits,
    ) -> Result<Self, UpstreamError> {
        let url = Url::parse(url).map_err(|_| UpstreamError::Closed(format!("'{url}' is not a URL")))?;
        outgoing.check(&url)?;
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let unusable = || UpstreamError::Closed(format!("the header {name} can't be sent"));
            // Checked when it was given, too; it may have been kept since before that.
            let key = HeaderName::try_from(name.as_str()).ok().filter(|_| !is_reserved_header(name));
            let key = key.ok_or_else(unusable)?;
            let mut value = HeaderValue::from_str(value.expose()).map_err(|_| unusable())?;
            value.set_sensitive(true);
            map.insert(key, value);
        }
        let scrubber = Scrubber::new(headers.iter().map(|(_, value)| value.expose().as_str()));
        let (session, version) = (Mutex::default(), Mutex::default());
        Ok(Self { outgoing, url, headers: map, scrubber, limits, session, version })
    }

    /// Notes the negotiated revision; later requests send it.
    pub(crate) fn agree(&self, version: &'static str) {
        *self.version.lock() = Some(version);
    }

    pub(crate) fn has_session(&self) -> bool {
        self.session.lock().is_some()
    }

    /// Sends a message and waits for the answer with its id. A notification has none, and its answer is not read.
    pub(crate) async fn send(&self, sent: Sent<'_>) -> Result<Option<Box<RawValue>>, UpstreamError> {
        let Sent { id, body, mirror } = sent;
        let response = self.post(body, mirror.as_ref()).await?;
        self.note_session(&response)?;
        let status = response.status();
        let Some(id) = id else { return refuse_status(status).map(|()| None) };
        if !status.is_success() {
            return Err(self.explain_refusal(response, id).await);
        }
        let is_stream = content_type(&response).is_some_and(|kind| kind.starts_with("text/event-stream"));
        let result =
            if is_stream { self.read_stream(response, id).await? } else { self.read_one(response, id).await? };
        if result.get().len() > self.limits.answer_bytes_max {
            return Err(self.too_large());
        }
        Ok(Some(result))
    }

    /// Adopts the session id of an answer.
    fn note_session(&self, response: &Response) -> Result<(), UpstreamError> {
        let Some(session) = response.headers().get(SESSION) else { return Ok(()) };
        // Ignoring it would only show later, when the upstream refuses a request without it.
        if session.len() > SESSION_BYTES_MAX {
            return Err(UpstreamError::Garbled("its session id is longer than 1024 bytes"));
        }
        *self.session.lock() = Some(session.clone());
        Ok(())
    }

    async fn post(&self, body: Vec<u8>, mirror: Option<&Mirror<'_>>) -> Result<Response, UpstreamError> {
        let mut request = self.outgoing.request(Method::POST, &self.url)?.headers(self.headers.clone());
        request =
            request.header(ACCEPT, "application/json, text/event-stream").header(CONTENT_TYPE, "application/json");
        if let Some(mirror) = mirror {
            request = request.header(header::PROTOCOL_VERSION, mirror.version).header(header::METHOD, mirror.method);
            if let Some(name) = mirror.name {
                request = request.header(header::NAME, name);
            }
        } else {
            if let Some(version) = *self.version.lock() {
                request = request.header(header::PROTOCOL_VERSION, version);
            }
            if let Some(session) = self.session.lock().clone() {
                request = request.header(SESSION, session);
            }
        }
        if let Some(parent) = mnemon_traces::current_traceparent() {
            request = request.header("traceparent", parent);
        }
        // The deadline covers the whole call; our caller enforces it.
        Ok(self.outgoing.send(request.body(body), self.limits.call_timeout).await?)
    }

    /// A refusal may still explain itself in JSON-RPC; otherwise the status must do.
    async fn explain_refusal(&self, response: Response, id: u64) -> UpstreamError {
        let status = response.status();
        let by_status = refuse_status(status).err().unwrap_or(UpstreamError::Status { status: status.as_u16() });
        if matches!(by_status, UpstreamError::Unauthorized { .. }) || status.is_server_error() {
            return by_status;
        }
        match self.read_one(response, id).await {
            Err(refused @ UpstreamError::Refused { .. }) => refused,
            _ => by_status,
        }
    }

    async fn read_one(&self, mut response: Response, id: u64) -> Result<Box<RawValue>, UpstreamError> {
        if response.content_length().is_some_and(|length| length > self.transport_bytes_max() as u64) {
            return Err(self.too_large());
        }
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|_| UpstreamError::BrokenOff)? {
            if body.len() + piece.len() > self.transport_bytes_max() {
                return Err(self.too_large());
            }
            body.extend_from_slice(&piece);
        }
        let id = id.to_string();
        for incoming in message::read(&self.scrubber.clean(&body))? {
            match incoming {
                Incoming::Answer { id: answered, outcome } if answered == id || answered == "null" => return outcome,
                Incoming::Answer { .. } => return Err(UpstreamError::Garbled("it answered another request")),
                Incoming::Question { .. } | Incoming::Notice => {}
            }
        }
        Err(UpstreamError::Garbled("it contains no answer"))
    }

    async fn read_stream(&self, mut response: Response, id: u64) -> Result<Box<RawValue>, UpstreamError> {
        let id = id.to_string();
        let (mut events, mut bytes_left, mut questions) = (Events::default(), self.transport_bytes_max(), 0);
        while let Some(piece) = response.chunk().await.map_err(|_| UpstreamError::BrokenOff)? {
            // An answer that ends within the limit is valid, whatever else came in the same piece.
            let within = &piece[..piece.len().min(bytes_left)];
            for event in events.take(within) {
                // The first event of a resumable stream has an id and no data.
                if event.is_empty() {
                    continue;
                }
                for incoming in message::read(&self.scrubber.clean(&event))? {
                    match incoming {
                        Incoming::Answer { id: answered, outcome } if answered == id => return outcome,
                        Incoming::Question { id, method } if questions < QUESTIONS_MAX => {
                            questions += 1;
                            self.post(message::answer(&id, &method), None).await?;
                        }
                        _ => {}
                    }
                }
            }
            if within.len() < piece.len() {
                return Err(self.too_large());
            }
            bytes_left -= within.len();
        }
        Err(UpstreamError::BrokenOff)
    }

    fn transport_bytes_max(&self) -> usize {
        self.limits.answer_bytes_max + ENVELOPE_BYTES_MAX
    }

    fn too_large(&self) -> UpstreamError {
        UpstreamError::TooLarge { bytes_max: self.limits.answer_bytes_max }
    }
}

fn refuse_status(status: StatusCode) -> Result<(), UpstreamError> {
    match status {
        _ if status.is_success() => Ok(()),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            Err(UpstreamError::Unauthorized { status: status.as_u16() })
        }
        _ => Err(UpstreamError::Status { status: status.as_u16() }),
    }
}

fn content_type(response: &Response) -> Option<String> {
    Some(response.headers().get(CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase())
}
