//! What an expression can come to, as far as its text tells: `1 + size(x)` is a number whatever `x`
//! is, and what `result.x` is nobody knows before.

use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue, operators};

/// Something that an expression can come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This text.
    Text(String),
    /// Something of this kind, in words.
    Kind(&'static str),
    /// A text, or something that may be one, in words.
    Made(&'static str),
    /// What it looks at decides.
    Unknown,
}

const YES_OR_NO: Outcome = Outcome::Kind("yes or no");
const NUMBER: Outcome = Outcome::Kind("a number");

/// What an expression can come to.
pub(super) fn outcomes(part: &IdedExpr) -> Vec<Outcome> {
    match &part.expr {
        Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::CONDITIONAL, [_, yes, no]) => {
                let mut both = outcomes(yes);
                both.extend(outcomes(no));
                both
            }
            _ => vec![called(call)],
        },
        Expr::Literal(literal) => vec![written(literal)],
        Expr::List(_) => vec![Outcome::Kind("a list")],
        Expr::Map(_) => vec![Outcome::Kind("a map")],
        Expr::Select(select) if select.test => vec![YES_OR_NO],
        Expr::Comprehension(over) => collected(over),
        Expr::Select(_) | Expr::Ident(_) | Expr::Struct(_) | Expr::Unspecified => {
            vec![Outcome::Unknown]
        }
    }
}

/// What must be yes or no and is something else: the whole, or what `&&`, `||` and `!` join.
pub(super) fn not_yes_or_no(part: &IdedExpr) -> Option<String> {
    if let Expr::Call(call) = &part.expr {
        let joined = match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR | operators::LOGICAL_NOT, all) => all,
            (operators::CONDITIONAL, [_, branches @ ..]) => branches,
            _ => &[],
        };
        if !joined.is_empty() {
            let inside = joined.iter().find_map(not_yes_or_no)?;
            return Some(match inside.strip_prefix("it comes") {
                Some(rest) => format!("a part of it comes{rest}"),
                None => inside,
            });
        }
    }
    let other = outcomes(part).into_iter().find_map(|outcome| match outcome {
        Outcome::Text(_) => Some("a text"),
        Outcome::Kind(kind) => (Outcome::Kind(kind) != YES_OR_NO).then_some(kind),
        Outcome::Made(kind) => Some(kind),
        Outcome::Unknown => None,
    })?;
    Some(format!("it comes to {other}"))
}

fn called(call: &CallExpr) -> Outcome {
    match call.func_name.as_str() {
        operators::LOGICAL_AND
        | operators::LOGICAL_OR
        | operators::LOGICAL_NOT
        | operators::EQUALS
        | operators::NOT_EQUALS
        | operators::LESS
        | operators::LESS_EQUALS
        | operators::GREATER
        | operators::GREATER_EQUALS
        | operators::IN
        | "contains"
        | "startsWith"
        | "endsWith" => YES_OR_NO,
        operators::SUBSTRACT
        | operators::MULTIPLY
        | operators::DIVIDE
        | operators::MODULO
        | operators::NEGATE
        | "size"
        | "int"
        | "double" => NUMBER,
        "string" => Outcome::Made("a text"),
        operators::ADD => Outcome::Made("a sum"),
        _ => Outcome::Unknown,
    }
}

fn written(literal: &LiteralValue) -> Outcome {
    match literal {
        LiteralValue::String(text) => Outcome::Text(text.inner().to_owned()),
        LiteralValue::Boolean(_) => YES_OR_NO,
        LiteralValue::Int(_) | LiteralValue::UInt(_) | LiteralValue::Double(_) => NUMBER,
        LiteralValue::Bytes(_) => Outcome::Kind("bytes"),
        LiteralValue::Null => Outcome::Kind("nothing"),
    }
}

/// `filter` and `map` hand out what they collected, `exists` and `all` the last answer.
fn collected(over: &ComprehensionExpr) -> Vec<Outcome> {
    match &over.result.expr {
        Expr::Ident(name) if *name == over.accu_var => outcomes(&over.accu_init),
        _ => outcomes(&over.result),
    }
}
