//! The tables for command objects, spelled as in [`super::table`].

/// The good command object comes in `table::GOOD`; these spoil one field of it each.
pub(crate) const FIELDS: &str = r#"
goto.workflow absent
goto.workflow "w"
goto.fence "1"
goto.fence -1
goto.goto absent
goto.goto null
goto.goto 7
goto.goto true
goto.goto ""
goto.goto "Bad Name"
goto.goto text 65
goto.goto {"agent": "builder", "task": "t"}
goto.goto []
goto.goto list 65 {"agent": "builder", "task": "t"}
goto.goto.0 null
goto.goto.0 "builder"
goto.goto.0 []
goto.goto.0 ["builder"]
goto.goto.0 ["builder", {}]
goto.goto.0 ["builder", "t"]
goto.goto.0 ["builder", {"task": ""}]
goto.goto.0 ["builder", {"task": "t", "agent": "tester"}]
goto.goto.0 ["builder", {"task": "t"}, 1]
goto.goto.0 {"agent": "builder"}
goto.goto.0 {"task": "t"}
goto.goto.0.agent "B"
goto.goto.0.agent 7
goto.goto.0.task 7
goto.goto.0.task ""
goto.goto.0.task text 4097
goto.goto.0.note text 16385
goto.goto.0.note deep 70
goto.update 7
goto.update []
goto.update "x"
goto.update map 65 1
goto.update.reason text 16385
goto.update.reason deep 70
goto.update.context []
goto.update.context null
goto.update.context.a%b 1
goto.update.context.big text 16385
goto.update.context.deep deep 70
goto.update.artifacts []
goto.update.artifacts.Plan 7
goto.update.artifacts.Plan ""
goto.update.artifacts.Plan "a\nb"
goto.update.artifacts.Plan text 1025
goto.update.artifacts map 513 null
goto.update.workflow_state 7
goto.update.workflow_state.phase 7
goto.update.workflow_state.phase ""
goto.update.workflow_state.phase text 129
goto.update.workflow_state.next_phase "a\nb"
goto.update.workflow_state.completed_steps "a"
goto.update.workflow_state.completed_steps.0 7
goto.update.workflow_state.completed_steps.0 ""
goto.update.workflow_state.completed_steps list 257 "a"
goto.update.workflow_state.remaining_steps.0 null
goto.update.workflow_state.remaining_steps list 257 "a"
goto.update.workflow_state.surprise 1
goto.update.metrics []
goto.update.metrics.tokens_used -1
goto.update.metrics.tokens_used 1.5
goto.update.metrics.tokens_used "many"
goto.update.metrics.time_elapsed -1
goto.update.metrics.time_elapsed "long"
goto.update.metrics.time_elapsed 1e300
goto.update.metrics.retry_count null
goto.update.metrics.score text 16385
goto.update.metrics map 65 1
goto.graph "child"
goto.graph 7
goto.timeout "soon"
goto.timeout "0s"
goto.timeout "31d"
goto.timeout 30
goto.aggregation "most"
goto.resume 1
pass.context.custom 7
pass.context.custom map 65 1
pass.context.report.metrics.tokens_used -1
pass.context.report.workflow_state.phase 7
pass.context.report.graph "child"
pass.context.report.surprise 1
complete.context_updates.report.metrics []
complete.context_updates.surprise 1
"#;

/// Who asks, the status and code of the refusal, and an object that reads well and may not be.
pub(crate) const REFUSED: &str = r#"
operator 404 unknown-agent {"goto": {"workflow": "$open1", "goto": "ghost"}}
operator 404 unknown-agent {"goto": {"workflow": "$open1", "goto": [["ghost", {"task": "t"}]]}}
operator 404 unknown-workflow {"goto": {"workflow": "$nil", "goto": "END"}}
tester 404 unknown-workflow {"goto": {"workflow": "$open1", "fence": 1, "goto": "END"}}
operator 422 self-pass {"goto": {"workflow": "$open1", "goto": "operator"}}
operator 422 self-pass {"goto": {"workflow": "$open1", "goto": [["operator", {"task": "t"}]]}}
operator 422 twice-named
    {"goto": {"workflow": "$open1",
        "goto": [["tester", {"task": "t"}], ["tester", {"task": "t"}]]}}
operator 422 read-only-variable
    {"goto": {"workflow": "$open1", "goto": "END", "update": {"context": {"task_id": "x"}}}}
operator 422 bad-variable
    {"goto": {"workflow": "$open1", "goto": "END", "update": {"context": {"task_status": "x"}}}}
builder 422 fence-required {"goto": {"workflow": "$moved_work", "goto": "END"}}
builder 409 stale-fence {"goto": {"workflow": "$moved_work", "fence": 1, "goto": "END"}}
operator 409 not-holder {"goto": {"workflow": "$moved_work", "goto": "END"}}
operator 409 pass-pending {"goto": {"workflow": "$under_way", "goto": "END"}}
operator 409 segment-open {"goto": {"workflow": "$held_work", "goto": "END"}}
operator 409 workflow-closed {"goto": {"workflow": "$closed", "goto": "END"}}
builder 409 parent-goto
    {"goto": {"workflow": "$held_work", "fence": 2, "goto": "tester", "graph": "parent"}}
builder 409 parent-goto
    {"goto": {"workflow": "$held_work", "fence": 2, "goto": [["tester", {"task": "t"}]],
        "graph": "__parent__"}}
"#;
