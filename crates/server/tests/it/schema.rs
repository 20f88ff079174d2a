//! A small JSON Schema checker for the keywords that our schemas use. It fails on a keyword that it does not know, so
//! that no schema passes unchecked.

use serde_json::Value;

/// Panics with the path to what does not match.
pub(crate) fn check(schema: &Value, value: &Value, path: &str) {
    for (word, rule) in schema.as_object().unwrap_or_else(|| panic!("{path}: a schema is an object")) {
        let holds = match word.as_str() {
            "type" => is_of_type(rule, value),
            "enum" => rule.as_array().is_some_and(|allowed| allowed.contains(value)),
            "minimum" => number(value).is_none_or(|number| Some(number) >= rule.as_f64()),
            "maximum" => number(value).is_none_or(|number| Some(number) <= rule.as_f64()),
            "exclusiveMinimum" => number(value).is_none_or(|number| Some(number) > rule.as_f64()),
            "minLength" => chars(value).is_none_or(|chars| Some(chars) >= rule.as_u64()),
            "maxLength" => chars(value).is_none_or(|chars| Some(chars) <= rule.as_u64()),
            "required" => names(rule).all(|name| value.get(name).is_some()),
            "properties" => check_properties(rule, value, path),
            "items" => check_items(rule, value, path),
            "format" => {
                rule == "date-time" && value.as_str().is_some_and(|text| text.parse::<jiff::Timestamp>().is_ok())
            }
            "description" | "default" => true,
            other => panic!("{path}: the checker does not know the word '{other}'"),
        };
        assert!(holds, "{path}: {word} {rule} does not hold for {value}");
    }
}

fn check_properties(rules: &Value, value: &Value, path: &str) -> bool {
    let rules = rules.as_object().expect("properties are an object");
    for (name, value) in value.as_object().into_iter().flatten() {
        let rule = rules.get(name).unwrap_or_else(|| panic!("{path}.{name} is in no schema"));
        check(rule, value, &format!("{path}.{name}"));
    }
    true
}

fn check_items(rule: &Value, value: &Value, path: &str) -> bool {
    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
        check(rule, item, &format!("{path}[{at}]"));
    }
    true
}

fn is_of_type(rule: &Value, value: &Value) -> bool {
    match rule {
        Value::Array(kinds) => kinds.iter().any(|kind| is_of_type(kind, value)),
        kind => match kind.as_str().expect("a type is a word") {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "null" => value.is_null(),
            other => panic!("no JSON has the type '{other}'"),
        },
    }
}

fn names(rule: &Value) -> impl Iterator<Item = &str> {
    rule.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

fn chars(value: &Value) -> Option<u64> {
    value.as_str().map(|text| text.chars().count() as u64)
}
