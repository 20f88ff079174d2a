//! The query parameters that a route takes: the fields of the type they are read into.

use std::fmt;

use mnemon_core::nearest;
use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use url::form_urlencoded;

/// More of an unknown name is not repeated.
const SHOWN_CHARS_MAX: usize = 64;

/// What is wrong with the names in a query string that is read into `T`.
pub(super) fn unknown_name<T: DeserializeOwned>(query: &str) -> Option<String> {
    let known = field_names::<T>();
    let (unknown, _) = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| !known.contains(&name.as_ref()))?;
    let shown: String = unknown.chars().take(SHOWN_CHARS_MAX).collect();
    let advice = match nearest(&unknown, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => "this route takes none".to_owned(),
        None => format!("this route takes `{}`", known.join("`, `")),
    };
    Some(format!("unknown query parameter `{shown}`; {advice}"))
}

/// The names of the fields that a struct is read from: it asks for them before it reads anything.
pub(super) fn field_names<T: DeserializeOwned>() -> &'static [&'static str] {
    T::deserialize(Asked).err().map_or(&[], |Flash(names)| names)
}

struct Asked;

/// The names, on the only way out of a deserializer that has nothing to read.
#[derive(Debug)]
struct Flash(&'static [&'static str]);

impl<'de> Deserializer<'de> for Asked {
    type Error = Flash;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Flash> {
        Err(Flash(&[]))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Flash> {
        Err(Flash(names))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl fmt::Display for Flash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("only asked for names")
    }
}

impl std::error::Error for Flash {}

impl de::Error for Flash {
    fn custom<M: fmt::Display>(_: M) -> Self {
        Self(&[])
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its names matter")]
    struct Filter {
        state: Option<String>,
        limit: Option<String>,
    }

    #[test]
    fn unknown_names_are_told_with_what_was_meant() {
        let check = |query: &str, expected: Option<&str>| {
            assert_eq!(unknown_name::<Filter>(query).as_deref(), expected, "{query}");
        };
        check("", None);
        check("state=x&limit=&state=y", None);
        check("limit=1&statuz=x", Some("unknown query parameter `statuz`; did you mean `state`?"));
        check("colour=red", Some("unknown query parameter `colour`; this route takes `state`, `limit`"));
        check("li%6Dit=1", None);
        assert_eq!(unknown_name::<()>(""), None);
        let text = "unknown query parameter `limit`; this route takes none";
        assert_eq!(unknown_name::<()>("limit=1").as_deref(), Some(text));
        let text = format!("unknown query parameter `{}`; this route takes `state`, `limit`", "x".repeat(64));
        check(&"x".repeat(65), Some(&text));
    }
}
