//! What an approval rule uses, and how long it can take.
//!
//! All of it is counted before it ever runs: the most steps that it can take, with every list as
//! long as it may be.

use std::collections::BTreeSet;

use baton_protocol::limits::{RULE_ADDITIONS_MAX, RULE_LIST_MAX, RULE_STEPS_MAX};
use cel::Program;
use cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, operators};

use super::RuleError;
use super::facts::{KNOWN, is_list, is_text};
use crate::language::within;

/// Steps that working on a whole text counts for.
const TEXT_STEPS: usize = 64;

/// Which facts a rule uses.
pub(super) type Uses = BTreeSet<&'static str>;

/// Tells which facts are used and how many steps it takes at worst, and refuses too many.
pub(super) fn check(program: &Program) -> Result<(Uses, usize), RuleError> {
    let mut count = Count { uses: Uses::new(), own: Vec::new(), additions: 0 };
    let steps = count.steps(program.expression());
    within("steps at worst", steps, RULE_STEPS_MAX)?;
    within("additions", count.additions, RULE_ADDITIONS_MAX)?;
    Ok((count.uses, steps))
}

struct Count<'a> {
    uses: Uses,
    /// The names that the comprehension around us gives to what it goes over.
    own: Vec<&'a str>,
    additions: usize,
}

impl<'a> Count<'a> {
    /// The most steps that this part takes.
    fn steps(&mut self, part: &'a IdedExpr) -> usize {
        match &part.expr {
            Expr::Unspecified | Expr::Literal(_) => 1,
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => 1 + self.steps(&select.operand),
            Expr::Call(call) => {
                self.additions += usize::from(call.func_name == operators::ADD);
                let target = call.target.as_deref().into_iter();
                1 + self.all(target.chain(&call.args))
            }
            Expr::List(list) => 1 + self.all(list.elements.iter()),
            Expr::Map(map) => 1 + self.entries(&map.entries),
            Expr::Struct(made) => 1 + self.entries(&made.entries),
            Expr::Comprehension(over) => self.comprehension(over),
        }
    }

    fn all(&mut self, parts: impl Iterator<Item = &'a IdedExpr>) -> usize {
        parts.fold(0_usize, |steps, part| steps.saturating_add(self.steps(part)))
    }

    fn entries(&mut self, entries: &'a [IdedEntryExpr]) -> usize {
        entries.iter().fold(0_usize, |steps, entry| {
            steps.saturating_add(match &entry.expr {
                EntryExpr::MapEntry(entry) => {
                    self.steps(&entry.key).saturating_add(self.steps(&entry.value))
                }
                EntryExpr::StructField(field) => self.steps(&field.value),
            })
        })
    }

    fn name(&mut self, name: &str) -> usize {
        if self.own.contains(&name) {
            return 1;
        }
        let Some(fact) = KNOWN.into_iter().find(|fact| *fact == name) else { return 1 };
        self.uses.insert(fact);
        match (is_list(fact), is_text(fact)) {
            (true, _) => RULE_LIST_MAX,
            (false, true) => TEXT_STEPS,
            (false, false) => 1,
        }
    }

    fn comprehension(&mut self, over: &'a ComprehensionExpr) -> usize {
        let range = self.steps(&over.iter_range);
        self.own = vec![&over.iter_var, &over.accu_var];
        self.own.extend(over.iter_var2.as_deref());
        let parts = [&over.accu_init, &over.loop_cond, &over.loop_step, &over.result];
        let each = self.all(parts.into_iter());
        self.own.clear();
        let rounds = RULE_LIST_MAX.max(range);
        range.saturating_add(each.saturating_mul(rounds))
    }
}
