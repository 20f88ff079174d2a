//! Adds the agent's own tool at the end of a `tools/list` answer and leaves every other byte unchanged.

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    result: &'a RawValue,
}

#[derive(Deserialize)]
struct Listed<'a> {
    #[serde(borrow)]
    tools: &'a RawValue,
    #[serde(borrow, rename = "nextCursor")]
    next_cursor: Option<&'a RawValue>,
}

/// The answer with the tool added; `None` if it is not the last page of a tool list.
pub(crate) fn with_tool(body: &[u8], tool: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(body).ok()?;
    let answer: Answer<'_> = serde_json::from_str(text).ok()?;
    let listed: Listed<'_> = serde_json::from_str(answer.result.get()).ok()?;
    // The tool belongs to the whole list, so it is added once, on the last page.
    if listed.next_cursor.is_some() {
        return None;
    }
    let inside = listed.tools.get().strip_prefix('[')?.strip_suffix(']')?;
    let end = offset_in(text, listed.tools.get())? + 1 + inside.len();
    let comma = if inside.trim().is_empty() { "" } else { "," };
    Some([&text[..end], comma, tool, &text[end..]].concat().into_bytes())
}

/// The position of a part inside its text.
fn offset_in(whole: &str, part: &str) -> Option<usize> {
    let offset = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    (whole.get(offset..offset + part.len()) == Some(part)).then_some(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: Option<&str>) {
        let added = with_tool(body.as_bytes(), "{T}").map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(added.as_deref(), expected, "{body}");
    }

    #[test]
    fn the_tool_comes_last_and_the_rest_stays() {
        check(
            r#"{"id":1, "result": {"tools" : [{"a":"]"} , {"b":[1]} ] ,"_meta":{"tools":[]}}}"#,
            Some(r#"{"id":1, "result": {"tools" : [{"a":"]"} , {"b":[1]} ,{T}] ,"_meta":{"tools":[]}}}"#),
        );
        check(r#"{"result":{"tools":[]}}"#, Some(r#"{"result":{"tools":[{T}]}}"#));
        check(r#"{"result":{"tools":[ ]}}"#, Some(r#"{"result":{"tools":[ {T}]}}"#));
    }

    #[test]
    fn anything_but_a_last_page_stays_as_it_is() {
        check(r#"{"error":{"code":-32603}}"#, None);
        check(r#"{"result":{"tools":[],"nextCursor":"x"}}"#, None);
        check(r#"{"result":{"tools":{}}}"#, None);
        check("nonsense", None);
    }
}
