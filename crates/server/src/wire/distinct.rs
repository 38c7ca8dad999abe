//! JSON in which no name stands twice in an object: one of the two would be lost, and nobody would
//! know which.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// How much of a name that stands twice is told.
const NAME_TOLD: usize = 40;

/// An object, and everything in it.
pub(super) struct Distinct(pub(super) Map<String, Value>);

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match from.deserialize_map(Any)? {
            Value::Object(fields) => Ok(Self(fields)),
            _ => Err(de::Error::custom("expected an object")),
        }
    }
}

struct Anything(Value);

impl<'de> Deserialize<'de> for Anything {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any).map(Self)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Anything(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(array.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Anything(value))) = fields.next_entry::<String, _>()? {
            if object.contains_key(&name) {
                let told = format!("duplicate field `{name:.NAME_TOLD$}`");
                return Err(de::Error::custom(told));
            }
            object.insert(name, value);
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_is_read_as_it_stands_and_no_name_twice() {
        let text = r#"{"a":[1,-2,3.5,"b",null,true,{"c":{}}],"d":{"e":"f"}}"#;
        let Distinct(read) = serde_json::from_str(text).expect("an object");
        assert_eq!(Value::Object(read), serde_json::from_str::<Value>(text).expect("JSON"));
        for (text, told) in [
            (r#"{"a":1,"a":2}"#, "duplicate field `a`"),
            (r#"{"a":[{"b":{"c":1,"c":1}}]}"#, "duplicate field `c`"),
            ("[]", "expected an object"),
            ("1", "expected an object"),
        ] {
            let error = serde_json::from_str::<Distinct>(text).map(|_| ()).expect_err(text);
            assert!(error.to_string().contains(told), "{error}");
        }
        let long = json!({ "x".repeat(1_000): 1 }).to_string();
        let twice = format!("{},{}", &long[..long.len() - 1], &long[1..]);
        let error = serde_json::from_str::<Distinct>(&twice).map(|_| ()).expect_err("twice");
        assert!(error.to_string().len() < 100, "{error}");
    }
}
