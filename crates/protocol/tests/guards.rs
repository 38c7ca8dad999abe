//! Guardrails, as stories: limits, slices, breakers, loops, cycles, approval.

#[path = "guards/approvals.rs"]
mod approvals;
#[path = "guards/approved.rs"]
mod approved;
#[path = "guards/breakers.rs"]
mod breakers;
#[path = "guards/budgets.rs"]
mod budgets;
#[path = "guards/cycles.rs"]
mod cycles;
#[path = "guards/desk.rs"]
mod desk;
#[path = "guards/limits.rs"]
mod limits;
#[path = "guards/loops.rs"]
mod loops;
#[path = "guards/properties.rs"]
mod properties;
#[path = "guards/reroutes.rs"]
mod reroutes;
