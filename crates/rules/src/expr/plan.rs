//! How much work an expression is at worst, with what it looks at this time.
//!
//! A plan has the form of the expression, without what it says: what it names, what it goes over,
//! what it puts together. With the sizes of what it names it tells the most steps that judging
//! takes, at a small part of the cost. An expression that would take too many is never run.

use baton_protocol::limits::EXPRESSION_STEPS_MAX;
use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, LiteralValue, operators,
};

use super::convert::Size;
use super::paths::{Path, Paths};
use super::{ExprError, KNOWN};

/// What it takes to judge one part.
pub(super) enum Plan {
    /// A value that is written down.
    Known(Size),
    /// What is at one of the paths.
    Path(usize),
    /// A name that a comprehension gives, counted from the outermost.
    Own(usize),
    /// A field or an entry of something.
    Pick(Vec<Plan>),
    /// Looks at all of something, and comes to little: `==`, `size`, `in`.
    Look(Vec<Plan>),
    /// Looks at yes or no and comes to one of its parts: `&&`, `a ? b : c`.
    Choose(Vec<Plan>),
    /// Puts its parts together: `+`, `string`.
    Join(Vec<Plan>),
    /// A list or a map of its parts.
    Hold(Vec<Plan>),
    /// Goes over a list.
    Over(Box<Over>),
}

/// A comprehension.
pub(super) struct Over {
    range: Plan,
    /// Names that it gives: one or two for what it goes over, and one for what it collects.
    names: usize,
    /// Whether it collects a list.
    collects: bool,
    start: Plan,
    each: Vec<Plan>,
    step: Plan,
    end: Plan,
}

/// The plan of an expression, and what it names.
pub(super) fn of(expression: &IdedExpr) -> (Plan, Paths) {
    let mut making = Making { paths: Paths::default(), own: Vec::new() };
    let plan = making.part(expression);
    (plan, making.paths)
}

struct Making<'a> {
    paths: Paths,
    own: Vec<&'a str>,
}

impl<'a> Making<'a> {
    fn part(&mut self, part: &'a IdedExpr) -> Plan {
        if let Some(path) = Path::of(part)
            && KNOWN.contains(&path.root())
        {
            return Plan::Path(self.paths.value(path));
        }
        match &part.expr {
            Expr::Unspecified => Plan::Known(Size::least()),
            Expr::Literal(literal) => Plan::Known(size_of(literal)),
            Expr::Ident(name) => match self.own.iter().rposition(|own| own == name) {
                Some(at) => Plan::Own(at),
                None => Plan::Known(Size::least()),
            },
            Expr::Select(select) => match Path::of(&select.operand) {
                Some(path) if select.test && KNOWN.contains(&path.root()) => {
                    self.paths.test(&path, &select.field);
                    Plan::Known(Size::least())
                }
                _ => Plan::Pick(vec![self.part(&select.operand)]),
            },
            Expr::Call(call) => self.call(call),
            Expr::List(list) => Plan::Hold(self.all(list.elements.iter())),
            Expr::Map(map) => self.entries(&map.entries),
            Expr::Struct(made) => self.entries(&made.entries),
            Expr::Comprehension(over) => Plan::Over(Box::new(self.over(over))),
        }
    }

    fn all(&mut self, parts: impl Iterator<Item = &'a IdedExpr>) -> Vec<Plan> {
        parts.map(|part| self.part(part)).collect()
    }

    fn call(&mut self, call: &'a CallExpr) -> Plan {
        let parts = self.all(call.target.as_deref().into_iter().chain(&call.args));
        match call.func_name.as_str() {
            operators::LOGICAL_AND
            | operators::LOGICAL_OR
            | operators::LOGICAL_NOT
            | operators::CONDITIONAL => Plan::Choose(parts),
            operators::INDEX | operators::OPT_INDEX | operators::OPT_SELECT => Plan::Pick(parts),
            operators::ADD | "string" => Plan::Join(parts),
            _ => Plan::Look(parts),
        }
    }

    fn entries(&mut self, entries: &'a [IdedEntryExpr]) -> Plan {
        let mut parts = Vec::with_capacity(entries.len());
        for entry in entries {
            match &entry.expr {
                EntryExpr::MapEntry(entry) => {
                    parts.extend([self.part(&entry.key), self.part(&entry.value)]);
                }
                EntryExpr::StructField(field) => parts.push(self.part(&field.value)),
            }
        }
        Plan::Hold(parts)
    }

    fn over(&mut self, over: &'a ComprehensionExpr) -> Over {
        let range = self.part(&over.iter_range);
        let start = self.part(&over.accu_init);
        let outer = self.own.len();
        self.own.push(&over.iter_var);
        self.own.extend(over.iter_var2.as_deref());
        self.own.push(&over.accu_var);
        let names = self.own.len() - outer;
        let each = vec![self.part(&over.loop_cond)];
        let step = self.part(&over.loop_step);
        let end = self.part(&over.result);
        self.own.truncate(outer);
        let collects = matches!(over.accu_init.expr, Expr::List(_) | Expr::Map(_));
        Over { range, names, collects, start, each, step, end }
    }
}

fn size_of(literal: &LiteralValue) -> Size {
    match literal {
        LiteralValue::String(text) => Size::text(text.inner().len()),
        LiteralValue::Bytes(bytes) => Size::text(bytes.inner().len()),
        LiteralValue::Boolean(_)
        | LiteralValue::Double(_)
        | LiteralValue::Int(_)
        | LiteralValue::Null
        | LiteralValue::UInt(_) => Size::least(),
    }
}

impl Plan {
    /// Takes the steps of this from those that are left, or refuses.
    pub(super) fn within(&self, sizes: &[Size], left: &mut usize) -> Result<(), ExprError> {
        let mut reckoning = Reckoning { sizes, own: Vec::new(), steps: 0 };
        let made = reckoning.made(self);
        let found = reckoning.steps.saturating_add(made.whole);
        if found > EXPRESSION_STEPS_MAX || found > *left {
            let most = EXPRESSION_STEPS_MAX.min(*left);
            return Err(ExprError::TooMuch { what: "steps at worst", found, most });
        }
        *left -= found;
        Ok(())
    }
}

struct Reckoning<'a> {
    sizes: &'a [Size],
    own: Vec<Size>,
    steps: usize,
}

impl Reckoning<'_> {
    fn takes(&mut self, steps: usize) {
        self.steps = self.steps.saturating_add(steps);
    }

    /// The size of what a part makes.
    fn made(&mut self, plan: &Plan) -> Size {
        self.takes(1);
        match plan {
            Plan::Known(size) => *size,
            Plan::Path(at) => self.sizes.get(*at).copied().unwrap_or(Size::least()),
            Plan::Own(at) => self.own.get(*at).copied().unwrap_or(Size::least()),
            Plan::Pick(parts) => {
                let from = parts.first().map_or(Size::least(), |part| self.made(part));
                for part in parts.iter().skip(1) {
                    self.made(part);
                }
                from
            }
            Plan::Choose(parts) => parts.iter().fold(Size::least(), |largest, part| {
                let made = self.made(part);
                Size {
                    whole: largest.whole.max(made.whole),
                    len: largest.len.max(made.len),
                    entry: largest.entry.max(made.entry),
                }
            }),
            Plan::Look(parts) => {
                self.joined(parts);
                Size::least()
            }
            Plan::Join(parts) => self.joined(parts),
            Plan::Hold(parts) => {
                let held = self.joined(parts);
                Size { len: held.len.max(parts.len()), entry: held.entry.max(held.whole), ..held }
            }
            Plan::Over(over) => self.over(over),
        }
    }

    /// All parts together, each of which is looked at or copied as a whole.
    fn joined(&mut self, parts: &[Plan]) -> Size {
        let mut sum = Size { whole: 1, len: 0, entry: 0 };
        for part in parts {
            let made = self.made(part);
            sum.whole = sum.whole.saturating_add(made.whole);
            sum.len = sum.len.saturating_add(made.len);
            sum.entry = sum.entry.max(made.entry);
        }
        self.takes(sum.whole);
        sum
    }

    fn over(&mut self, over: &Over) -> Size {
        let range = self.made(&over.range);
        let start = self.made(&over.start);
        let before = self.steps;
        self.steps = 0;
        let entry = Size { whole: range.entry.max(1), ..range };
        let outer = self.own.len();
        self.own.extend(std::iter::repeat_n(entry, over.names - 1));
        self.own.push(start);
        for part in &over.each {
            self.made(part);
        }
        let step = self.made(&over.step);
        // What is gone over is copied entry by entry.
        let round = self.steps.saturating_add(entry.whole);
        self.steps = before.saturating_add(round.saturating_mul(range.len));
        let collected = Size {
            whole: step.whole.saturating_mul(range.len).saturating_add(1),
            len: step.len.max(range.len),
            entry: step.entry.max(step.whole),
        };
        if let Some(accumulated) = self.own.last_mut() {
            *accumulated = if over.collects { collected } else { step };
        }
        let end = self.made(&over.end);
        self.own.truncate(outer);
        end
    }
}
