//! Stories about handoffs, each as a user could tell it. The expected outcome stands beside it.

mod teller;
mod words;

mod answers;
mod broadcasts;
mod checks;
mod contexts;
mod delegations;
mod escalations;
mod objects;
mod queues;
mod routes;
mod runs;
mod sequences;
mod tags;
mod timeouts;
