//! Spans as OTLP wants them: protobuf, by the field numbers of `opentelemetry/proto/trace/v1/trace.proto`. Few messages
//! are needed, so they are written by hand; a test of the command line reads them with OpenTelemetry's own types.
//!
//! OpenTelemetry's crates (`opentelemetry-otlp` 0.33 over HTTP, with `tracing-opentelemetry`) would add 18 crates to
//! the 264 that the binary is made of, by `cargo tree`. They would replace this file and most of the layer, and not
//! what we need around them: which requests are traced, that work in the background is left out, and our own TLS
//! client. So a hundred lines stay ours.

use crate::{Ended, Kind, Value};

/// The path of a collector that takes traces.
pub const PATH: &str = "/v1/traces";
pub const CONTENT_TYPE: &str = "application/x-protobuf";

const STATUS_ERROR: u64 = 2;

/// The request that brings a collector spans of one of the nodes of a service.
pub fn encode(service: &str, instance: &str, version: &str, spans: &[Ended]) -> Vec<u8> {
    let resource = Message::new()
        .message(1, attribute("service.name", &Value::Text(service.to_owned())))
        .message(1, attribute("service.instance.id", &Value::Text(instance.to_owned())))
        .message(1, attribute("service.version", &Value::Text(version.to_owned())));
    let scope = Message::new().text(1, "mnemon").text(2, version);
    let spans = spans.iter().fold(Message::new().message(1, scope), |written, ended| written.message(2, span(ended)));
    let resource_spans = Message::new().message(1, resource).message(2, spans);
    Message::new().message(1, resource_spans).0
}

fn span(ended: &Ended) -> Message {
    let kind = match ended.kind {
        Kind::Internal => 1,
        Kind::Server => 2,
        Kind::Client => 3,
    };
    let mut written = Message::new().bytes(1, &ended.trace).bytes(2, &ended.id);
    if let Some(parent) = &ended.parent {
        written = written.bytes(4, parent);
    }
    written = written.text(5, &ended.name).number(6, kind).fixed(7, ended.began).fixed(8, ended.ended);
    written = ended.fields.iter().fold(written, |written, (name, value)| written.message(9, attribute(name, value)));
    if ended.is_failed { written.message(15, Message::new().number(3, STATUS_ERROR)) } else { written }
}

fn attribute(name: &str, value: &Value) -> Message {
    let any = match value {
        Value::Text(text) => Message::new().text(1, text),
        Value::Flag(flag) => Message::new().number(2, u64::from(*flag)),
        // Negative numbers are written as their two's complement.
        Value::Number(number) => Message::new().number(3, number.cast_unsigned()),
    };
    Message::new().text(1, name).message(2, any)
}

/// A message of protobuf while it is written.
struct Message(Vec<u8>);

impl Message {
    const fn new() -> Self {
        Self(Vec::new())
    }

    fn number(mut self, field: u32, value: u64) -> Self {
        self.head(field, 0);
        self.varint(value);
        self
    }

    fn fixed(mut self, field: u32, value: u64) -> Self {
        self.head(field, 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.head(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    fn message(self, field: u32, message: Self) -> Self {
        self.bytes(field, &message.0)
    }

    fn head(&mut self, field: u32, wire_type: u64) {
        self.varint((u64::from(field) << 3) | wire_type);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value as u8) | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lengths_are_written_as_protobuf_does() {
        assert_eq!(Message::new().number(1, 150).0, [0x08, 0x96, 0x01]);
        assert_eq!(Message::new().text(2, "testing").0, b"\x12\x07testing");
        assert_eq!(Message::new().number(16, 0).0, [0x80, 0x01, 0x00]);
        assert_eq!(Message::new().number(3, (-1_i64).cast_unsigned()).0.len(), 11);
        assert_eq!(Message::new().fixed(7, 1).0, [0x39, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
