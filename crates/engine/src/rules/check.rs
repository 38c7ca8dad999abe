//! A look at a rule once it is parsed: does it name only what there is, and can it take long?
//!
//! Comprehensions inside each other multiply, and one over the result of another grows what it
//! works on, so there is only one level of them. What is left is counted before it ever runs: the
//! most steps that it can take, with every list as long as it may be.

use std::collections::BTreeSet;

use baton_protocol::limits::{RULE_ADDITIONS_MAX, RULE_LIST_MAX, RULE_STEPS_MAX};
use cel::Program;
use cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, operators};

use super::facts::{KNOWN, is_list, is_text};
use super::scan::place;
use super::{Place, RuleError};

/// Functions that rules may call, beside operators.
const FUNCTIONS: [&str; 7] =
    ["size", "contains", "startsWith", "endsWith", "int", "double", "string"];
/// What is written like a function, and read as more than one.
const MACROS: [&str; 5] = ["has", "exists", "exists_one", "all", "filter"];
/// Steps that working on a whole text counts for.
const TEXT_STEPS: usize = 64;

/// Which facts a rule uses.
pub(super) type Uses = BTreeSet<&'static str>;

/// Refuses what rules do without, and tells which facts are used and how many steps it takes at
/// worst.
pub(super) fn check(program: &Program) -> Result<(Uses, usize), RuleError> {
    let mut look = Look { program, uses: Uses::new(), own: Vec::new(), additions: 0 };
    let steps = look.steps(program.expression())?;
    within("steps at worst", steps, RULE_STEPS_MAX)?;
    within("additions", look.additions, RULE_ADDITIONS_MAX)?;
    Ok((look.uses, steps))
}

fn within(what: &'static str, found: usize, most: usize) -> Result<(), RuleError> {
    if found > most { Err(RuleError::TooMuch { what, found, most }) } else { Ok(()) }
}

struct Look<'a> {
    program: &'a Program,
    uses: Uses,
    /// The names that the comprehension around us gives to what it goes over.
    own: Vec<&'a str>,
    additions: usize,
}

impl<'a> Look<'a> {
    /// The most steps that this part takes.
    fn steps(&mut self, part: &'a IdedExpr) -> Result<usize, RuleError> {
        Ok(match &part.expr {
            Expr::Unspecified | Expr::Literal(_) => 1,
            Expr::Ident(name) => self.name(part, name)?,
            Expr::Select(select) => {
                // Facts have no fields; a name with dots in it is no fact either.
                if !select.test {
                    let why = "facts have no fields; compare them as they are";
                    return Err(RuleError::NotAllowed { at: self.at(part), why });
                }
                1 + self.steps(&select.operand)?
            }
            Expr::Call(call) => {
                self.function(part, &call.func_name)?;
                let target = call.target.as_deref().into_iter();
                1 + self.all(target.chain(&call.args))?
            }
            Expr::List(list) => 1 + self.all(list.elements.iter())?,
            Expr::Map(map) => 1 + self.entries(&map.entries)?,
            Expr::Struct(_) => {
                let why = "there are no types to make; rules compare facts";
                return Err(RuleError::NotAllowed { at: self.at(part), why });
            }
            Expr::Comprehension(over) => self.comprehension(part, over)?,
        })
    }

    fn all(&mut self, parts: impl Iterator<Item = &'a IdedExpr>) -> Result<usize, RuleError> {
        let mut steps = 0_usize;
        for part in parts {
            steps = steps.saturating_add(self.steps(part)?);
        }
        Ok(steps)
    }

    fn entries(&mut self, entries: &'a [IdedEntryExpr]) -> Result<usize, RuleError> {
        let mut steps = 0_usize;
        for entry in entries {
            steps = steps.saturating_add(match &entry.expr {
                EntryExpr::MapEntry(entry) => {
                    self.steps(&entry.key)?.saturating_add(self.steps(&entry.value)?)
                }
                EntryExpr::StructField(field) => self.steps(&field.value)?,
            });
        }
        Ok(steps)
    }

    fn name(&mut self, part: &IdedExpr, name: &str) -> Result<usize, RuleError> {
        if self.own.contains(&name) {
            return Ok(1);
        }
        let Some(fact) = KNOWN.into_iter().find(|fact| *fact == name) else {
            let known = KNOWN.join(", ");
            let (at, name) = (self.at(part), super::cut(name));
            return Err(RuleError::Unknown { at, what: "fact", name, known });
        };
        self.uses.insert(fact);
        Ok(match (is_list(fact), is_text(fact)) {
            (true, _) => RULE_LIST_MAX,
            (false, true) => TEXT_STEPS,
            (false, false) => 1,
        })
    }

    fn function(&mut self, part: &IdedExpr, name: &str) -> Result<(), RuleError> {
        self.additions += usize::from(name == operators::ADD);
        // Operators have names that nobody can write.
        let operator = name.starts_with(['_', '@', '!', '-']);
        if operator || FUNCTIONS.contains(&name) {
            return Ok(());
        }
        if name == operators::MAP {
            let why = "rules do without map; `exists`, `all` and `filter` go over a list";
            return Err(RuleError::NotAllowed { at: self.at(part), why });
        }
        let known = FUNCTIONS.into_iter().chain(MACROS).collect::<Vec<_>>().join(", ");
        let (at, name) = (self.at(part), super::cut(name));
        Err(RuleError::Unknown { at, what: "function", name, known })
    }

    fn comprehension(
        &mut self,
        part: &'a IdedExpr,
        over: &'a ComprehensionExpr,
    ) -> Result<usize, RuleError> {
        let at = self.at(part);
        let nested = RuleError::NotAllowed {
            at,
            why: "one list is gone over inside or after another; write them side by side",
        };
        if !self.own.is_empty() || has_comprehension(&over.iter_range) {
            return Err(nested);
        }
        if is_map(over) {
            let why = "rules do without map; `exists`, `all` and `filter` go over a list";
            return Err(RuleError::NotAllowed { at, why });
        }
        let range = self.steps(&over.iter_range)?;
        self.own = vec![&over.iter_var, &over.accu_var];
        self.own.extend(over.iter_var2.as_deref());
        let parts = [&over.accu_init, &over.loop_cond, &over.loop_step, &over.result];
        let each = self.all(parts.into_iter());
        self.own.clear();
        let rounds = RULE_LIST_MAX.max(range);
        Ok(range.saturating_add(each?.saturating_mul(rounds)))
    }

    fn at(&self, part: &IdedExpr) -> Place {
        let info = self.program.source_info();
        let (start, _) = info.offset_for(part.id).unwrap_or_default();
        place(&info.source, usize::try_from(start).unwrap_or(0))
    }
}

fn has_comprehension(part: &IdedExpr) -> bool {
    match &part.expr {
        Expr::Comprehension(_) => true,
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) => false,
        Expr::Select(select) => has_comprehension(&select.operand),
        Expr::Call(call) => {
            let mut parts = call.target.as_deref().into_iter().chain(&call.args);
            parts.any(has_comprehension)
        }
        Expr::List(list) => list.elements.iter().any(has_comprehension),
        Expr::Map(map) => map.entries.iter().any(entry_has),
        Expr::Struct(made) => made.entries.iter().any(entry_has),
    }
}

fn entry_has(entry: &IdedEntryExpr) -> bool {
    match &entry.expr {
        EntryExpr::MapEntry(entry) => {
            has_comprehension(&entry.key) || has_comprehension(&entry.value)
        }
        EntryExpr::StructField(field) => has_comprehension(&field.value),
    }
}

/// Whether it collects something else than what it goes over: `filter` keeps, `map` makes.
fn is_map(over: &ComprehensionExpr) -> bool {
    fn makes(part: &IdedExpr, kept: &str) -> bool {
        match &part.expr {
            Expr::List(list) => {
                !list.elements.iter().all(|one| one.expr == Expr::Ident(kept.to_owned()))
            }
            Expr::Call(call) => match call.func_name.as_str() {
                operators::ADD => call.args.iter().any(|arg| makes(arg, kept)),
                operators::CONDITIONAL => call.args.iter().skip(1).any(|arg| makes(arg, kept)),
                _ => false,
            },
            _ => false,
        }
    }
    matches!(over.accu_init.expr, Expr::List(_)) && makes(&over.loop_step, &over.iter_var)
}
