//! JSON that an answer shows twice: as a value, and as the text of that value. Both are written straight into the
//! answer, and a record's share of them is made once, however many answers show it.

use serde::Serialize;

use crate::jsonrpc::RequestId;
use crate::memory::{RecordHead, RecordRest};
use crate::result::{TimeMeta, Trailer};

/// How JSON is written in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As it is.
    Value,
    /// Between the quotation marks of a JSON string, with its own ones escaped.
    Text,
}

/// JSON that can be written in both forms.
pub trait Twice {
    /// About how many bytes both forms take together.
    fn size_bytes(&self) -> usize;

    fn write(&self, form: Form, out: &mut Vec<u8>);

    /// What a search understood about time.
    fn time(&self) -> Option<TimeMeta> {
        None
    }
}

/// JSON that is not kept: its text is made from it where it is needed.
impl Twice for str {
    fn size_bytes(&self) -> usize {
        2 * self.len() + self.len() / 8
    }

    fn write(&self, form: Form, out: &mut Vec<u8>) {
        match form {
            Form::Value => out.extend_from_slice(self.as_bytes()),
            Form::Text => write_quoted(self, out),
        }
    }
}

/// A record's JSON without its status and score, which differ from reader to reader and from query to query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordText {
    value: Halves,
    text: Halves,
}

/// What comes before the status, and what comes after the score.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Halves {
    bytes: Box<[u8]>,
    cut: usize,
}

impl Halves {
    fn new(mut head: Vec<u8>, tail: &[u8]) -> Self {
        let cut = head.len();
        head.extend_from_slice(tail);
        Self { bytes: head.into(), cut }
    }
}

impl RecordText {
    pub fn new(head: &RecordHead<'_>, rest: &RecordRest<'_>) -> Self {
        let (mut head, tail) = (to_json(head), to_json(rest));
        // The head stays open and the rest goes on in it: both are objects, and neither is empty.
        head.pop();
        head.push_str(",\"status\":\"");
        let tail = format!(",{}", &tail[1..]);
        let mut quoted = [Vec::new(), Vec::new()];
        write_quoted(&head, &mut quoted[0]);
        write_quoted(&tail, &mut quoted[1]);
        let [quoted_head, quoted_tail] = quoted;
        Self { value: Halves::new(head.into_bytes(), tail.as_bytes()), text: Halves::new(quoted_head, &quoted_tail) }
    }

    /// How many bytes it takes.
    pub fn size_bytes(&self) -> usize {
        size_of::<Self>() + self.value.bytes.len() + self.text.bytes.len()
    }

    /// Writes the record with a status, which needs no escaping, and a score.
    pub fn write(&self, form: Form, status: &str, score: f64, out: &mut Vec<u8>) {
        let (halves, between): (_, &[u8]) = match form {
            Form::Value => (&self.value, b"\",\"score\":"),
            Form::Text => (&self.text, b"\\\",\\\"score\\\":"),
        };
        let (head, tail) = halves.bytes.split_at(halves.cut);
        out.extend_from_slice(head);
        out.extend_from_slice(status.as_bytes());
        out.extend_from_slice(between);
        serde_json::to_writer(&mut *out, &score).expect("a number can be written into memory");
        out.extend_from_slice(tail);
    }
}

/// The bytes of a successful tool's answer, in one piece of memory: a notice if there is one, the result as text, and
/// the result as JSON.
pub fn tool_success(
    id: &RequestId,
    notice: Option<&str>,
    result: &(impl Twice + ?Sized),
    trailer: &Trailer,
) -> Vec<u8> {
    let (id, trailer) = (to_json(id), to_json(trailer));
    let size_bytes = result.size_bytes() + notice.map_or(0, str::len) + id.len() + trailer.len() + ENVELOPE_BYTES;
    let mut out = Vec::with_capacity(size_bytes);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(b",\"result\":{\"content\":[");
    if let Some(notice) = notice {
        out.extend_from_slice(b"{\"type\":\"text\",\"text\":\"");
        notice.write(Form::Text, &mut out);
        out.extend_from_slice(b"\"},");
    }
    out.extend_from_slice(b"{\"type\":\"text\",\"text\":\"");
    result.write(Form::Text, &mut out);
    out.extend_from_slice(b"\"}],\"structuredContent\":");
    result.write(Form::Value, &mut out);
    out.extend_from_slice(b",\"isError\":false");
    write_members(&trailer, Form::Value, &mut out);
    out.extend_from_slice(b"}}");
    out
}

/// The fixed words of an answer, and some room.
const ENVELOPE_BYTES: usize = 192;

/// Writes the members of a JSON object after others, without its braces.
pub fn write_members(object: &str, form: Form, out: &mut Vec<u8>) {
    let members = &object[1..object.len() - 1];
    if !members.is_empty() {
        out.push(b',');
        members.write(form, out);
    }
}

/// Writes JSON escaped for the inside of a JSON string.
pub fn write_quoted(json: &str, out: &mut Vec<u8>) {
    let begin = out.len();
    serde_json::to_writer(&mut *out, json).expect("a text can be written into memory");
    // Without the quotation marks around it.
    out.pop();
    out.remove(begin);
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("wire shapes have string keys and no failing serializers")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::{Incoming, success};
    use crate::memory::RecordJson;
    use crate::tools::{CallToolResult, TextItem};
    use proptest::prelude::*;
    use serde_json::json;

    fn head<'a>(workspace: &'a str, content: &'a str, fact_key: &'a str) -> RecordHead<'a> {
        RecordHead {
            id: "0198-7".to_owned(),
            workspace: workspace.into(),
            scope: "shared".into(),
            content: content.into(),
            fact_key: fact_key.into(),
        }
    }

    fn rest<'a>(source: Option<&'a str>, caution: Option<&'static str>) -> RecordRest<'a> {
        RecordRest {
            source: source.map(Into::into),
            source_id: None,
            source_hash: None,
            source_revision: None,
            confidence: Some(0.5),
            tags: Vec::new(),
            author: None,
            department: None,
            occurred_at: None,
            valid_until: None,
            created_at: "2027-01-15T08:00:00Z".to_owned(),
            updated_at: None,
            caution: caution.map(Into::into),
        }
    }

    proptest! {
        #[test]
        fn a_record_is_written_as_serde_writes_it(
            texts in proptest::array::uniform4("\\PC{0,40}|[\\x00-\\x7f\"\\\\\u{2028}😀]{0,20}"),
            has_source: bool,
            hundredths in 1_u32..=100,
        ) {
            let [workspace, content, fact_key, source] = &texts;
            let (head, rest) = (head(workspace, content, fact_key), rest(has_source.then_some(source.as_str()), None));
            let score = f64::from(hundredths) / 100.0;
            let text = RecordText::new(&head, &rest);
            let whole = RecordJson { head, status: "conflict".into(), score: Some(score), rest };
            let expected = serde_json::to_string(&whole).unwrap();
            let (mut value, mut quoted) = (Vec::new(), b"\"".to_vec());
            text.write(Form::Value, "conflict", score, &mut value);
            text.write(Form::Text, "conflict", score, &mut quoted);
            quoted.push(b'"');
            prop_assert_eq!(&value, expected.as_bytes());
            prop_assert_eq!(quoted, serde_json::to_vec(&expected).unwrap());
            prop_assert!(text.size_bytes() > value.len());
            let read: RecordJson<'_> = serde_json::from_slice(&value).unwrap();
            prop_assert_eq!(serde_json::to_string(&read).unwrap(), expected);
        }

        #[test]
        fn an_answer_is_written_as_serde_writes_it(
            notice in proptest::option::of("\\PC{0,40}"),
            value in "\\PC{0,40}",
            is_modern: bool,
        ) {
            let Ok(Incoming::Request { id, .. }) =
                Incoming::from_json(json!({"jsonrpc": "2.0", "id": "a\"b", "method": "m"}))
            else {
                unreachable!("it is a request")
            };
            let trailer = Trailer { result_type: is_modern.then_some("complete"), ..Trailer::default() };
            let result = serde_json::value::to_raw_value(&json!({"x": [value]})).unwrap();
            let texts = notice.as_deref().into_iter().chain([result.get()]);
            let whole = CallToolResult {
                content: texts.map(TextItem::new).collect(),
                structured_content: Some(&result),
                is_error: false,
                trailer: &trailer,
            };
            let written = tool_success(&id, notice.as_deref(), result.get(), &trailer);
            prop_assert_eq!(String::from_utf8(written), String::from_utf8(success(&id, whole)));
        }
    }
}
