//! What tokens cost. Amounts are whole millionths, so that sums are exact; the currency is the
//! operator's.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::NAME_BYTES_MAX;

const MICROS: u64 = 1_000_000;
/// The largest amount, in millionths: what is more cannot be read back, so nothing is.
const MICROS_MAX: u64 = 1_000_000_000 * MICROS;

/// An amount of money in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Money(u64);

/// Something that is no amount of money.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an amount; expected a number from 0 to 1000000000, such as 2.5")]
pub struct MoneyError {
    text: String,
}

impl Money {
    /// So many millionths, or the largest amount if that is less.
    pub fn from_micros(micros: u64) -> Self {
        Self(micros.min(MICROS_MAX))
    }

    /// How many millionths it is.
    pub fn as_micros(self) -> u64 {
        self.0
    }

    /// Both together, or the largest amount if that is less.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self::from_micros(self.0.saturating_add(other.0))
    }

    /// What is left of it.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl TryFrom<f64> for Money {
    type Error = MoneyError;

    fn try_from(amount: f64) -> Result<Self, MoneyError> {
        if !(0.0..=1e9).contains(&amount) {
            return Err(MoneyError { text: amount.to_string() });
        }
        // The range above makes it fit.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let micros = (amount * 1e6).round() as u64;
        Ok(Self(micros))
    }
}

impl From<Money> for f64 {
    fn from(money: Money) -> Self {
        // Exact up to nine thousand million, which is above what there is.
        #[expect(clippy::cast_precision_loss)]
        let micros = money.0 as f64;
        micros / 1e6
    }
}

impl FromStr for Money {
    type Err = MoneyError;

    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let amount: f64 = text.parse().map_err(|_| MoneyError { text: text.to_owned() })?;
        amount.try_into()
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:06}", self.0 / MICROS, self.0 % MICROS);
        // Two digits at least, as people write amounts.
        let cut = text.trim_end_matches('0').len().max(text.len() - 4);
        f.pad(&text[..cut])
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Money {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Money".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "number", "minimum": 0, "maximum": 1_000_000_000,
            "description": "An amount of money, exact to a millionth."
        })
    }
}

/// The name of a model, as its maker writes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelName(Box<str>);

/// A text that is no name of a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a model's name; expected 1 to {NAME_BYTES_MAX} letters, digits and `-_.:/@`")]
pub struct ModelNameError;

impl FromStr for ModelName {
    type Err = ModelNameError;

    fn from_str(text: &str) -> Result<Self, ModelNameError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.:/@".contains(c);
        match (1..=NAME_BYTES_MAX).contains(&text.len()) && text.chars().all(fits) {
            true => Ok(Self(text.into())),
            false => Err(ModelNameError),
        }
    }
}

impl TryFrom<String> for ModelName {
    type Error = ModelNameError;

    fn try_from(text: String) -> Result<Self, ModelNameError> {
        text.parse()
    }
}

impl From<ModelName> for String {
    fn from(name: ModelName) -> Self {
        name.0.into()
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ModelName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ModelName".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string", "pattern": "^[A-Za-z0-9_.:/@-]{1,64}$"
        })
    }
}

/// What a million tokens of a model cost.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// That it reads.
    pub input: Money,
    /// That it writes.
    pub output: Money,
}

impl Price {
    /// What `tokens` cost, `output` of which were written. If nobody says how many were, all count
    /// as the dearer kind. A part of a millionth counts as one, and what is more than the largest
    /// amount costs that.
    pub fn of(&self, tokens: u64, output: Option<u64>) -> Money {
        let cost = |tokens: u64, price: Money| {
            let whole = u128::from(tokens) * u128::from(price.0);
            u64::try_from(whole.div_ceil(u128::from(MICROS))).unwrap_or(u64::MAX)
        };
        match output {
            Some(output) => {
                let output = output.min(tokens);
                let read = cost(tokens - output, self.input);
                Money::from_micros(read.saturating_add(cost(output, self.output)))
            }
            None => Money::from_micros(cost(tokens, self.input.max(self.output))),
        }
    }
}

/// What a holder used, as it says, and what that costs by the prices of its day.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens.
    pub tokens: u64,
    /// Of which model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// What they cost.
    #[serde(default)]
    pub cost: Money,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_are_exact_to_a_millionth() {
        let money: Money = "2.5".parse().expect("an amount");
        assert_eq!((money.as_micros(), money.to_string().as_str()), (2_500_000, "2.50"));
        assert_eq!(Money::from_micros(1).to_string(), "0.000001");
        assert_eq!(Money::from_micros(12_340_000).to_string(), "12.34");
        for bad in ["-1", "x", "NaN", "1e10", "inf"] {
            assert!(bad.parse::<Money>().is_err(), "{bad}");
        }
        let json = serde_json::to_string(&money).expect("JSON");
        assert_eq!(serde_json::from_str::<Money>(&json).expect("an amount"), money);
    }

    #[test]
    fn what_was_written_costs_more_than_what_was_read() {
        let amount = |text: &str| text.parse::<Money>().expect("an amount");
        let price = Price { input: amount("3"), output: amount("15") };
        assert_eq!(price.of(1_000_000, Some(0)), amount("3"));
        assert_eq!(price.of(1_000_000, Some(500_000)), amount("9"));
        assert_eq!(price.of(1_000_000, None), amount("15"), "nobody says, so all is the dearer");
        assert_eq!(price.of(1, Some(0)).as_micros(), 3);
        assert_eq!(price.of(u64::MAX, None), amount("1e9"), "no overflow");
    }

    proptest! {
        #[test]
        fn whatever_was_used_can_be_read_back(
            tokens: u64,
            output: Option<u64>,
            (input, written) in (0_u64..=MICROS_MAX, 0_u64..=MICROS_MAX),
            more: u64,
        ) {
            let (input, output_price) = (Money::from_micros(input), Money::from_micros(written));
            let cost = Price { input, output: output_price }.of(tokens, output);
            let cost = cost.plus(Money::from_micros(more));
            let usage = Usage { tokens, model: None, cost };
            let json = serde_json::to_string(&usage).expect("JSON");
            let read = serde_json::from_str::<Usage>(&json);
            prop_assert_eq!(read.map_err(|error| error.to_string()), Ok(usage));
        }
    }
}
