//! The admin API as an OpenAPI 3.1 document, made from the types that handlers read and write. A test compares its
//! operations with the routes.
//!
//! To describe a route: a row in `openapi/operations.rs`.

mod operations;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::PREFIX;
use super::parameters::field_names;

/// One operation, as the document has it.
struct Operation {
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    parameters: &'static [&'static str],
    sent: Option<Value>,
    answer: Value,
    status: &'static str,
    /// The kinds of what is sent and answered.
    kinds: (&'static str, &'static str),
}

const JSON: &str = "application/json";
/// One JSON object a line.
const LINES: &str = "application/x-ndjson";

/// Collects the schemas that operations refer to.
struct Schemas {
    read: SchemaGenerator,
    written: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
            })
        };
        Self {
            read: settings().for_deserialize().into_generator(),
            written: settings().for_serialize().into_generator(),
        }
    }

    /// A type that the API reads.
    fn sent<T: JsonSchema>(&mut self) -> Value {
        self.read.subschema_for::<T>().to_value()
    }

    /// A type that the API answers with.
    fn one<T: JsonSchema>(&mut self) -> Value {
        self.written.subschema_for::<T>().to_value()
    }

    /// A list under a name.
    fn list<T: JsonSchema>(&mut self, name: &str) -> Value {
        members(&[(name, json!({"type": "array", "items": self.one::<T>()}))])
    }

    /// A list under a name, and where it goes on.
    fn page<T: JsonSchema>(&mut self, name: &str) -> Value {
        members(&[(name, json!({"type": "array", "items": self.one::<T>()})), ("next", next())])
    }

    fn into_definitions(mut self) -> Map<String, Value> {
        let mut all = self.read.take_definitions(true);
        all.append(&mut self.written.take_definitions(true));
        all
    }
}

/// What the next page is asked for with.
fn next() -> Value {
    json!({"type": ["string", "null"], "description": "Where the list goes on; null at its end."})
}

/// An object with these members, all of which are always there.
fn members(all: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> =
        all.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let required: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// `{"deleted": true}` and the like.
fn done(name: &str) -> Value {
    members(&[(name, json!({"const": true}))])
}

impl Operation {
    fn new(method: &'static str, path: &'static str, summary: &'static str, answer: Value) -> Self {
        Self { method, path, summary, parameters: &[], sent: None, answer, status: "200", kinds: (JSON, JSON) }
    }

    fn takes_lines(mut self) -> Self {
        self.kinds.0 = LINES;
        self
    }

    fn answers_lines(mut self) -> Self {
        self.kinds.1 = LINES;
        self
    }

    /// The fields of a type are the query parameters.
    fn query<T: DeserializeOwned>(mut self) -> Self {
        self.parameters = field_names::<T>();
        self
    }

    fn sent(mut self, schema: Value) -> Self {
        self.sent = Some(schema);
        self
    }

    /// Answers 201.
    fn created(mut self) -> Self {
        self.status = "201";
        self
    }

    fn to_json(&self) -> Value {
        let in_path = self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let in_path = in_path.map(|name| parameter(name, "path", true));
        let in_query = self.parameters.iter().map(|name| parameter(name, "query", false));
        let mut operation = json!({
            "operationId": self.id(),
            "tags": [self.tag()],
            "summary": self.summary,
            "parameters": in_path.chain(in_query).collect::<Vec<_>>(),
            "responses": {
                self.status: {"description": "Done.", "content": {self.kinds.1: {"schema": self.answer}}},
                "default": {"$ref": "#/components/responses/Error"},
            },
        });
        if let Some(sent) = &self.sent {
            operation["requestBody"] = json!({"required": true, "content": {self.kinds.0: {"schema": sent}}});
        }
        operation
    }

    /// `GET /projects/{project}/keys` is `get_projects_keys`.
    fn id(&self) -> String {
        let named = self.path.split('/').filter(|part| !part.is_empty() && !part.starts_with('{'));
        let ends_with_one = self.path.ends_with('}');
        let words = [self.method.to_lowercase()].into_iter().chain(named.map(|word| word.replace('-', "_")));
        let words: Vec<String> = words.chain(ends_with_one.then(|| "one".to_owned())).collect();
        words.join("_")
    }

    /// The last thing that the path names.
    fn tag(&self) -> &'static str {
        let things = ["integrations", "sessions", "records", "sources", "workspaces", "connections", "keys", "guard"];
        let more = ["members", "departments", "audit", "usage", "me", "plans", "projects", "accounts"];
        let is_named = |thing: &&str| self.path.split('/').any(|part| part == *thing);
        things.into_iter().chain(more).find(is_named).unwrap_or("records")
    }
}

fn parameter(name: &str, place: &str, is_required: bool) -> Value {
    json!({
        "name": name, "in": place, "required": is_required, "schema": {"type": "string"},
        "description": operations::meaning(name, place),
    })
}

/// The whole document.
pub fn document() -> Value {
    let mut schemas = Schemas::new();
    let operations = operations::all(&mut schemas);
    let mut paths: Map<String, Value> = Map::new();
    for operation in &operations {
        let path = paths.entry(format!("{PREFIX}{}", operation.path)).or_insert_with(|| json!({}));
        path[operation.method.to_lowercase()] = operation.to_json();
    }
    let tags: BTreeSet<&str> = operations.iter().map(Operation::tag).collect();
    let mut definitions = schemas.into_definitions();
    definitions.insert("Error".to_owned(), error_schema());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Mnemon admin API",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "For the operator, the admins of an account, heads of departments and members: each may do and see what \
                            its role allows. What a caller may not know of is answered like what does not exist.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "http://127.0.0.1:7676"}],
        "security": [{"bearer": []}],
        "tags": tags.into_iter().map(|name| json!({"name": name})).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {
                "type": "http", "scheme": "bearer", "description": "An API key (`mnm_...`) or the operator token (`mnp_...`).",
            }},
            "responses": {"Error": {
                "description": "400 `invalid`, 401 `unauthorized`, 403 `forbidden`, 404 `not_found`, 409 `conflict`, \
                                429 `too_many_refused`, `too_many_exports` or `busy`, 500 `internal`, \
                                503 `storage_unavailable` or `busy`, 507 `storage_full`.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            }},
            "schemas": definitions,
        },
    })
}

fn error_schema() -> Value {
    let code = json!({"type": "string", "description": "For programs: `not_found`, say."});
    let message = json!({"type": "string", "description": "What happened and what to do, for people."});
    members(&[("error", code), ("message", message)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_described_and_nothing_else() {
        let described: BTreeSet<(String, String)> = document()["paths"]
            .as_object()
            .unwrap()
            .iter()
            .flat_map(|(path, methods)| {
                methods.as_object().unwrap().keys().map(|method| (method.to_uppercase(), path.clone()))
            })
            .collect();
        let routes: BTreeSet<(String, String)> =
            super::super::route_table().into_iter().map(|(method, path, _)| (method.to_owned(), path)).collect();
        assert_eq!(described, routes);
    }

    #[test]
    fn every_reference_leads_somewhere_and_ids_are_unique() {
        fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
            match value {
                Value::Object(members) => {
                    found.extend(members.get("$ref").and_then(Value::as_str));
                    members.values().for_each(|value| references(value, found));
                }
                Value::Array(items) => items.iter().for_each(|value| references(value, found)),
                _ => {}
            }
        }
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 100, "{}", found.len());
        for reference in found {
            assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
        }
        let mut ids = BTreeSet::new();
        for operation in
            document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values())
        {
            assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{}", operation["operationId"]);
            for parameter in operation["parameters"].as_array().unwrap() {
                assert!(parameter["description"].as_str().is_some_and(|text| !text.is_empty()), "{parameter}");
            }
        }
    }
}
