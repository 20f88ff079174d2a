//! JSON as we accept it: limited in depth and in the number of values, without repeated keys. With a repeated key, two
//! readers of the same bytes may see two different requests, so it is an error and not a matter of taste.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Value};

/// From this many bytes on, values are counted before any is kept: a shorter text can't contain many.
const COUNTED_BYTES_MIN: usize = 32 << 10;

/// Room for the members of a request: with it, most objects never grow.
const MEMBERS: usize = 4;

/// Why bytes are not acceptable JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidJson(String);

/// Parses one JSON value that is nested at most `depth_max` deep, has at most `values_max` values (counting members and
/// items of every level) and repeats no key.
///
/// A value of two bytes takes about eighty in memory: a megabyte of them would take forty. So a long text is counted
/// first, and one with too many values is refused before it takes any memory.
pub fn parse(bytes: &[u8], depth_max: usize, values_max: usize) -> Result<Value, InvalidJson> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| InvalidJson(format!("the body is not valid UTF-8 (at byte {})", error.valid_up_to())))?;
    if text.len() >= COUNTED_BYTES_MIN {
        read(text, depth_max, values_max, false)?;
    }
    read(text, depth_max, values_max, true)
}

fn read(text: &str, depth_max: usize, values_max: usize, keeps: bool) -> Result<Value, InvalidJson> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let values_left = Cell::new(values_max);
    let strict = Strict { depth_left: depth_max, depth_max, values_left: &values_left, values_max, keeps };
    let value = strict.deserialize(&mut deserializer).map_err(|error| InvalidJson(error.to_string()))?;
    deserializer.end().map_err(|error| InvalidJson(error.to_string()))?;
    Ok(value)
}

#[derive(Clone, Copy)]
struct Strict<'a> {
    depth_left: usize,
    depth_max: usize,
    values_left: &'a Cell<usize>,
    values_max: usize,
    /// Whether the value is kept, or only counted.
    keeps: bool,
}

impl Strict<'_> {
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        let depth_left = self
            .depth_left
            .checked_sub(1)
            .ok_or_else(|| E::custom(format!("the JSON is nested deeper than {} levels", self.depth_max)))?;
        Ok(Self { depth_left, ..self })
    }

    fn count<E: serde::de::Error>(self) -> Result<(), E> {
        let left = self.values_left.get().checked_sub(1);
        self.values_left
            .set(left.ok_or_else(|| E::custom(format!("the JSON has more than {} values", self.values_max)))?);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.count()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(if self.keeps { Value::String(value.to_owned()) } else { Value::Null })
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(inner)? {
            if self.keeps {
                items.push(item);
            }
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut members = Map::with_capacity(if self.keeps { MEMBERS } else { 0 });
        while let Some(key) = map.next_key::<String>()? {
            let Entry::Vacant(place) = members.entry(key) else {
                return Err(A::Error::custom("an object repeats a key"));
            };
            let value = map.next_value_seed(inner)?;
            if self.keeps {
                place.insert(value);
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES_MAX: usize = 20_000;

    fn parse(bytes: &[u8], depth_max: usize) -> Result<Value, InvalidJson> {
        super::parse(bytes, depth_max, VALUES_MAX)
    }

    fn nested(depth: usize) -> String {
        format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn depth_is_bounded_at_the_limit_and_not_before() {
        assert!(parse(nested(64).as_bytes(), 64).is_ok());
        let error = parse(nested(65).as_bytes(), 64).unwrap_err().to_string();
        assert!(error.starts_with("the JSON is nested deeper than 64 levels"), "{error}");
        assert!(parse(nested(500_000).as_bytes(), 64).is_err());
    }

    #[test]
    fn values_are_bounded_at_the_limit_and_not_before() {
        // The list itself is a value too.
        let list = |items: usize| format!("[{}1]", "1,".repeat(items - 1));
        assert!(parse(list(VALUES_MAX - 1).as_bytes(), 64).is_ok());
        let error = parse(list(VALUES_MAX).as_bytes(), 64).unwrap_err().to_string();
        assert!(error.starts_with("the JSON has more than 20000 values"), "{error}");
        // Long enough to be counted first.
        let wide = |items: usize| format!("[{}1]", "1 ,".repeat(items - 1));
        assert!(wide(VALUES_MAX).len() > COUNTED_BYTES_MIN);
        assert_eq!(parse(wide(VALUES_MAX - 1).as_bytes(), 64).unwrap().as_array().map(Vec::len), Some(VALUES_MAX - 1));
        assert!(parse(wide(VALUES_MAX).as_bytes(), 64).is_err());
    }

    #[test]
    fn a_long_text_is_read_completely_and_as_strictly_as_a_short_one() {
        let long = "x".repeat(COUNTED_BYTES_MIN);
        let text = format!(r#"{{"a":"{long}","b":[1,{{"c":null}}]}}"#);
        assert_eq!(parse(text.as_bytes(), 64).unwrap(), serde_json::from_str::<Value>(&text).unwrap());
        for bad in [r#"{"a":1,"a":2,"b":"LONG"}"#, r#"["LONG"] x"#, r#"["LONG""#] {
            assert!(parse(bad.replace("LONG", &long).as_bytes(), 64).is_err(), "{bad}");
        }
    }

    /// Found by fuzzing: without exact parsing, a number came back with another last digit.
    #[test]
    fn a_number_is_read_as_it_was_written() {
        for number in ["5.999999999999998e+225", "0.87", "1.7976931348623157e308", "-1e-7", "123456789012345678"] {
            let read = parse(number.as_bytes(), 64).unwrap();
            assert_eq!(read.as_f64(), number.parse::<f64>().ok(), "{number}");
            assert_eq!(parse(read.to_string().as_bytes(), 64).unwrap(), read, "{number}");
        }
    }

    #[test]
    fn repeated_keys_broken_texts_and_trailing_bytes_are_refused() {
        for bad in [
            r#"{"a":1,"a":2}"#,
            r#"{"a":{"b":1,"b":1}}"#,
            r#"{"a":"\ud800"}"#,
            r#"{"a":1} x"#,
            "{",
            "",
            "nul",
            "{\"a\":\"\u{1}\"}",
            "01",
            "[1e999]",
        ] {
            assert!(parse(bad.as_bytes(), 64).is_err(), "{bad}");
        }
        assert!(parse(b"{\"a\":\"\xff\"}", 64).is_err());
    }

    #[test]
    fn what_is_read_equals_what_serde_json_reads() {
        let text = r#"{"b":[1,-2,3.5,"x\u0000\n",null,true,{"c":{}}],"a":18446744073709551615,"z":"😀"}"#;
        let expected: Value = serde_json::from_str(text).unwrap();
        assert_eq!(parse(text.as_bytes(), 64).unwrap(), expected);
        assert_eq!(parse(text.as_bytes(), 64).unwrap().to_string(), expected.to_string());
    }
}
