//! Questions about definitions.

use baton_protocol::definition::{Definition, DefinitionId};
use baton_protocol::refusal::{Refusal, Unmoved};
use baton_store::Scope;
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::query::QueryError;

/// A definition in one line.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DefinitionLine {
    /// Its name and version.
    pub definition: DefinitionId,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How many states it has.
    pub states: usize,
    /// How many rules.
    pub rules: usize,
    /// How much work follows it that is not over.
    pub running: usize,
}

impl Engine {
    /// The definitions that new work may follow, and those that some work still does.
    pub async fn definitions(&self) -> Result<Vec<DefinitionLine>, QueryError> {
        let lines = self.look(Scope::Everything, |world| {
            let line = |(id, definition): (&DefinitionId, &Definition)| {
                let follows = world.workflows.values().filter_map(|work| work.machine.as_ref());
                DefinitionLine {
                    definition: id.clone(),
                    description: definition.description.as_ref().map(ToString::to_string),
                    states: definition.states.len(),
                    rules: definition.rules.len(),
                    running: follows.filter(|machine| machine.definition == *id).count(),
                }
            };
            world.definitions.iter().map(line).collect()
        });
        Ok(lines.await?)
    }

    /// One definition: `charter@2`, or `charter` for the newest.
    ///
    /// Whoever may ask anything may see it: agents live by its rules, and nothing in it is secret.
    pub async fn definition(&self, name: String) -> Result<Definition, QueryError> {
        let found = self.look(Scope::Everything, move |world| {
            let meant = |id: &DefinitionId| id.to_string() == name || id.name.as_str() == name;
            let known = world.definitions.iter().rev().find(|(id, _)| meant(id));
            let found = known.map(|(_, definition)| definition.clone());
            found.ok_or(Unmoved::UnknownDefinition { name })
        });
        Ok(found.await?.map_err(Refusal::from)?)
    }
}
