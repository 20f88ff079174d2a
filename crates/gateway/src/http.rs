//! Streamable HTTP: one POST per request, answered by JSON or by a stream of events.

use std::sync::Arc;

use mnemon_core::Secret;
use mnemon_protocol::mcp::header;
use parking_lot::Mutex;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, StatusCode};
use serde_json::value::RawValue;
use url::Url;

use crate::message::{self, ENVELOPE_BYTES_MAX, Incoming};
use crate::sse::Events;
use crate::{Limits, Outgoing, UpstreamError};

/// The header by which the older revisions name a session.
const SESSION: &str = "mcp-session-id";
/// A session's name is visible ASCII; longer ones than this are nobody's honest choice.
const SESSION_BYTES_MAX: usize = 1_024;
/// How many questions of the upstream's are answered while one answer is awaited.
const QUESTIONS_MAX: usize = 16;

/// A way to one upstream. It knows the session, if there is one, and adds the upstream's own credential.
pub(crate) struct HttpWire {
    outgoing: Outgoing,
    url: Url,
    headers: HeaderMap,
    limits: Limits,
    session: Mutex<Option<HeaderValue>>,
    /// The revision agreed on, once there is one.
    version: Mutex<Option<&'static str>>,
}

/// What is sent.
pub(crate) struct Sent<'a> {
    pub(crate) id: Option<u64>,
    pub(crate) body: Vec<u8>,
    /// Repeats parts of the body in headers, as the modern revision wants it.
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
        let url = Url::parse(url).map_err(|_| UpstreamError::Closed(format!("'{url}' is not an address")))?;
        outgoing.check(&url)?;
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let unusable = |_| UpstreamError::Closed(format!("the header {name} can't be sent"));
            let key = HeaderName::try_from(name.as_str()).map_err(|_| unusable(()))?;
            let mut value = HeaderValue::from_str(value.expose()).map_err(|_| unusable(()))?;
            value.set_sensitive(true);
            map.insert(key, value);
        }
        Ok(Self { outgoing, url, headers: map, limits, session: Mutex::default(), version: Mutex::default() })
    }

    /// Notes the revision agreed on; later requests name it.
    pub(crate) fn agree(&self, version: &'static str) {
        *self.version.lock() = Some(version);
    }

    pub(crate) fn has_session(&self) -> bool {
        self.session.lock().is_some()
    }

    /// Sends and waits for the answer with the request's id. A notification has none, and its answer is not read.
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

    /// Takes up the session that an answer names.
    fn note_session(&self, response: &Response) -> Result<(), UpstreamError> {
        let Some(session) = response.headers().get(SESSION) else { return Ok(()) };
        // Passing over it would only show later, as a request that the upstream refuses for having none.
        if session.len() > SESSION_BYTES_MAX {
            return Err(UpstreamError::Garbled("the name of its session is longer than 1024 bytes"));
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
        // The deadline is that of the whole call, which the caller of all this keeps.
        Ok(self.outgoing.send(request.body(body), self.limits.call_timeout).await?)
    }

    /// A refusal may still say in JSON-RPC what is wrong; otherwise the status has to do.
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
        for incoming in message::read(&body)? {
            match incoming {
                Incoming::Answer { id: answered, outcome } if answered == id || answered == "null" => return outcome,
                Incoming::Answer { .. } => return Err(UpstreamError::Garbled("it answered another request")),
                Incoming::Question { .. } | Incoming::Notice => {}
            }
        }
        Err(UpstreamError::Garbled("it holds no answer"))
    }

    async fn read_stream(&self, mut response: Response, id: u64) -> Result<Box<RawValue>, UpstreamError> {
        let id = id.to_string();
        let (mut events, mut bytes_left, mut questions) = (Events::default(), self.transport_bytes_max(), 0);
        while let Some(piece) = response.chunk().await.map_err(|_| UpstreamError::BrokenOff)? {
            // An answer that ends within the bound is one, whatever came along with it in its last piece.
            let within = &piece[..piece.len().min(bytes_left)];
            for event in events.take(within) {
                // The first event of a stream that can be taken up again has an id and no data.
                if event.is_empty() {
                    continue;
                }
                for incoming in message::read(&event)? {
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
