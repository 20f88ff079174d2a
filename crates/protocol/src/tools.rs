//! How tools are described, and how their results are wrapped.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::result::Trailer;

/// A tool as `tools/list` describes it.
#[derive(Debug, Clone, Serialize)]
pub struct Tool {
    pub name: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does and when to use it.
    pub description: String,
    /// JSON Schema of the arguments; the root is an object.
    #[serde(rename = "inputSchema")]
    pub input_schema: Value,
    /// JSON Schema of `structuredContent`; the root is an object.
    #[serde(rename = "outputSchema", skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    pub annotations: Annotations,
}

/// The hints of a tool. All are written out, because clients assume the worst for absent ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Annotations {
    /// The title again: older clients look here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(rename = "readOnlyHint")]
    pub read_only: bool,
    #[serde(rename = "destructiveHint", skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    #[serde(rename = "idempotentHint")]
    pub idempotent: bool,
    #[serde(rename = "openWorldHint", skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

/// An item of a result's `content`.
#[derive(Debug, Serialize)]
pub struct TextItem<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

impl<'a> TextItem<'a> {
    pub const fn new(text: &'a str) -> Self {
        Self { kind: "text", text }
    }
}

#[derive(Debug, Serialize)]
pub struct CallToolResult<'a> {
    /// For readers of text.
    pub content: Vec<TextItem<'a>>,
    /// For machines: the same JSON, serialized once and used twice.
    #[serde(rename = "structuredContent", skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<&'a RawValue>,
    #[serde(rename = "isError")]
    pub is_error: bool,
    #[serde(flatten)]
    pub trailer: &'a Trailer,
}

/// A result of another system's tool: its own bytes, plus what every result of ours carries.
#[derive(Debug, Serialize)]
pub struct PassedOnResult<'a> {
    /// For readers of text, as received.
    pub content: &'a RawValue,
    /// For machines, as received.
    #[serde(rename = "structuredContent", skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<&'a RawValue>,
    #[serde(rename = "isError")]
    pub is_error: bool,
    #[serde(flatten)]
    pub trailer: &'a Trailer,
}
