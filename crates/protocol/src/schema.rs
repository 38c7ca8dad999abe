//! How the texts and numbers that are parsed at the door look to somebody who only reads a schema.
//!
//! Everything else derives its schema; these have a grammar that their Rust type does not show.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::agent::{Proficiency, WriteScope};
use crate::artifact::Location;
use crate::command::{Next, Percent, Update};
use crate::course::{MetricsReport, Seconds, StateReport};
use crate::definition::{DefinitionId, DefinitionName, RuleId, SignalName, StateName};
use crate::event::StreamId;
use crate::handoff::Priority;
use crate::id::{
    AgentId, ArtifactId, CapabilityId, CommandId, GroupId, HandoffId, TokenId, WorkflowId,
};
use crate::limits::{
    LABEL_BYTES_MAX, NAME_BYTES_MAX, OPEN_BYTES_MAX, OPEN_KEYS_MAX, PATH_BYTES_MAX, RECIPIENTS_MAX,
    TEXT_BYTES_MAX,
};
use crate::lock::FilePath;
use crate::open::{Label, OpenKeys};
use crate::tag::TagName;
use crate::text::{Json, Text};
use crate::time::{Allowance, Timestamp};
use crate::trace::TraceParent;
use crate::variables::{Changes, VariableName};

/// Describes a type in JSON Schema, under its own name.
macro_rules! described {
    ($($name:ident: $schema:tt)*) => {$(
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

described! {
    AgentId: {
        "type": "string", "pattern": "^[a-z][a-z0-9-]*$",
        "minLength": 1, "maxLength": NAME_BYTES_MAX, "examples": ["builder"],
        "description": "The name an agent answers to.",
    }
    CapabilityId: {
        "type": "string", "pattern": "^[a-z][a-z0-9-]*$",
        "minLength": 1, "maxLength": NAME_BYTES_MAX, "examples": ["rust"],
        "description": "Something an agent can do.",
    }
    DefinitionName: {
        "type": "string", "pattern": "^[a-z][a-z0-9-]*$",
        "minLength": 1, "maxLength": NAME_BYTES_MAX, "examples": ["charter"],
        "description": "What a definition is called.",
    }
    DefinitionId: {
        "type": "string", "pattern": "^[a-z][a-z0-9-]*@[1-9][0-9]*$", "examples": ["charter@2"],
        "description": "One version of a definition.",
    }
    StateName: {
        "type": "string", "pattern": "^[a-z][a-z0-9_]*$",
        "minLength": 1, "maxLength": NAME_BYTES_MAX, "examples": ["awaiting_quotes"],
        "description": "A state of a workflow.",
    }
    SignalName: {
        "type": "string", "pattern": "^[A-Z][A-Z0-9_]*$",
        "minLength": 1, "maxLength": NAME_BYTES_MAX, "examples": ["QUOTES_RECEIVED"],
        "description": "A signal that brings up rules.",
    }
    RuleId: {
        "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$",
        "minLength": 1, "maxLength": NAME_BYTES_MAX, "examples": ["3.1"],
        "description": "A rule of a workflow.",
    }
    WorkflowId: { "type": "string", "format": "uuid", "description": "One piece of work." }
    HandoffId: { "type": "string", "format": "uuid", "description": "One handoff." }
    GroupId: { "type": "string", "format": "uuid", "description": "One broadcast." }
    ArtifactId: { "type": "string", "format": "uuid", "description": "One artifact." }
    TokenId: { "type": "string", "format": "uuid", "description": "One credential." }
    CommandId: { "type": "string", "format": "uuid", "description": "One asking." }
    StreamId: {
        "type": "string", "pattern": "^(workflow/.+|agent/.+|workspace)$",
        "description": "Where a record belongs.",
    }
    Text: {
        "type": "string", "minLength": 1, "maxLength": TEXT_BYTES_MAX, "pattern": "\\S",
        "examples": ["Add a login page"],
        "description": "Words: printable, not empty, with secrets masked.",
    }
    VariableName: {
        "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_.-]*$",
        "minLength": 1, "maxLength": NAME_BYTES_MAX,
        "description": "The name of a variable.",
    }
    TagName: {
        "type": "string", "pattern": "^#([a-z][a-z0-9-]*|P[012]|[SML])$",
        "maxLength": NAME_BYTES_MAX, "examples": ["#delegated-fix"],
        "description": "A tag in a file.",
    }
    FilePath: {
        "type": "string", "minLength": 1, "maxLength": PATH_BYTES_MAX,
        "examples": ["src/main.rs"],
        "description": "A file of the workspace, relative to its root.",
    }
    Location: {
        "type": "string", "minLength": 1, "maxLength": PATH_BYTES_MAX,
        "description": "A path or a URI, on one line.",
    }
    WriteScope: {
        "type": "string", "pattern": "^([A-Za-z_][A-Za-z0-9_.-]*)?\\*?$", "minLength": 1,
        "description": "A variable's name, `*`, or a beginning and `*`.",
    }
    Timestamp: {
        "type": "string", "format": "date-time",
        "examples": ["2026-03-01T12:00:00.000000Z"],
        "description": "A moment, ISO 8601, answered in UTC to the microsecond.",
    }
    Allowance: {
        "type": "string", "minLength": 2, "examples": ["30s", "5m", "PT2H"],
        "description": "A span of time, more than 0 and at most 30 days.",
    }
    Priority: {
        "type": "string",
        "enum": ["critical", "high", "normal", "low", "urgent", "P0", "P1", "P2"],
        "description": "How urgent it is; answered as critical, high, normal or low.",
    }
    Proficiency: {
        "type": "number", "minimum": 0, "maximum": 1,
        "description": "How well, 0.0 to 1.0.",
    }
    TraceParent: {
        "type": "string", "pattern": "^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}",
        "description": "A trace and a span in it, as W3C Trace Context writes them.",
    }
    Label: {
        "type": "string", "minLength": 1, "maxLength": LABEL_BYTES_MAX, "pattern": "\\S",
        "examples": ["planning"],
        "description": "A short name on one line: a phase, a step, a key.",
    }
    OpenKeys: {
        "type": "object", "maxProperties": OPEN_KEYS_MAX,
        "description": format!("Keys of its own, of at most {OPEN_BYTES_MAX} bytes in all."),
    }
    Seconds: { "type": "number", "minimum": 0, "description": "Seconds." }
    Percent: {
        "type": "integer", "minimum": 0, "maximum": 100,
        "description": "A share in hundredths.",
    }
}

impl<const BYTES_MAX: usize> JsonSchema for Json<BYTES_MAX> {
    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": format!("Any JSON of at most {BYTES_MAX} bytes.") })
    }
}

/// Describes a type in JSON Schema, under its own name, with others in it.
macro_rules! composed {
    ($($name:ident($make:ident): $schema:tt)*) => {$(
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema($make: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

composed! {
    Next(make): {
        "description": "Where the work goes next: an agent, END, or a list of sends.",
        "anyOf": [
            (make.subschema_for::<AgentId>()),
            { "type": "string", "enum": ["END", "__end__"] },
            { "type": "array", "minItems": 1, "maxItems": RECIPIENTS_MAX, "items": { "anyOf": [
                {
                    "type": "object", "required": ["agent", "task"],
                    "properties": {
                        "agent": (make.subschema_for::<AgentId>()),
                        "task": (make.subschema_for::<Text>()),
                    },
                },
                {
                    "type": "array", "minItems": 2, "maxItems": 2,
                    "prefixItems": [
                        (make.subschema_for::<AgentId>()),
                        {
                            "type": "object", "required": ["task"],
                            "properties": { "task": (make.subschema_for::<Text>()) },
                        },
                    ],
                },
            ] } },
        ],
    }
    Update(make): {
        "type": "object",
        "description": "What an agent learnt and made, and keys of its own for the next one.",
        "properties": {
            "context": (make.subschema_for::<Changes>()),
            "artifacts": {
                "type": "object",
                "additionalProperties": (make.subschema_for::<Option<Location>>()),
                "description": "Products by name; null is one that is not made yet.",
            },
            "workflow_state": (make.subschema_for::<StateReport>()),
            "metrics": (make.subschema_for::<MetricsReport>()),
        },
    }
    MetricsReport(make): {
        "type": "object",
        "description": "What it has cost since the last report, and metrics of its own.",
        "properties": {
            "tokens_used": { "type": "integer", "minimum": 0 },
            "time_elapsed": (make.subschema_for::<Seconds>()),
            "retry_count": { "type": "integer", "minimum": 0 },
        },
    }
}
