//! Routes that say what they are: a route and its description are one thing, added in one call, so
//! that neither can be without the other. The OpenAPI document and its page come from it.

mod change;
mod codes;
mod document;
mod operation;
mod page;
mod sample;
mod schemas;

pub(crate) use change::{Change, submit};
pub(crate) use codes::status;
pub(crate) use operation::{Operation, delete, get, post, put};
pub(crate) use page::page;

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, on};
use serde_json::Value;

use crate::routes::App;

/// Routes with their descriptions.
pub(crate) struct Api {
    router: Router<Arc<App>>,
    operations: Vec<Operation>,
    section: Section,
}

/// A part of the description: what its routes are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) says: &'static str,
}

impl Api {
    pub(crate) fn new() -> Self {
        let section = Section { name: "", says: "" };
        Self { router: Router::new(), operations: Vec::new(), section }
    }

    /// Whatever is added from here on is about this.
    pub(crate) fn section(mut self, name: &'static str, says: &'static str) -> Self {
        self.section = Section { name, says };
        self
    }

    /// Adds a route.
    pub(crate) fn route<H, T>(mut self, operation: Operation, handler: H) -> Self
    where
        H: Handler<T, Arc<App>>,
        T: 'static,
    {
        let method = MethodFilter::try_from(operation.method.clone());
        let method = method.expect("a method that routes can have");
        self.router = self.router.route(operation.path, on(method, handler));
        self.operations.push(operation.within(self.section));
        self
    }

    /// Adds a route that asks for one command.
    pub(crate) fn change(self, operation: Operation, change: Change) -> Self {
        let operation = change.describe(operation);
        change.add(self, operation)
    }

    pub(crate) fn into_router(self) -> Router<Arc<App>> {
        self.router
    }

    /// The OpenAPI document.
    pub(crate) fn document(&self) -> Value {
        document::document(&self.operations)
    }
}
