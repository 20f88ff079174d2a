//! A tool's answer: the upstream's own bytes.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::UpstreamError;

/// A result as received.
#[derive(Debug, Clone)]
pub struct ToolResult {
    /// For readers of text; a list.
    pub content: Box<RawValue>,
    /// For machines.
    pub structured_content: Option<Box<RawValue>>,
    pub is_error: bool,
}

#[derive(Deserialize)]
struct Read<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, rename = "structuredContent", default)]
    structured_content: Option<&'a RawValue>,
    #[serde(rename = "isError", default)]
    is_error: Option<bool>,
    #[serde(borrow, rename = "resultType", default)]
    result_type: Option<std::borrow::Cow<'a, str>>,
}

impl ToolResult {
    pub(crate) fn read(answer: &RawValue) -> Result<Self, UpstreamError> {
        let no_result = UpstreamError::Garbled("it is not a tool result");
        let read: Read<'_> = serde_json::from_str(answer.get()).map_err(|_| no_result.clone())?;
        if read.result_type.is_some_and(|kind| kind != "complete") {
            return Err(UpstreamError::AsksBack);
        }
        let content = match (read.content, read.structured_content) {
            (Some(content), _) if content.get().starts_with('[') => content.to_owned(),
            // Clients expect a list even if the upstream answers only for machines.
            (None, Some(_)) => RawValue::from_string("[]".to_owned()).map_err(|_| no_result)?,
            _ => return Err(no_result),
        };
        let is_error = read.is_error.unwrap_or(false);
        Ok(Self { content, structured_content: read.structured_content.map(ToOwned::to_owned), is_error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(String, Option<String>, bool), UpstreamError> {
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        let result = ToolResult::read(&raw)?;
        Ok((result.content.to_string(), result.structured_content.map(|raw| raw.to_string()), result.is_error))
    }

    #[test]
    fn the_bytes_stay_as_they_came() {
        let content = r#"[ {"type":"text","text":"\u00e9 1.0"},{"type":"image","data":"AA==","x":1E2} ]"#;
        let whole =
            format!(r#"{{"isError":true,"structuredContent":{{"b": 1.50,"a":[]}},"content":{content},"_meta":{{}}}}"#);
        assert_eq!(read(&whole), Ok((content.to_owned(), Some(r#"{"b": 1.50,"a":[]}"#.to_owned()), true)));
        assert_eq!(read(r#"{"structuredContent":{}}"#), Ok(("[]".to_owned(), Some("{}".to_owned()), false)));
        assert_eq!(read(r#"{"content":[],"resultType":"complete"}"#), Ok(("[]".to_owned(), None, false)));
    }

    #[test]
    fn anything_but_a_result_is_refused() {
        for text in ["{}", "7", "[]", r#"{"content":"x"}"#, r#"{"content":{}}"#, r#"{"content":[],"isError":"no"}"#] {
            assert_eq!(read(text), Err(UpstreamError::Garbled("it is not a tool result")), "{text}");
        }
        assert_eq!(read(r#"{"resultType":"input_required"}"#), Err(UpstreamError::AsksBack));
    }
}
