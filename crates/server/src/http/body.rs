//! Reads a request body: bounded in size and in time.

use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::StatusCode;
use http_body_util::BodyExt;
use mnemon_core::REQUEST_BYTES_MAX;

use super::Reply;
use super::room::{Held, NoRoom, Room, SMALL_BYTES, Whose};

/// How long a body may take to arrive. A client that sends a byte now and then must not hold a connection forever.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest body at doors that anybody may knock on. Registrations and forms have a few hundred bytes.
const OPEN_DOOR_BYTES_MAX: usize = 64 << 10;
/// How many times the limit a body may have and still be read to its end before it is refused.
const UNREAD_FACTOR_MAX: usize = 16;

/// Why there is no body.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoBody {
    #[error("the request body is larger than {bytes_max} bytes")]
    TooLarge { bytes_max: usize },
    #[error("the request body did not arrive within {} s", BODY_TIMEOUT.as_secs())]
    TooSlow,
    #[error("can't read the request body")]
    Broken,
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
}

impl NoBody {
    pub(crate) const fn status(&self) -> StatusCode {
        match self {
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Broken => StatusCode::BAD_REQUEST,
            Self::NoRoom(no_room) => no_room.status(),
        }
    }
}

impl IntoResponse for NoBody {
    fn into_response(self) -> Response {
        match self {
            Self::NoRoom(no_room) => no_room.into_response(),
            other => Reply::error(StatusCode::PAYLOAD_TOO_LARGE, "too_large", &other.to_string()).into_response(),
        }
    }
}

/// A body, with the room that it takes for as long as its request is worked on.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) bytes: Bytes,
    pub(crate) held: Option<Held>,
}

/// The whole body of somebody who is known, at most [`REQUEST_BYTES_MAX`] of it. A large one needs room before it is
/// read.
pub(crate) async fn read_body(body: Body, room: &Room, whose: Whose) -> Result<Received, NoBody> {
    let announced = usize::try_from(http_body::Body::size_hint(&body).lower()).unwrap_or(usize::MAX);
    let mut allowance = Allowance { bytes: SMALL_BYTES, room: Some((room, whose)), held: None };
    if (SMALL_BYTES..=REQUEST_BYTES_MAX).contains(&announced) {
        allowance.grow(announced).await?;
    }
    let bytes = read(body, REQUEST_BYTES_MAX, &mut allowance).await?;
    Ok(Received { bytes, held: allowance.held })
}

/// The whole body of a stranger.
pub(crate) async fn read_small_body(body: Body) -> Result<Bytes, NoBody> {
    let mut allowance = Allowance { bytes: OPEN_DOOR_BYTES_MAX, room: None, held: None };
    read(body, OPEN_DOOR_BYTES_MAX, &mut allowance).await
}

/// What is made of a body while it is worked on takes about as much as the body itself.
const WORK_FACTOR: usize = 2;

/// How much may be read before there has to be more room.
struct Allowance<'a> {
    bytes: usize,
    room: Option<(&'a Room, Whose)>,
    held: Option<Held>,
}

impl Allowance<'_> {
    async fn grow(&mut self, bytes: usize) -> Result<(), NoRoom> {
        if let Some((room, whose)) = self.room {
            self.held = Some(room.reserve(whose, WORK_FACTOR * bytes).await?);
        }
        self.bytes = bytes;
        Ok(())
    }
}

/// The next piece of a body that is longer than memory should hold; `None` at its end.
pub(crate) async fn next_piece(body: &mut Body) -> Result<Option<Bytes>, NoBody> {
    loop {
        let frame = tokio::time::timeout(BODY_TIMEOUT, body.frame()).await.map_err(|_| NoBody::TooSlow)?;
        let Some(frame) = frame else { return Ok(None) };
        if let Ok(piece) = frame.map_err(|_| NoBody::Broken)?.into_data() {
            return Ok(Some(piece));
        }
    }
}

async fn read(mut body: Body, bytes_max: usize, allowance: &mut Allowance<'_>) -> Result<Bytes, NoBody> {
    let announced_bytes = http_body::Body::size_hint(&body).lower();
    let unread_max = bytes_max.saturating_mul(UNREAD_FACTOR_MAX);
    let read = match announced_bytes > bytes_max as u64 {
        true => Err(NoBody::TooLarge { bytes_max }),
        false => {
            let whole = tokio::time::timeout(BODY_TIMEOUT, collect(&mut body, bytes_max, allowance));
            whole.await.unwrap_or(Err(NoBody::TooSlow))
        }
    };
    if matches!(read, Err(NoBody::TooLarge { .. })) && announced_bytes <= unread_max as u64 {
        // It is too large, however slow the rest is.
        let _ = tokio::time::timeout(BODY_TIMEOUT, discard(&mut body, unread_max)).await;
    }
    read
}

/// Reads on to the end of a body that is too large. Many clients send all of a request before they read the answer: if
/// the connection closed in between, they would report a broken pipe instead of the limit.
async fn discard(body: &mut Body, bytes_max: usize) {
    let mut bytes = 0;
    while let Some(Ok(frame)) = body.frame().await {
        bytes += frame.data_ref().map_or(0, Bytes::len);
        if bytes > bytes_max {
            return;
        }
    }
}

/// How much memory the pieces of a body are given at a time. An array that doubles would hold up to twice what has
/// arrived, for as long as the rest takes to come.
const BLOCK_BYTES: usize = 8 << 10;

/// Joins the pieces as they come. Kept apart, each piece would take memory of its own and hold the buffer it was read
/// into: a body in chunks of one byte would take many times its size.
async fn collect(body: &mut Body, bytes_max: usize, allowance: &mut Allowance<'_>) -> Result<Bytes, NoBody> {
    let mut first: Option<Bytes> = None;
    let mut rest = Blocks::default();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(|_| NoBody::Broken)?.into_data() else { continue };
        let bytes = first.as_ref().map_or(rest.bytes, Bytes::len);
        if bytes + piece.len() > bytes_max {
            return Err(NoBody::TooLarge { bytes_max });
        }
        if bytes + piece.len() > allowance.bytes {
            // The request had no length.
            allowance.grow(bytes_max).await?;
        }
        match first.take() {
            // Most bodies come in one piece, which needs no copy.
            None if rest.bytes == 0 => first = Some(piece),
            before => {
                rest.push(before.as_deref().unwrap_or_default());
                rest.push(&piece);
            }
        }
    }
    Ok(first.unwrap_or_else(|| rest.join()))
}

/// A body that is still arriving, in blocks of which only the last one has room.
#[derive(Default)]
struct Blocks {
    full: Vec<Vec<u8>>,
    last: Vec<u8>,
    bytes: usize,
}

impl Blocks {
    fn push(&mut self, mut piece: &[u8]) {
        self.bytes += piece.len();
        while !piece.is_empty() {
            if self.last.len() == self.last.capacity() {
                let next = Vec::with_capacity(BLOCK_BYTES);
                self.full.push(std::mem::replace(&mut self.last, next));
            }
            let room = (self.last.capacity() - self.last.len()).min(piece.len());
            let (now, later) = piece.split_at(room);
            self.last.extend_from_slice(now);
            piece = later;
        }
    }

    fn join(self) -> Bytes {
        let mut whole = Vec::with_capacity(self.bytes);
        self.full.iter().for_each(|block| whole.extend_from_slice(block));
        whole.extend_from_slice(&self.last);
        whole.into()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll};

    use http_body::Frame;

    use super::*;

    /// A body in pieces, without an announced length.
    struct Pieces(VecDeque<Vec<u8>>);

    impl http_body::Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece.into()))))
        }
    }

    /// Reads without asking anybody for room.
    async fn read(body: Body, bytes_max: usize) -> Result<Bytes, NoBody> {
        super::read(body, bytes_max, &mut Allowance { bytes: bytes_max, room: None, held: None }).await
    }

    fn in_pieces(pieces: impl IntoIterator<Item = Vec<u8>>) -> Body {
        Body::new(Pieces(pieces.into_iter().collect()))
    }

    #[tokio::test]
    async fn a_body_is_whole_however_it_was_cut() {
        for pieces in [vec![], vec!["abc"], vec!["", "a", "", "bc"], vec!["a", "b", "c"], vec!["ab", "", "c"]] {
            let whole = pieces.concat();
            let body = in_pieces(pieces.iter().map(|piece| piece.as_bytes().to_vec()));
            assert_eq!(read(body, 3).await, Ok(Bytes::from(whole)), "{pieces:?}");
        }
    }

    #[tokio::test]
    async fn a_body_of_many_blocks_is_whole() {
        let whole: Vec<u8> = (0..3 * BLOCK_BYTES + 5).map(|n| (n % 251) as u8).collect();
        for cut in [1, 1_000, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 2 * BLOCK_BYTES] {
            let body = in_pieces(whole.chunks(cut).map(<[u8]>::to_vec));
            assert_eq!(read(body, whole.len()).await, Ok(Bytes::from(whole.clone())), "{cut}");
        }
    }

    #[test]
    fn what_has_arrived_takes_little_more_than_its_bytes() {
        let mut blocks = Blocks::default();
        for n in 1..=5 * BLOCK_BYTES {
            blocks.push(b"x");
            let held = blocks.full.iter().map(Vec::capacity).sum::<usize>() + blocks.last.capacity();
            assert!(held <= n + BLOCK_BYTES, "{held} bytes for {n}");
        }
    }

    #[tokio::test]
    async fn one_byte_too_many_is_refused_announced_or_not() {
        for cut in [1, 2, 4] {
            let pieces = |bytes: usize| vec![b'x'; bytes].chunks(cut).map(<[u8]>::to_vec).collect::<Vec<_>>();
            assert!(read(in_pieces(pieces(8)), 8).await.is_ok());
            assert_eq!(read(in_pieces(pieces(9)), 8).await, Err(NoBody::TooLarge { bytes_max: 8 }));
        }
        assert_eq!(read(Body::from(vec![b'x'; 9]), 8).await, Err(NoBody::TooLarge { bytes_max: 8 }));
    }

    #[tokio::test]
    async fn what_is_too_large_is_read_to_its_end_up_to_a_limit() {
        let unread_max = 8 * UNREAD_FACTOR_MAX;
        // The ninth byte is one too many; from there on, the bytes are counted.
        for (bytes, is_read) in [(9, true), (9 + unread_max, true), (9 + unread_max + 2, false)] {
            let sent = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&sent);
            let pieces = (0..bytes).map(move |_| {
                count.fetch_add(1, Ordering::Relaxed);
                Ok::<_, Infallible>("x")
            });
            let body = Body::from_stream(futures_util::stream::iter(pieces));
            assert_eq!(read(body, 8).await, Err(NoBody::TooLarge { bytes_max: 8 }));
            assert_eq!(sent.load(Ordering::Relaxed) == bytes, is_read, "of {bytes}");
        }
    }
}
