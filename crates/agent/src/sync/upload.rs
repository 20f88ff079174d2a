//! Uploads one history.
//!
//! The service knows how many bytes it has and a hash over them. The agent says where it continues. If the service is
//! at another byte, the agent reads its own lines up to there, and continues if the hash matches. If it does not, the
//! transcript was rewritten, and the upload starts over.

use bytes::Bytes;
use http::{Method, StatusCode};
use mnemon_protocol::sessions::{APPEND_BYTES_MAX, Chain, HistoryState, PREFIX};
use serde::Deserialize;

use super::reader::{Batch, Reader, tail_hash};
use super::{Halt, Round};
use crate::clock;
use crate::discover::SessionFile;
use crate::service::HttpAnswer;
use crate::state::{Cursor, Held, Rest};

/// How often a history may turn out to be at another byte before it is left for the next round.
const TURNS_MAX: usize = 4;

/// What happened to one history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) bytes_sent: u64,
    pub(super) is_held_elsewhere: bool,
    pub(super) rest: Option<Rest>,
}

/// How far the service's copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stand {
    bytes: u64,
    chain: Chain,
}

enum Sent {
    All,
    Elsewhere(Stand),
}

/// Sends what is new in a history.
pub(super) async fn upload(round: &mut Round<'_>, session: &SessionFile) -> Result<Outcome, Halt> {
    let Some(mut held) = Held::take(round.places, session)? else {
        return Ok(Outcome { is_held_elsewhere: true, ..Outcome::default() });
    };
    if held.state.rest == Some(Rest::Deleted) && !round.is_again {
        return Ok(Outcome { rest: held.state.rest, ..Outcome::default() });
    }
    held.state.rest = None;
    let mut upload = Upload { round, session, bytes_sent: 0 };
    let mut start = upload.starting_point(&mut held)?;
    for _ in 0..TURNS_MAX {
        match upload.pass(&mut held, start).await? {
            Passed::Done(rest) => {
                held.state.rest = rest;
                held.save()?;
                return Ok(Outcome { bytes_sent: upload.bytes_sent, rest, ..Outcome::default() });
            }
            Passed::GoOn { cursor, stand } => start = (cursor, stand),
        }
    }
    Err(Halt::File("the service's copy keeps changing; another agent may be uploading the same session".to_owned()))
}

struct Upload<'a, 'r> {
    round: &'a mut Round<'r>,
    session: &'a SessionFile,
    bytes_sent: u64,
}

enum Passed {
    Done(Option<Rest>),
    GoOn { cursor: Cursor, stand: Option<Stand> },
}

impl Upload<'_, '_> {
    /// Where to start reading, and up to where the lines must match the service's.
    fn starting_point(&self, held: &mut Held) -> Result<(Cursor, Option<Stand>), Halt> {
        let cursor = held.state.cursor.clone();
        let is_same = tail_hash(self.session, cursor.raw_offset)?.as_deref() == Some(&held.state.tail);
        let rules =
            Reader::open(self.session, &self.round.places.home, cursor.clone())?.rules().fingerprint().to_owned();
        if cursor.raw_offset == 0 || (is_same && rules == held.state.rules) {
            held.state.rules = rules;
            return Ok((cursor, None));
        }
        held.state.rules = rules;
        let stand = Stand { bytes: cursor.sent, chain: cursor.chain() };
        Ok((Cursor::default(), Some(stand)))
    }

    /// Reads the transcript from a position to its end. If a service position is given, lines up to it are compared,
    /// not sent.
    async fn pass(&mut self, held: &mut Held, start: (Cursor, Option<Stand>)) -> Result<Passed, Halt> {
        let (mut cursor, mut stand) = start;
        let mut reader = Reader::open(self.session, &self.round.places.home, cursor.clone())?;
        held.state.rules = reader.rules().fingerprint().to_owned();
        if reader.rules().covers_session() {
            return Ok(Passed::Done(Some(Rest::Ignored)));
        }
        loop {
            self.round.check_consent()?;
            let began = std::time::Instant::now();
            let Some(Batch { text, end }) = reader.batch()? else { break };
            let mut unsent = &text[..];
            if let Some(known) = stand {
                let place = Stand { bytes: cursor.sent, chain: cursor.chain() };
                match skip(&text, place, known) {
                    Skipped::Within => {
                        cursor = end;
                        continue;
                    }
                    Skipped::Upto(rest) => unsent = rest,
                    Skipped::Differs => return self.start_over(held).await,
                }
                stand = None;
            }
            let place = before(&end, unsent.len(), &text, &cursor);
            if let Sent::Elsewhere(stand) = self.send(unsent, place).await? {
                return self.go_on(held, cursor, stand);
            }
            self.note(held, &end, !unsent.is_empty())?;
            self.round.pace(began.elapsed(), unsent.len()).await;
            cursor = end;
        }
        match stand {
            // The transcript has ended, but the service has more.
            Some(known) if known.bytes != cursor.sent || known.chain != cursor.chain() => self.start_over(held).await,
            Some(_) => {
                self.note(held, &cursor, false)?;
                Ok(Passed::Done(None))
            }
            None => Ok(Passed::Done(None)),
        }
    }

    /// Sends lines in requests of limited size.
    async fn send(&mut self, text: &[u8], mut place: Stand) -> Result<Sent, Halt> {
        let mut rest = text;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(lines_upto(rest, APPEND_BYTES_MAX));
            let after = Stand { bytes: place.bytes + now.len() as u64, chain: place.chain.after_all(now) };
            let (client, name) = (self.session.client.as_str(), &self.session.name);
            let path = format!(
                "{PREFIX}/sessions/{client}/{name}?offset={}&chain={}&modified={}",
                place.bytes,
                place.chain.to_hex(),
                self.session.modified
            );
            let answer = self.round.request(Method::POST, &path, Bytes::copy_from_slice(now)).await?;
            let stand = read_stand(&answer)?;
            if stand != after {
                return Ok(Sent::Elsewhere(stand));
            }
            self.bytes_sent += now.len() as u64;
            self.round.progress(self.session, now.len() as u64);
            (place, rest) = (after, later);
        }
        Ok(Sent::All)
    }

    /// The service's copy is at another byte: resume from the nearest known position before it.
    fn go_on(&mut self, held: &mut Held, cursor: Cursor, stand: Stand) -> Result<Passed, Halt> {
        if stand.bytes == 0 {
            if cursor.sent > 0 && !self.round.is_again {
                held.state.cursor = Cursor::default();
                return Ok(Passed::Done(Some(Rest::Deleted)));
            }
            return Ok(Passed::GoOn { cursor: Cursor::default(), stand: None });
        }
        let cursor = if stand.bytes >= cursor.sent { cursor } else { Cursor::default() };
        Ok(Passed::GoOn { cursor, stand: Some(stand) })
    }

    /// The transcript differs from the one that was sent: delete the copy and start over.
    async fn start_over(&mut self, held: &mut Held) -> Result<Passed, Halt> {
        held.state.cursor = Cursor::default();
        held.state.tail = String::new();
        held.save()?;
        let path = format!("{PREFIX}/sessions/{}/{}", self.session.client.as_str(), self.session.name);
        let answer = self.round.request(Method::DELETE, &path, Bytes::new()).await?;
        match answer.status {
            StatusCode::OK | StatusCode::NOT_FOUND => Ok(Passed::GoOn { cursor: Cursor::default(), stand: None }),
            _ => Err(Halt::refused(&answer)),
        }
    }

    fn note(&self, held: &mut Held, end: &Cursor, has_sent: bool) -> Result<(), Halt> {
        held.state.cursor = end.clone();
        held.state.tail = tail_hash(self.session, end.raw_offset)?.unwrap_or_default();
        held.state.seen = (self.session.len, self.session.modified);
        if has_sent {
            held.state.sent_at = Some(clock::now().to_string());
        }
        Ok(held.save()?)
    }
}

/// The position of the unsent end of a batch.
fn before(end: &Cursor, unsent: usize, text: &[u8], start: &Cursor) -> Stand {
    let sent = text.len() - unsent;
    Stand { bytes: end.sent - unsent as u64, chain: start.chain().after_all(&text[..sent]) }
}

enum Skipped<'a> {
    /// The whole batch is before the position.
    Within,
    /// The position is reached; these lines are left.
    Upto(&'a [u8]),
    /// The lines differ from those that were sent.
    Differs,
}

/// Skips lines up to a position that the service already has.
fn skip(text: &[u8], from: Stand, to: Stand) -> Skipped<'_> {
    let Stand { mut bytes, mut chain } = from;
    let mut rest = text;
    while bytes < to.bytes {
        if rest.is_empty() {
            return Skipped::Within;
        }
        let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
        chain = chain.after(&rest[..end]);
        bytes += end as u64;
        rest = &rest[end..];
    }
    if (Stand { bytes, chain }) == to { Skipped::Upto(rest) } else { Skipped::Differs }
}

/// How many bytes of whole lines fit.
fn lines_upto(text: &[u8], bytes_max: usize) -> usize {
    if text.len() <= bytes_max {
        return text.len();
    }
    text[..bytes_max].iter().rposition(|byte| *byte == b'\n').map_or(text.len(), |at| at + 1)
}

#[derive(Deserialize)]
struct Elsewhere {
    bytes: u64,
    chain: String,
}

fn read_stand(answer: &HttpAnswer) -> Result<Stand, Halt> {
    let (bytes, chain) = match answer.status {
        StatusCode::OK => {
            let state: HistoryState = serde_json::from_slice(&answer.body).map_err(|_| Halt::nonsense())?;
            (state.bytes, state.chain)
        }
        StatusCode::CONFLICT => {
            let state: Elsewhere = serde_json::from_slice(&answer.body).map_err(|_| Halt::nonsense())?;
            (state.bytes, state.chain)
        }
        _ => return Err(Halt::refused(answer)),
    };
    let chain = Chain::from_hex(&chain).ok_or_else(Halt::nonsense)?;
    Ok(Stand { bytes, chain })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stand(text: &[u8]) -> Stand {
        Stand { bytes: text.len() as u64, chain: Chain::default().after_all(text) }
    }

    #[test]
    fn lines_are_skipped_up_to_where_the_service_stands() {
        let text = b"one\ntwo\nthree\n";
        let from = stand(b"");
        assert!(matches!(skip(text, from, stand(b"one\ntwo\n")), Skipped::Upto(b"three\n")));
        assert!(matches!(skip(text, from, stand(text)), Skipped::Upto(b"")));
        assert!(matches!(skip(text, from, stand(b"one\ntwo\nthree\nfour\n")), Skipped::Within));
        assert!(matches!(skip(text, from, stand(b"one\nTWO\n")), Skipped::Differs));
        assert!(matches!(skip(text, from, stand(b"on\n")), Skipped::Differs), "in the middle of a line");
    }

    #[test]
    fn requests_hold_whole_lines() {
        assert_eq!(lines_upto(b"one\ntwo\n", 8), 8);
        assert_eq!(lines_upto(b"one\ntwo\n", 7), 4);
        assert_eq!(lines_upto(b"one\ntwo\n", 4), 4);
    }
}
