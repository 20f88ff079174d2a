//! Takes arguments out of a call one by one. Those left at the end are unknown to the tool.
//!
//! Clients differ in how they send numbers and booleans: a string that parses as one is accepted. `null` and an empty
//! string mean absent: some clients send every argument.

use http::HeaderMap;
use mnemon_core::{Tags, WorkspaceName, check_hash_text, check_source_text};
use mnemon_engine::CallError;
use serde_json::{Map, Value};

use crate::mcp::Call;

const WORKSPACE_HEADER: &str = "mnemon-workspace";

/// The arguments that are not taken yet.
#[derive(Debug)]
pub(crate) struct Arguments(Map<String, Value>);

fn wrong_type(name: &str, expected: &str) -> CallError {
    CallError::Argument(format!("{name} must be {expected}"))
}

fn is_given(value: &Value) -> bool {
    !value.is_null() && value.as_str().is_none_or(|text| !text.trim().is_empty())
}

impl Arguments {
    pub(crate) fn new(members: Map<String, Value>) -> Self {
        Self(members)
    }

    /// The names of the arguments left over.
    pub(crate) fn into_ignored(self) -> Vec<String> {
        self.0.into_iter().map(|(name, _)| name).collect()
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name).filter(is_given)
    }

    /// For an argument that the tool has but this call has no use for: named as ignored only where it says something.
    pub(crate) fn drop_empty(&mut self, name: &str) {
        if self.0.get(name).is_some_and(|value| !is_given(value)) {
            self.0.shift_remove(name);
        }
    }

    /// A text as sent.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, CallError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong_type(name, "a string")),
        }
    }

    /// A text that is not empty: assistants fill optional fields with empty strings and mean nothing by it.
    pub(crate) fn filled_text(&mut self, name: &str) -> Result<Option<String>, CallError> {
        Ok(self.text(name)?.filter(|text| !text.trim().is_empty()))
    }

    /// A hash or a revision: its alphabet has no room for sentences.
    pub(crate) fn hash_text(&mut self, name: &'static str) -> Result<Option<String>, CallError> {
        let text = self.filled_text(name)?;
        if let Some(text) = &text {
            check_hash_text(name, text)?;
        }
        Ok(text)
    }

    /// `source` or `source_id` within its limit.
    pub(crate) fn source_text(&mut self, name: &'static str) -> Result<Option<String>, CallError> {
        let text = self.filled_text(name)?;
        if let Some(text) = &text {
            check_source_text(name, text)?;
        }
        Ok(text)
    }

    /// A list of texts.
    pub(crate) fn texts(&mut self, name: &str) -> Result<Option<Vec<String>>, CallError> {
        let wrong = || wrong_type(name, "a list of strings");
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => serde_json::from_str(&text).map(Some).map_err(|_| wrong()),
            Some(list) => serde_json::from_value(list).map(Some).map_err(|_| wrong()),
        }
    }

    /// Tags within their limits; none if there is none.
    pub(crate) fn tags(&mut self) -> Result<Tags, CallError> {
        Ok(Tags::parse(&self.texts("tags")?.unwrap_or_default())?)
    }

    /// The workspace that a call names: by its argument, else by its header, else by its key.
    pub(crate) fn named_workspace(&mut self, call: &Call<'_>) -> Result<Option<WorkspaceName>, CallError> {
        self.workspace_of(call.headers, call.ctx.credential.workspace.as_ref())
    }

    /// As above, for a key with this workspace.
    pub(crate) fn workspace_of(
        &mut self,
        headers: &HeaderMap,
        of_key: Option<&WorkspaceName>,
    ) -> Result<Option<WorkspaceName>, CallError> {
        if headers.get_all(WORKSPACE_HEADER).iter().nth(1).is_some() {
            return Err(CallError::Argument("the header Mnemon-Workspace must be sent once".to_owned()));
        }
        let of_header =
            headers.get(WORKSPACE_HEADER).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        match self.text("workspace")?.or(of_header) {
            Some(name) => Ok(Some(WorkspaceName::parse(&name)?)),
            None => Ok(of_key.cloned()),
        }
    }

    /// An integer. A value out of range becomes the nearest integer, so that the limit check refuses it.
    pub(crate) fn integer(&mut self, name: &str) -> Result<Option<i64>, CallError> {
        let Some(value) = self.number_value(name, "an integer")? else { return Ok(None) };
        if let Some(integer) = value.as_i64() {
            return Ok(Some(integer));
        }
        match value.as_f64() {
            Some(number) if number.fract() == 0.0 => Ok(Some(number as i64)),
            _ => Err(wrong_type(name, "an integer")),
        }
    }

    pub(crate) fn number(&mut self, name: &str) -> Result<Option<f64>, CallError> {
        let value = self.number_value(name, "a number")?;
        Ok(value.and_then(|value| value.as_f64()))
    }

    fn number_value(&mut self, name: &str, expected: &str) -> Result<Option<serde_json::Number>, CallError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(number)),
            Some(Value::String(text)) => {
                serde_json::from_str(text.trim()).map(Some).map_err(|_| wrong_type(name, expected))
            }
            Some(_) => Err(wrong_type(name, expected)),
        }
    }

    pub(crate) fn boolean(&mut self, name: &str) -> Result<Option<bool>, CallError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
                "true" => Ok(Some(true)),
                "false" => Ok(Some(false)),
                _ => Err(wrong_type(name, "a boolean")),
            },
            Some(_) => Err(wrong_type(name, "a boolean")),
        }
    }

    pub(crate) fn object(&mut self, name: &str) -> Result<Option<Map<String, Value>>, CallError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(members)),
            Some(Value::String(text)) => {
                serde_json::from_str(&text).map(Some).map_err(|_| wrong_type(name, "an object"))
            }
            Some(_) => Err(wrong_type(name, "an object")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments(value: Value) -> Arguments {
        Arguments::new(Map::from_iter([("x".to_owned(), value)]))
    }

    #[test]
    fn strings_that_parse_as_the_expected_type_are_accepted() {
        let integer = |value| arguments(value).integer("x").map_err(|error| error.to_string());
        assert_eq!(integer(json!(5)), Ok(Some(5)));
        assert_eq!(integer(json!("5")), Ok(Some(5)));
        assert_eq!(integer(json!(5.0)), Ok(Some(5)));
        assert_eq!(integer(json!(null)), Ok(None));
        assert_eq!(integer(json!("")), Ok(None));
        assert_eq!(integer(json!(1e300)), Ok(Some(i64::MAX)));
        for wrong in [json!(5.5), json!("five"), json!(true), json!([5])] {
            assert_eq!(integer(wrong), Err("x must be an integer".to_owned()));
        }
        let boolean = |value| arguments(value).boolean("x").map_err(|error| error.to_string());
        assert_eq!(boolean(json!("True")), Ok(Some(true)));
        assert_eq!(boolean(json!(1)), Err("x must be a boolean".to_owned()));
        let number = |value| arguments(value).number("x").map_err(|error| error.to_string());
        assert_eq!(number(json!("0.5")), Ok(Some(0.5)));
        assert_eq!(number(json!("NaN")), Err("x must be a number".to_owned()));
        let object = |value| arguments(value).object("x").map_err(|error| error.to_string());
        assert_eq!(object(json!("{\"a\":1}")), Ok(Some(Map::from_iter([("a".to_owned(), json!(1))]))));
        assert_eq!(object(json!("[]")), Err("x must be an object".to_owned()));
        let texts = |value| arguments(value).texts("x").map_err(|error| error.to_string());
        assert_eq!(texts(json!(["a", "b"])), Ok(Some(vec!["a".to_owned(), "b".to_owned()])));
        assert_eq!(texts(json!("[\"a\"]")), Ok(Some(vec!["a".to_owned()])));
        assert_eq!(texts(json!([])), Ok(Some(Vec::new())));
        for wrong in [json!("a"), json!([1]), json!({}), json!("[1]")] {
            assert_eq!(texts(wrong), Err("x must be a list of strings".to_owned()));
        }
        let text = |value| arguments(value).text("x").map_err(|error| error.to_string());
        assert_eq!(text(json!(5)), Err("x must be a string".to_owned()));
    }

    #[test]
    fn unknown_arguments_are_listed_in_order() {
        let members = json!({"z": 1, "query": "q", "a": null, "m": 2});
        let Value::Object(members) = members else { unreachable!() };
        let mut arguments = Arguments::new(members);
        arguments.text("query").unwrap();
        assert_eq!(arguments.into_ignored(), ["z", "a", "m"]);
    }
}
