//! What the readers of JSON and of numbers say, in words that a caller can use.

/// What they say, and what is said instead. The first that is found is put in the other's place.
const WORDS: [(&str, &str); 12] = [
    ("invalid digit found in string", "not a number; expected a whole number from 0 on"),
    ("cannot parse integer from empty string", "nothing; expected a whole number from 0 on"),
    ("number too large to fit in target type", "a number that is too large"),
    ("number too small to fit in target type", "a number that is too small"),
    ("provided string was not `true` or `false`", "neither true nor false"),
    ("recursion limit exceeded", "JSON that is nested too deep"),
    ("expected usize", "expected a whole number from 0 on"),
    ("expected u64", "expected a whole number from 0 on"),
    ("expected u32", "expected a whole number from 0 on"),
    ("expected u8", "expected a whole number from 0 to 255"),
    ("expected f64", "expected a number"),
    ("expected i64", "expected a whole number"),
];

/// The same sentence without words that only programmers know.
pub(super) fn plain(said: &str) -> String {
    let known = WORDS.iter().find(|(theirs, _)| said.contains(theirs));
    known.map_or_else(|| said.to_owned(), |(theirs, ours)| said.replacen(theirs, ours, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_for_people() {
        let number = "abc".parse::<usize>().expect_err("no number").to_string();
        assert_eq!(plain(&number), "not a number; expected a whole number from 0 on");
        let switch = "on".parse::<bool>().expect_err("no switch").to_string();
        assert_eq!(plain(&switch), "neither true nor false");
        let json = serde_json::from_str::<u64>("-1").expect_err("too small").to_string();
        let told = "invalid value: integer `-1`, expected a whole number from 0 on";
        assert!(plain(&json).starts_with(told), "{json}");
        let deep = serde_json::from_str::<serde_json::Value>(&"[".repeat(1000));
        let deep = plain(&deep.expect_err("too deep").to_string());
        assert!(deep.starts_with("JSON that is nested too deep at line 1"), "{deep}");
        assert_eq!(plain("missing field `title`"), "missing field `title`");
    }
}
