//! Reports about the whole work: whether what they come to stays within its limits.

use crate::course::{Course, Report};
use crate::refusal::Refusal;
use crate::workflow::Workflow;

/// Refuses a report that would make the course of the work too long to keep.
pub(super) fn fits(
    workflow: Option<&Workflow>,
    report: &Option<Box<Report>>,
) -> Result<(), Refusal> {
    let Some(report) = report else { return Ok(()) };
    match workflow {
        Some(workflow) => workflow.course.after(report).map(drop),
        None => Course::default().after(report).map(drop),
    }
}
