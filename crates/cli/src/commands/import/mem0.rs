//! Memories of mem0: the array of a listing, or an object that has it as `results` or `memories`.

use std::path::Path;

use mnemon_protocol::export_lines::RecordLine;
use serde_json::Value;

use super::{Desk, json_items};

pub fn read(path: &Path, desk: &mut Desk<'_>) -> anyhow::Result<()> {
    let mut nth = 0;
    json_items::each(path, &["results", "memories"], |item| {
        nth += 1;
        let place = format!("{} item {nth}", path.display());
        match to_record(&item) {
            Some(record) => desk.record(place, record)?,
            None => desk.left_out(place, "it has no text under `memory`"),
        }
        Ok(())
    })
}

fn to_record(item: &Value) -> Option<RecordLine> {
    let text = |name: &str| item[name].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
    let content = ["memory", "text", "content"].iter().find_map(|name| text(name))?;
    // A memory belongs to a user, an agent or a run; here it belongs to a workspace, which is the caller's choice.
    let owner = ["user_id", "agent_id", "app_id", "run_id"].iter().find_map(|name| text(name));
    Some(RecordLine {
        content,
        source: Some(owner.map_or_else(|| "mem0".to_owned(), |owner| format!("mem0, {owner}"))),
        source_id: text("id").map(|id| format!("mem0:{id}")),
        created_at: text("created_at"),
        updated_at: text("updated_at"),
        valid_until: text("expiration_date").map(|day| if day.len() == 10 { format!("{day}T00:00:00Z") } else { day }),
        ..RecordLine::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_memory_keeps_its_text_its_times_and_where_it_came_from() {
        let item = json!({"id": "m1", "memory": "Likes tea", "user_id": "dev", "created_at": "2024-07-26T10:29:36.630547-07:00",
            "expiration_date": "2030-01-31", "categories": ["food"]});
        let record = to_record(&item).unwrap();
        assert_eq!((record.content.as_str(), record.source.as_deref()), ("Likes tea", Some("mem0, dev")));
        assert_eq!(record.source_id.as_deref(), Some("mem0:m1"));
        assert_eq!(record.valid_until.as_deref(), Some("2030-01-31T00:00:00Z"));
        assert_eq!(to_record(&json!({"id": "m2"})), None);
    }
}
