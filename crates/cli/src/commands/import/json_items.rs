//! Reads the items of a JSON array one by one, so that a large file is never in memory whole.

use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::Context;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Calls with every item of an array: of the file itself, or of the first of these members of its object. A file that
/// is one object without such a member is one item.
pub fn each(path: &Path, members: &[&str], mut act: impl FnMut(Value) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let failed = || format!("can't read {}", path.display());
    let file = File::open(path).with_context(failed)?;
    let mut failure = None;
    let mut reader = serde_json::Deserializer::from_reader(BufReader::new(file));
    let visitor = Items { members, act: &mut act, failure: &mut failure };
    let read = reader.deserialize_any(visitor).and_then(|()| reader.end());
    match failure {
        Some(failure) => Err(failure),
        None => read.with_context(|| format!("{} is not the JSON that was expected", path.display())),
    }
}

struct Items<'a, F> {
    members: &'a [&'a str],
    act: &'a mut F,
    /// Why the act failed; serde's errors can't carry it.
    failure: &'a mut Option<anyhow::Error>,
}

impl<F: FnMut(Value) -> anyhow::Result<()>> Items<'_, F> {
    fn take<E: serde::de::Error>(&mut self, item: Value) -> Result<(), E> {
        (self.act)(item).map_err(|error| {
            *self.failure = Some(error);
            E::custom("stopped")
        })
    }
}

impl<'de, F: FnMut(Value) -> anyhow::Result<()>> Visitor<'de> for Items<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array or an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<Value>()? {
            self.take(item)?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut own = serde_json::Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if self.members.contains(&name.as_str()) {
                let Value::Array(items) = map.next_value()? else { continue };
                for item in items {
                    self.take(item)?;
                }
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                return Ok(());
            }
            own.insert(name, map.next_value()?);
        }
        self.take(Value::Object(own))
    }
}
