//! How tools are described, and how their results are wrapped.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::result::Trailer;

/// A tool as `tools/list` describes it.
#[derive(Debug, Clone, Serialize)]
pub struct Tool {
    /// What it is called by.
    pub name: String,
    /// What people read.
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
    /// Hints for the client.
    pub annotations: Annotations,
}

/// The hints of a tool. All are written out: clients assume the worst of what is left open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Annotations {
    /// What people read, once more: older clients look here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Changes nothing.
    #[serde(rename = "readOnlyHint")]
    pub read_only: bool,
    /// May delete.
    #[serde(rename = "destructiveHint", skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Twice is as good as once.
    #[serde(rename = "idempotentHint")]
    pub idempotent: bool,
    /// Reaches out to other systems.
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
    /// A text.
    pub const fn new(text: &'a str) -> Self {
        Self { kind: "text", text }
    }
}

/// The result of `tools/call`.
#[derive(Debug, Serialize)]
pub struct CallToolResult<'a> {
    /// For readers of text.
    pub content: Vec<TextItem<'a>>,
    /// For machines: the same JSON, written once and used twice.
    #[serde(rename = "structuredContent", skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<&'a RawValue>,
    /// Whether the tool failed.
    #[serde(rename = "isError")]
    pub is_error: bool,
    /// The rest.
    #[serde(flatten)]
    pub trailer: &'a Trailer,
}

/// The result of a tool of another system: its own bytes, with what every result of ours carries.
#[derive(Debug, Serialize)]
pub struct PassedOnResult<'a> {
    /// For readers of text, as it came.
    pub content: &'a RawValue,
    /// For machines, as it came.
    #[serde(rename = "structuredContent", skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<&'a RawValue>,
    /// Whether the tool failed.
    #[serde(rename = "isError")]
    pub is_error: bool,
    /// The rest.
    #[serde(flatten)]
    pub trailer: &'a Trailer,
}
