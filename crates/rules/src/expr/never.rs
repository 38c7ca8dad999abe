//! Conditions that cannot hold, as far as that can be told: `x == 1 && x == 2`, `x > 5 && x < 3`.

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators};

/// Why a condition cannot hold, if that can be told.
pub(super) fn never(condition: &IdedExpr) -> Option<String> {
    let mut facts = Facts::default();
    facts.all_of(condition);
    facts.why
}

/// What a condition asks of one name.
struct Asked {
    name: String,
    equal: Option<Bound>,
    above: Option<(f64, bool)>,
    below: Option<(f64, bool)>,
}

#[derive(Clone, PartialEq)]
enum Bound {
    Number(f64),
    Text(String),
    YesOrNo(bool),
}

#[derive(Default)]
struct Facts {
    asked: Vec<Asked>,
    why: Option<String>,
}

impl Facts {
    /// Takes in what must hold together.
    fn all_of(&mut self, part: &IdedExpr) {
        match &part.expr {
            Expr::Literal(LiteralValue::Boolean(said)) if !*said.inner() => {
                self.why = Some("it says false".to_owned());
            }
            Expr::Call(call) if call.func_name == operators::LOGICAL_AND => {
                call.args.iter().for_each(|arg| self.all_of(arg));
            }
            Expr::Call(call) => self.comparison(call),
            _ => (),
        }
    }

    fn comparison(&mut self, call: &CallExpr) {
        let [left, right] = call.args.as_slice() else { return };
        let compared = match (spelled(left), literal(right), literal(left), spelled(right)) {
            (Some(name), Some(bound), _, _) => (name, call.func_name.as_str(), bound),
            (_, _, Some(bound), Some(name)) => (name, turned(&call.func_name), bound),
            _ => return,
        };
        self.asks(compared.0, compared.1, compared.2);
    }

    fn asks(&mut self, name: String, operator: &str, bound: Bound) {
        let at = self.asked.iter().position(|asked| asked.name == name).unwrap_or_else(|| {
            let asked = Asked { name: name.clone(), equal: None, above: None, below: None };
            self.asked.push(asked);
            self.asked.len() - 1
        });
        let Some(asked) = self.asked.get_mut(at) else { return };
        match (operator, bound) {
            (operators::EQUALS, bound) => {
                if asked.equal.as_ref().is_some_and(|known| *known != bound) {
                    self.why = Some(format!("{name} cannot be two things at once"));
                    return;
                }
                asked.equal = Some(bound);
            }
            (operators::NOT_EQUALS, bound) if asked.equal == Some(bound.clone()) => {
                self.why = Some(format!("{name} cannot be and not be the same"));
            }
            (operators::GREATER, Bound::Number(n)) => asked.least(n, true),
            (operators::GREATER_EQUALS, Bound::Number(n)) => asked.least(n, false),
            (operators::LESS, Bound::Number(n)) => asked.most(n, true),
            (operators::LESS_EQUALS, Bound::Number(n)) => asked.most(n, false),
            _ => (),
        }
        if self.asked.get(at).is_some_and(Asked::is_empty) {
            self.why = Some(format!("no number is what it asks of {name}"));
        }
    }
}

impl Asked {
    fn least(&mut self, n: f64, strict: bool) {
        if self.above.is_none_or(|(known, _)| n >= known) {
            self.above = Some((n, strict));
        }
    }

    fn most(&mut self, n: f64, strict: bool) {
        if self.below.is_none_or(|(known, _)| n <= known) {
            self.below = Some((n, strict));
        }
    }

    fn is_empty(&self) -> bool {
        let over = |n: f64| self.above.is_some_and(|(m, strict)| n < m || (strict && n == m));
        let under = |n: f64| self.below.is_some_and(|(m, strict)| n > m || (strict && n == m));
        match (&self.equal, self.above, self.below) {
            (Some(Bound::Number(n)), _, _) => over(*n) || under(*n),
            (_, Some((least, strict)), Some((most, also))) => {
                least > most || (least == most && (strict || also))
            }
            _ => false,
        }
    }
}

/// A name, or the size of one, as it is written.
fn spelled(part: &IdedExpr) -> Option<String> {
    match &part.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => {
            Some(format!("{}.{}", spelled(&select.operand)?, select.field))
        }
        Expr::Call(call) if call.func_name == "size" => {
            let of = call.target.as_deref().or_else(|| call.args.first())?;
            Some(format!("size({})", spelled(of)?))
        }
        _ => None,
    }
}

fn literal(part: &IdedExpr) -> Option<Bound> {
    let Expr::Literal(literal) = &part.expr else { return None };
    match literal {
        // Near enough: what is not the same as a float is not the same.
        LiteralValue::Int(n) => Some(Bound::Number(*n.inner() as f64)),
        LiteralValue::UInt(n) => Some(Bound::Number(*n.inner() as f64)),
        LiteralValue::Double(n) => Some(Bound::Number(*n.inner())),
        LiteralValue::String(text) => Some(Bound::Text(text.inner().to_owned())),
        LiteralValue::Boolean(said) => Some(Bound::YesOrNo(*said.inner())),
        LiteralValue::Bytes(_) | LiteralValue::Null => None,
    }
}

/// The operator, read from the other side.
fn turned(operator: &str) -> &str {
    match operator {
        operators::LESS => operators::GREATER,
        operators::LESS_EQUALS => operators::GREATER_EQUALS,
        operators::GREATER => operators::LESS,
        operators::GREATER_EQUALS => operators::LESS_EQUALS,
        same => same,
    }
}
