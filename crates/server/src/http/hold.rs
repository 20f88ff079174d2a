//! The room that a request to one of the routes takes: asked for as soon as it is known who calls, and carried by the
//! answer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::Extensions;
use http_body::{Frame, SizeHint};
use parking_lot::Mutex;

use super::Reply;
use super::room::{Held, NoRoom, Room, Whose};

/// How many bytes making the answer of a route may take, or an export or import for as long as it runs. Routes whose
/// answers are small have none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weight(usize);

impl Weight {
    /// A list of things that have names and no texts.
    pub(crate) const LIST: Self = Self(1 << 20);
    /// A mebibyte of texts, and what is made of them: values, and their JSON or HTML.
    pub(crate) const PAGE: Self = Self(4 << 20);
    /// A digest chooses from 500 records.
    pub(crate) const DIGEST: Self = Self(8 << 20);
    /// The records of one piece, their lines, and what the socket has not taken of the piece before.
    pub(crate) const EXPORT: Self = Self(512 << 10);
    /// A batch: its lines, and the records that are made of them.
    pub(crate) const IMPORT: Self = Self(4 << 20);
    /// A file that comes with a form is held whole, and then a batch of it.
    pub(crate) const UPLOAD: Self = Self(8 << 20);
}

/// What a request holds.
#[derive(Debug, Default)]
struct Holds {
    whose: Whose,
    answer: Option<Held>,
    /// Given back as soon as the answer is made.
    body: Option<Held>,
}

/// Where a request keeps what it holds; attached to each request.
#[derive(Debug, Clone, Default)]
struct Hold(Arc<Mutex<Holds>>);

/// Takes room for the answer to a request of a known caller.
pub(crate) async fn reserve_answer(
    room: &Room,
    extensions: &Extensions,
    whose: Whose,
    weight: Option<Weight>,
) -> Result<(), NoRoom> {
    let Some(hold) = extensions.get::<Hold>() else { return Ok(()) };
    let held = room.reserve(whose, weight.map_or(0, |weight| weight.0)).await?;
    let mut holds = hold.0.lock();
    (holds.whose, holds.answer) = (whose, Some(held));
    Ok(())
}

/// Whose request it is, as far as it is known.
pub(crate) fn whose(extensions: &Extensions) -> Whose {
    extensions.get::<Hold>().and_then(|hold| hold.0.lock().whose)
}

/// Keeps the room of a request's body until the request is answered.
pub(crate) fn keep_body(extensions: &Extensions, held: Option<Held>) {
    if let Some(hold) = extensions.get::<Hold>() {
        hold.0.lock().body = held;
    }
}

/// Lets an answer carry the room that was taken for it.
pub(crate) async fn carry(mut request: Request, next: Next) -> Response {
    let hold = Hold::default();
    request.extensions_mut().insert(hold.clone());
    let response = next.run(request).await;
    let held = hold.0.lock().answer.take();
    match held {
        Some(held) => response.map(|body| Body::new(Carrying::new(body, held))),
        None => response,
    }
}

impl IntoResponse for NoRoom {
    fn into_response(self) -> Response {
        let reply = Reply::error(self.status(), Self::CODE, &self.to_string());
        reply.retry_after(Self::RETRY_AFTER_SECONDS).into_response()
    }
}

/// The body of an answer with its room.
struct Carrying {
    body: Body,
    held: Option<Held>,
    /// All its bytes are there, and carry the room themselves. The length of a body that is made piece by piece is
    /// unknown: it holds the room that its pieces need until the last one is made.
    is_whole: bool,
}

impl Carrying {
    fn new(body: Body, mut held: Held) -> Self {
        let bytes = http_body::Body::size_hint(&body).exact();
        if let Some(bytes) = bytes {
            // The answer is made, and refusing it now would save nothing.
            let _ = held.settle(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
        Self { body, held: Some(held), is_whole: bytes.is_some() }
    }
}

impl http_body::Body for Carrying {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
            Some(Ok(frame)) if self.is_whole => frame,
            other => return Poll::Ready(other),
        };
        let carried = |data| match self.held.take() {
            Some(held) => held.carry(data),
            None => data,
        };
        Poll::Ready(Some(Ok(frame.map_data(carried))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
