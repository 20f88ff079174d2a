//! A tool as its upstream describes it, and the hash that reveals a changed description.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The parts of a description that agents read or act on. Anything else an upstream says about a tool is dropped and
/// may change freely.
const PARTS: [&str; 6] = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

/// A longer name is not kept.
const NAME_BYTES_MAX: usize = 256;

#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamTool {
    members: Map<String, Value>,
}

impl UpstreamTool {
    /// Parses a description; `None` if it has no usable name.
    pub(crate) fn parse(value: Value) -> Option<Self> {
        let Value::Object(mut members) = value else { return None };
        members.retain(|name, value| PARTS.contains(&name.as_str()) && !value.is_null());
        let name = members.get("name").and_then(Value::as_str)?;
        let is_name = (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.chars().any(char::is_control);
        is_name.then_some(Self { members })
    }

    /// Reads a stored description.
    pub fn from_definition(definition: &str) -> Option<Self> {
        Self::parse(serde_json::from_str(definition).ok()?)
    }

    /// The description to store: the members in the upstream's order.
    pub fn definition(&self) -> String {
        Value::Object(self.members.clone()).to_string()
    }

    pub fn name(&self) -> &str {
        self.text("name").unwrap_or_default()
    }

    /// The title for people, or what older revisions have in its place, or the name.
    pub fn title(&self) -> &str {
        let annotated = || self.members.get("annotations")?.get("title")?.as_str();
        let title = self.text("title").or_else(annotated).filter(|title| !title.trim().is_empty());
        title.unwrap_or_else(|| self.name())
    }

    pub fn description(&self) -> &str {
        self.text("description").unwrap_or_default()
    }

    pub fn input_schema(&self) -> Option<&Value> {
        self.members.get("inputSchema")
    }

    /// Whether the upstream says that it changes nothing. Anything but a plain `true` means no.
    pub fn is_read_only(&self) -> bool {
        let hint = self.members.get("annotations").and_then(|annotations| annotations.get("readOnlyHint"));
        hint == Some(&Value::Bool(true))
    }

    /// A fingerprint of the description. The order of members does not matter, everything else does.
    pub fn hash(&self) -> [u8; 32] {
        let mut canonical = Vec::new();
        write_sorted(&Value::Object(self.members.clone()), &mut canonical);
        Sha256::digest(&canonical).into()
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name)?.as_str()
    }
}

fn write_sorted(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(name, _)| *name);
            out.push(b'{');
            for (name, value) in sorted {
                out.extend_from_slice(Value::from(name.as_str()).to_string().as_bytes());
                out.push(b':');
                write_sorted(value, out);
                out.push(b',');
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for item in items {
                write_sorted(item, out);
                out.push(b',');
            }
            out.push(b']');
        }
        plain => out.extend_from_slice(plain.to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(value: Value) -> UpstreamTool {
        UpstreamTool::parse(value).unwrap()
    }

    fn example() -> Value {
        json!({
            "name": "read", "title": "Read", "description": "Reads a file.",
            "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}, "at": {"type": "integer"}}},
            "annotations": {"readOnlyHint": true, "title": "Old"}
        })
    }

    #[test]
    fn every_part_that_agents_read_changes_the_hash() {
        let hash = tool(example()).hash();
        for (pointer, value) in [
            ("/name", json!("write")),
            ("/title", json!("Write")),
            ("/description", json!("Reads a file. ")),
            ("/inputSchema/properties/path/type", json!("number")),
            ("/annotations/readOnlyHint", json!(false)),
            ("/annotations/title", json!("New")),
        ] {
            let mut changed = example();
            *changed.pointer_mut(pointer).unwrap() = value;
            assert_ne!(tool(changed).hash(), hash, "{pointer}");
        }
        let mut more = example();
        more["outputSchema"] = json!({"type": "object"});
        assert_ne!(tool(more).hash(), hash);
    }

    #[test]
    fn order_and_unread_parts_do_not_change_the_hash() {
        let reordered = r#"{"annotations":{"title":"Old","readOnlyHint":true},"icons":[1],"outputSchema":null,
            "inputSchema":{"properties":{"at":{"type":"integer"},"path":{"type":"string"}},"type":"object"},
            "description":"Reads a file.","title":"Read","name":"read"}"#;
        let reordered = tool(serde_json::from_str(reordered).unwrap());
        assert_eq!(reordered.hash(), tool(example()).hash());
        let kept = UpstreamTool::from_definition(&reordered.definition()).unwrap();
        assert_eq!((kept.hash(), kept.definition()), (reordered.hash(), reordered.definition()));
    }

    #[test]
    fn only_a_plain_true_is_read_only() {
        for hint in [json!(false), json!("true"), json!(1), json!(null), json!([true])] {
            assert!(!tool(json!({"name": "x", "annotations": {"readOnlyHint": hint}})).is_read_only(), "{hint}");
        }
        assert!(!tool(json!({"name": "x"})).is_read_only());
        assert!(!tool(json!({"name": "x", "readOnlyHint": true})).is_read_only());
        assert!(tool(example()).is_read_only());
    }

    #[test]
    fn titles_fall_back_to_older_places_and_to_the_name() {
        assert_eq!(tool(example()).title(), "Read");
        assert_eq!(tool(json!({"name": "x", "annotations": {"title": "Old"}})).title(), "Old");
        assert_eq!(tool(json!({"name": "x", "title": " "})).title(), "x");
        for nameless in
            [json!({"name": 5}), json!({"name": ""}), json!({"name": "a\u{0}"}), json!({"name": "x".repeat(257)})]
        {
            assert!(UpstreamTool::parse(nameless.clone()).is_none(), "{nameless}");
        }
        assert!(UpstreamTool::parse(json!({"name": "x".repeat(256)})).is_some());
    }
}
