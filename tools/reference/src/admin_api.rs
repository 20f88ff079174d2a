//! The admin API's OpenAPI document, as a page to read.

use std::fmt::Write;

use serde_json::Value;

/// The page for a document.
pub(super) fn page(document: &Value) -> String {
    let mut page = format!(
        "# Admin API\n\n{} [openapi.json](openapi.json) is the same for programs (OpenAPI 3.1).\n\nSend `Authorization: Bearer` with an \
         API key or the operator token. Bodies and answers are JSON. Errors have this form: `{{\"error\": code, \"message\": text}}`. {}\n",
        text(&document["info"]["description"]),
        text(&document["components"]["responses"]["Error"]["description"])
    );
    let mut tags: Vec<&str> = document["tags"].as_array().into_iter().flatten().map(|tag| text(&tag["name"])).collect();
    tags.sort_unstable();
    for tag in tags {
        let _ = write!(page, "\n## {tag}\n");
        for (path, methods) in members(&document["paths"]) {
            let here = members(methods).filter(|(_, operation)| operation["tags"][0] == tag);
            for (method, operation) in here {
                describe(&mut page, &method.to_uppercase(), path, operation);
            }
        }
    }
    page.push_str("\n## Types\n");
    for (name, schema) in members(&document["components"]["schemas"]) {
        describe_type(&mut page, name, schema);
    }
    page
}

fn describe(page: &mut String, method: &str, path: &str, operation: &Value) {
    let _ = write!(page, "\n### `{method} {path}`\n{}\n", text(&operation["summary"]));
    let in_query = |parameter: &&Value| parameter["in"] == "query";
    let parameters: Vec<&Value> = operation["parameters"].as_array().into_iter().flatten().filter(in_query).collect();
    if !parameters.is_empty() {
        page.push_str("\nQuery parameters:\n\n");
        for parameter in parameters {
            let _ = writeln!(page, "- `{}`: {}", text(&parameter["name"]), text(&parameter["description"]));
        }
    }
    let schema = |value: &Value| kind(&value["content"]["application/json"]["schema"]);
    if operation["requestBody"].is_object() {
        let _ = write!(page, "\nBody: {}\n", schema(&operation["requestBody"]));
    }
    for (status, answer) in members(&operation["responses"]).filter(|(status, _)| *status != "default") {
        let _ = write!(page, "\nAnswers {status}: {}\n", schema(answer));
    }
}

fn describe_type(page: &mut String, name: &str, schema: &Value) {
    let _ = write!(page, "\n### {name}\n");
    if let Some(description) = schema["description"].as_str() {
        let _ = writeln!(page, "{}", one_line(description));
    }
    if members(&schema["properties"]).next().is_none() {
        let _ = write!(page, "\n{}\n", kind(schema));
        return;
    }
    page.push_str("\n| member | type | | meaning |\n| --- | --- | --- | --- |\n");
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (name, member) in members(&schema["properties"]) {
        let need = if required.iter().any(|required| required == name) { "always" } else { "" };
        let meaning = one_line(member["description"].as_str().unwrap_or_default());
        let _ = writeln!(page, "| `{name}` | {} | {need} | {meaning} |", kind(member).replace('|', "\\|"));
    }
}

/// A schema in words.
fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    for joined in ["anyOf", "oneOf", "allOf"] {
        if let Some(parts) = schema[joined].as_array() {
            return parts.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or ");
    }
    if !schema["const"].is_null() {
        return format!("`{}`", schema["const"]);
    }
    match &schema["type"] {
        Value::String(word) if word == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(word) if word == "object" => object(schema),
        Value::String(word) => word.clone(),
        Value::Array(words) => words.iter().map(text).collect::<Vec<_>>().join(" or "),
        _ => "anything".to_owned(),
    }
}

/// An object that has no name of its own.
fn object(schema: &Value) -> String {
    let inner: Vec<String> =
        members(&schema["properties"]).map(|(name, member)| format!("`{name}`: {}", kind(member))).collect();
    if inner.is_empty() { "object".to_owned() } else { format!("{{{}}}", inner.join(", ")) }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
