//! Stories about handoffs, each as a user could tell it. The expected outcome stands beside it.

mod teller;

mod contexts;
mod delegations;
mod sequences;
