//! The file of the reference memory server: entities with observations, and relations between them.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::Context;
use mnemon_protocol::export_lines::RecordLine;
use serde::Deserialize;

use super::Desk;
use super::own::each_line;

const SOURCE: &str = "memory server";

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line {
    #[serde(rename_all = "camelCase")]
    Entity {
        name: String,
        #[serde(default)]
        entity_type: String,
        #[serde(default)]
        observations: Vec<String>,
    },
    #[serde(rename_all = "camelCase")]
    Relation { from: String, to: String, relation_type: String },
}

pub fn read(path: &Path, desk: &mut Desk<'_>) -> anyhow::Result<()> {
    let failed = || format!("can't read {}", path.display());
    let file = File::open(path).with_context(failed)?;
    each_line(BufReader::new(file), |nth, text| {
        let place = format!("{}:{nth}", path.display());
        match serde_json::from_str(text) {
            Ok(line) => {
                for (content, source_id) in facts(line) {
                    let (source, source_id) = (Some(SOURCE.to_owned()), Some(source_id));
                    desk.record(place.clone(), RecordLine { content, source, source_id, ..RecordLine::default() })?;
                }
            }
            Err(error) => desk.left_out(place, format!("neither an entity nor a relation: {error}")),
        }
        Ok(())
    })
    .with_context(failed)
}

/// A fact per observation and per relation, each a sentence that can stand alone, and the entity that it is about.
fn facts(line: Line) -> Vec<(String, String)> {
    match line {
        Line::Entity { name, entity_type, observations } => {
            let source_id = format!("entity:{name}");
            let kind = if entity_type.is_empty() { String::new() } else { format!(" ({entity_type})") };
            if observations.is_empty() {
                return vec![(format!("{name}{kind}"), source_id)];
            }
            let told = |text: String| (format!("{name}{kind}: {text}"), source_id.clone());
            observations.into_iter().map(told).collect()
        }
        Line::Relation { from, to, relation_type } => {
            vec![(format!("{from} {} {to}", relation_type.replace('_', " ")), format!("entity:{from}"))]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_becomes_a_fact_per_observation() {
        let facts = |text: &str| -> Vec<String> {
            facts(serde_json::from_str(text).unwrap()).into_iter().map(|(content, _)| content).collect()
        };
        let entity =
            r#"{"type":"entity","name":"Ada","entityType":"person","observations":["likes tea","is in Rome"]}"#;
        assert_eq!(facts(entity), ["Ada (person): likes tea", "Ada (person): is in Rome"]);
        assert_eq!(facts(r#"{"type":"entity","name":"Rome","entityType":"city","observations":[]}"#), ["Rome (city)"]);
        let relation = r#"{"type":"relation","from":"Ada","to":"Acme","relationType":"works_at"}"#;
        assert_eq!(facts(relation), ["Ada works at Acme"]);
    }
}
