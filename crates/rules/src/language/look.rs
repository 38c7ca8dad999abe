//! A look at an expression once it is parsed: does it say only what its dialect knows?
//!
//! Comprehensions inside each other multiply, and one over the result of another grows what it
//! works on, so both count as nested.

use cel::Program;
use cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, operators};

use super::{Dialect, ExprError, FUNCTIONS, Place, cut, place};

/// Refuses what the dialect does without.
pub(crate) fn look(program: &Program, dialect: &Dialect) -> Result<(), ExprError> {
    let mut look = Look { program, dialect, own: Vec::new() };
    look.part(program.expression()).map(|_| ())
}

struct Look<'a> {
    program: &'a Program,
    dialect: &'a Dialect,
    /// The names that the comprehensions around us give to what they go over.
    own: Vec<&'a str>,
}

impl<'a> Look<'a> {
    /// How deep the comprehensions in this part are nested.
    fn part(&mut self, part: &'a IdedExpr) -> Result<usize, ExprError> {
        match &part.expr {
            Expr::Unspecified | Expr::Literal(_) => Ok(0),
            Expr::Ident(name) => self.name(part, name).map(|()| 0),
            Expr::Select(select) => {
                if !select.test && !self.dialect.fields {
                    // Facts have no fields; a name with dots in it is no fact either.
                    let why = "facts have no fields; compare them as they are";
                    return Err(ExprError::NotAllowed { at: self.at(part), why });
                }
                self.part(&select.operand)
            }
            Expr::Call(call) => {
                self.function(part, &call.func_name)?;
                self.all(call.target.as_deref().into_iter().chain(&call.args))
            }
            Expr::List(list) => self.all(list.elements.iter()),
            Expr::Map(map) => self.entries(&map.entries),
            Expr::Struct(_) => {
                let why = "there are no types to make; rules compare facts";
                Err(ExprError::NotAllowed { at: self.at(part), why })
            }
            Expr::Comprehension(over) => self.comprehension(part, over),
        }
    }

    fn all(&mut self, parts: impl Iterator<Item = &'a IdedExpr>) -> Result<usize, ExprError> {
        let mut deepest = 0;
        for part in parts {
            deepest = deepest.max(self.part(part)?);
        }
        Ok(deepest)
    }

    fn entries(&mut self, entries: &'a [IdedEntryExpr]) -> Result<usize, ExprError> {
        let mut deepest = 0;
        for entry in entries {
            deepest = deepest.max(match &entry.expr {
                EntryExpr::MapEntry(entry) => self.part(&entry.key)?.max(self.part(&entry.value)?),
                EntryExpr::StructField(field) => self.part(&field.value)?,
            });
        }
        Ok(deepest)
    }

    fn name(&self, part: &IdedExpr, name: &str) -> Result<(), ExprError> {
        if self.own.contains(&name) || self.dialect.names.contains(&name) {
            return Ok(());
        }
        let known = self.dialect.names.join(", ");
        let (at, what, name) = (self.at(part), self.dialect.what, cut(name));
        Err(ExprError::Unknown { at, what, name, known })
    }

    fn function(&self, part: &IdedExpr, name: &str) -> Result<(), ExprError> {
        // Operators have names that nobody can write.
        let operator = name.starts_with(['_', '@', '!', '-']);
        if operator || FUNCTIONS.contains(&name) {
            return Ok(());
        }
        if name == operators::MAP {
            return Err(self.without_map(part));
        }
        let macros = self.dialect.macros.iter().copied();
        let known = FUNCTIONS.into_iter().chain(macros).collect::<Vec<_>>().join(", ");
        let (at, name) = (self.at(part), cut(name));
        Err(ExprError::Unknown { at, what: "function", name, known })
    }

    fn comprehension(
        &mut self,
        part: &'a IdedExpr,
        over: &'a ComprehensionExpr,
    ) -> Result<usize, ExprError> {
        if is_map(over) && !self.dialect.macros.contains(&operators::MAP) {
            return Err(self.without_map(part));
        }
        let range = self.part(&over.iter_range)?;
        let own = [Some(over.iter_var.as_str()), over.iter_var2.as_deref()];
        if own.into_iter().flatten().any(|own| self.dialect.names.contains(&own)) {
            let why = "this name is taken; call what you go over something else";
            return Err(ExprError::NotAllowed { at: self.at(part), why });
        }
        let outer = self.own.len();
        self.own.extend(own.into_iter().flatten());
        self.own.push(&over.accu_var);
        let parts = [&over.accu_init, &over.loop_cond, &over.loop_step, &over.result];
        let inside = self.all(parts.into_iter());
        self.own.truncate(outer);
        let deep = 1 + range.max(inside?);
        if deep > self.dialect.nested {
            let why = match self.dialect.nested {
                1 => "one list is gone over inside or after another; write them side by side",
                _ => "lists are gone over too deep inside or after each other; two levels are most",
            };
            return Err(ExprError::NotAllowed { at: self.at(part), why });
        }
        Ok(deep)
    }

    fn without_map(&self, part: &IdedExpr) -> ExprError {
        let why = "rules do without map; `exists`, `all` and `filter` go over a list";
        ExprError::NotAllowed { at: self.at(part), why }
    }

    fn at(&self, part: &IdedExpr) -> Place {
        let info = self.program.source_info();
        let (start, _) = info.offset_for(part.id).unwrap_or_default();
        place(&info.source, usize::try_from(start).unwrap_or(0))
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
