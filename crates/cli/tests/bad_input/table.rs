//! The tables: one line, one wrong thing. To extend them, add a line.
//!
//! `$name` stands for an id of the scene. An indented line goes on with the one before.

/// A command of each kind that would be granted, and by whom. The rows of [`FIELDS`] spoil one
/// field of it each.
pub(crate) const GOOD: &str = r#"
operator {"register": {"id": "helper"}}
operator {"start": {"title": "Work"}}
operator {"pass": {"workflow": "$open1", "to_agent": "builder", "reason": "r"}}
builder  {"accept": {"handoff": "$waiting1"}}
builder  {"reject": {"handoff": "$waiting2", "reason": "r"}}
builder  {"defer": {"handoff": "$waiting3", "reason": "r"}}
operator {"cancel": {"handoff": "$waiting4", "reason": "r"}}
builder  {"progress": {"workflow": "$held_work", "fence": 2}}
builder  {"return": {"handoff": "$held", "fence": 2, "status": "success"}}
operator {"complete": {"workflow": "$open2"}}
operator {"goto": {"workflow": "$open5", "goto": "builder"}}
operator {"cancel_workflow": {"workflow": "$open3", "reason": "r"}}
operator {"set_variables": {"workflow": "$open4", "changes": {"branch": "main"}}}
operator {"add_artifact": {"workflow": "$open4", "artifact": {"path": "a.rs"}}}
operator {"mark_artifact": {"workflow": "$open9", "artifact": "$artifact", "status": "final"}}
operator {"lock": {"workflow": "$open4", "paths": ["a.rs"]}}
operator {"unlock": {"workflow": "$open4"}}
operator {"reassign": {"what": {"workflow": "$open4"}, "to_agent": "builder", "reason": "r"}}
operator {"report_health": {"agent": "builder", "healthy": false}}
operator {"issue_token": {"agent": "builder", "digest": "$digest"}}
operator {"revoke_token": {"agent": "clerk", "token": "$token"}}
"#;

/// The field, and a value that it does not take: JSON, or
/// - `absent`: the field is left out;
/// - `text N`: a text of N bytes;
/// - `list N JSON`: a list of N such items;
/// - `map N JSON`: an object of N such fields;
/// - `deep N`: N lists inside each other.
pub(crate) const FIELDS: &str = r#"
start.title absent
start.title null
start.title 7
start.title ""
start.title "   "
start.title "\u001b[2J"
start.title text 4097
start.priority 1
start.priority "soon"
start.variables []
start.variables.a%b 1
start.variables.big text 16385
start.variables.deep deep 70
start.constraints.budget -1
start.constraints.budget 1.5
start.constraints.budget "much"
start.constraints.deadline "tomorrow"
start.constraints.deadline "2026-13-01T00:00:00Z"
start.constraints.deadline 1700000000
start.constraints.surprise 1
start.surprise 1
pass.workflow "w1"
pass.workflow 7
pass.fence -1
pass.fence 1.5
pass.fence "1"
pass.fence 18446744073709551616
pass.to_agent 7
pass.to_agent ""
pass.to_agent "Builder"
pass.to_agent "a/b"
pass.to_agent text 65
pass.to_agents 7
pass.to_agents ["A b"]
pass.to_agents [{"agent": "tester", "surprise": 1}]
pass.aggregation "most"
pass.peers_visible "yes"
pass.routing.on_rejection "shrug"
pass.routing.at_capacity "shrug"
pass.routing.surprise 1
reassign.what absent
reassign.what {"agent": "x"}
reassign.to_agent absent
reassign.reason absent
reassign.surprise 1
report_health.agent absent
report_health.healthy "fine"
report_health.surprise 1
pass.type "sideways"
pass.type 1
pass.reason absent
pass.reason ["r"]
pass.reason " "
pass.reason text 4097
pass.trigger "whim"
pass.priority "soon"
pass.context 7
pass.context.task_id ""
pass.context.task_id text 4097
pass.context.conversation_history "words"
pass.context.conversation_history {}
pass.context.conversation_history list 20001 {}
pass.context.conversation_history deep 70
pass.context.conversation_history text 6291457
pass.context.context_variables "x"
pass.context.context_variables.1st 1
pass.context.share.0 7
pass.context.share "x"
pass.context.artifacts {}
pass.context.artifacts.0.type "song"
pass.context.artifacts.0.path ""
pass.context.artifacts.0.path text 1025
pass.context.artifacts.0.path "a\nb"
pass.context.artifacts.0.status "done"
pass.context.artifacts.0.description ""
pass.context.artifacts.0.surprise 1
pass.context.constraints.budget -1
pass.context.constraints.deadline "soon"
pass.context.surprise 1
pass.validation.required_capabilities "rust"
pass.validation.required_capabilities.0 "Rust"
pass.validation.required_capabilities.0 {"capability_id": "rust", "min_proficiency": 1.5}
pass.validation.required_capabilities.0 {"capability_id": "rust", "min_proficency": 0.5}
pass.validation.autonomy_budget -1
pass.validation.surprise 1
pass.return_protocol.expected "yes"
pass.return_protocol.timeout "soon"
pass.return_protocol.timeout "0s"
pass.return_protocol.timeout "-5m"
pass.return_protocol.timeout "31d"
pass.return_protocol.timeout "P1M"
pass.return_protocol.timeout 30
pass.return_protocol.on_timeout "panic"
pass.return_protocol.blocking 1
pass.return_protocol.surprise 1
pass.audit.decision_rationale ""
pass.audit.risk_level "enormous"
pass.audit.surprise 1
pass.surprise 1
accept.handoff absent
accept.handoff "h-1"
accept.handoff 41
accept.handoff text 5000
accept.estimated_completion "soon"
accept.estimated_completion "2026-02-30T00:00:00Z"
accept.estimated_completion -1
accept.surprise 1
reject.handoff "h-1"
reject.reason absent
reject.reason ""
reject.surprise 1
defer.handoff "h-1"
defer.reason absent
defer.for "a while"
defer.for "31d"
defer.for -5
defer.surprise 1
cancel.handoff "h-1"
cancel.reason absent
cancel.surprise 1
progress.workflow "w"
progress.fence absent
progress.fence "2"
progress.note ""
progress.note text 4097
progress.percent 101
progress.percent -1
progress.percent "half"
progress.surprise 1
return.handoff "h"
return.handoff absent
return.fence absent
return.fence -2
return.status absent
return.status "done"
return.result "words"
return.result.content_type "xml"
return.result.surprise 1
return.context_updates.variables_changed []
return.context_updates.artifacts_produced.0.path ""
return.context_updates.surprise 1
return.audit.tokens_consumed -1
return.audit.tokens_consumed 1e30
return.audit.notes ""
return.audit.surprise 1
return.surprise 1
complete.workflow absent
complete.workflow "w"
complete.fence "1"
complete.result text 1048577
complete.result deep 70
complete.note " "
complete.surprise 1
cancel_workflow.workflow "w"
cancel_workflow.reason absent
cancel_workflow.surprise 1
set_variables.workflow "w"
set_variables.changes absent
set_variables.changes 7
set_variables.changes.a%b 1
set_variables.changes.big text 16385
set_variables.if_version -1
set_variables.surprise 1
add_artifact.artifact absent
add_artifact.artifact "a.rs"
add_artifact.artifact.path absent
add_artifact.artifact.type "song"
add_artifact.surprise 1
mark_artifact.artifact "a"
mark_artifact.status absent
mark_artifact.status "good"
mark_artifact.surprise 1
lock.paths absent
lock.paths "a.rs"
lock.paths.0 "/etc/passwd"
lock.paths.0 "../a.rs"
lock.paths.0 ""
lock.paths.0 text 1025
lock.mode "soft"
lock.for "for ever"
lock.surprise 1
unlock.paths.0 "../a.rs"
unlock.surprise 1
register.id absent
register.id "Builder"
register.id ""
register.id text 65
register.name ""
register.description text 4097
register.role "king"
register.capabilities "rust"
register.capabilities.0 "Rust"
register.capabilities.0 {"id": "rust", "proficiency": 2}
register.capabilities.0 {"id": "rust", "profciency": 0.5}
register.max_concurrent_tasks 0
register.notify []
register.notify [""]
register.reach.http.url ""
register.reach.http.url "not an address"
register.reach.command.argv []
register.autonomy_budget.number -1
register.autonomy_budget.max_risk "enormous"
register.autonomy_budget.surprise 1
register.max_concurrent_tasks -1
register.max_concurrent_tasks 4294967296
register.max_execution_time "long"
register.write_scopes.0 "a b"
register.reach "phone"
register.reach.http {"url": 7}
register.answer_within "0s"
register.notify "true"
register.notify.0 7
register.surprise 1
issue_token.agent "Builder"
issue_token.digest absent
issue_token.digest 7
issue_token.for "31d"
issue_token.surprise 1
revoke_token.agent absent
revoke_token.token "t"
revoke_token.surprise 1
"#;

/// The field, and more than it takes, spelled as in [`FIELDS`]. The limit is named, not the field.
pub(crate) const TOO_MANY: &str = r#"
start.variables map 257 1
pass.context.context_variables map 257 1
pass.context.artifacts list 513 {"path": "a.rs"}
pass.validation.required_capabilities list 65 "rust"
pass.context.share list 257 "name"
return.context_updates.variables_changed map 257 1
return.context_updates.artifacts_produced list 513 {"path": "a.rs"}
set_variables.changes map 257 1
lock.paths list 257 "a.rs"
register.capabilities list 65 "rust"
register.write_scopes list 65 "a"
register.max_concurrent_tasks 10001
"#;

/// Who asks, the status and code of the refusal, and a command that reads well and may not be.
pub(crate) const REFUSED: &str = r#"
operator 404 unknown-agent {"pass": {"to_agent": "ghost", "reason": "r"}}
ghost 404 unknown-agent {"start": {"title": "Work"}}
operator 404 unknown-agent {"issue_token": {"agent": "ghost", "digest": "$digest"}}
operator 404 unknown-agent {"revoke_token": {"agent": "ghost", "token": "$token"}}
operator 404 unknown-token {"revoke_token": {"agent": "builder", "token": "$token"}}
operator 404 unknown-workflow {"complete": {"workflow": "$waiting1"}}
operator 404 unknown-workflow
    {"pass": {"workflow": "$nil", "to_agent": "builder", "reason": "r"}}
builder 404 unknown-handoff {"accept": {"handoff": "$nil"}}
builder 404 unknown-handoff {"return": {"handoff": "$open1", "fence": 2, "status": "failed"}}
operator 404 unknown-artifact
    {"mark_artifact": {"workflow": "$open1", "artifact": "$nil", "status": "final"}}
operator 422 timeout-required
    {"pass": {"to_agent": "builder", "reason": "r", "type": "delegation"}}
operator 422 return-mismatch
    {"pass": {"to_agent": "builder", "reason": "r", "return_protocol": {"expected": true}}}
operator 422 return-mismatch
    {"pass": {"to_agent": "builder", "reason": "r", "type": "delegation",
    "return_protocol": {"expected": false, "timeout": "1h"}}}
operator 422 self-pass {"pass": {"to_agent": "operator", "reason": "r"}}
operator 422 deadline-passed
    {"start": {"title": "Work", "constraints": {"deadline": "2001-01-01T00:00:00Z"}}}
operator 422 read-only-variable
    {"set_variables": {"workflow": "$open1", "changes": {"task_id": "x"}}}
operator 422 bad-variable
    {"set_variables": {"workflow": "$open1", "changes": {"task_status": "fine"}}}
operator 422 bad-variable
    {"set_variables": {"workflow": "$open1", "changes": {"decisions_made": 7}}}
operator 422 reserved-name {"register": {"id": "operator"}}
operator 422 reserved-name {"register": {"id": "coordinator"}}
operator 422 view-of-agent
    {"issue_token": {"agent": "builder", "digest": "$digest", "grant": "view"}}
operator 422 bad-digest {"issue_token": {"agent": "builder", "digest": "xyz"}}
operator 422 receiver-required {"pass": {"workflow": "$open1", "reason": "r"}}
operator 422 receiver-required {"pass": {"workflow": "$open1", "to_agent": null, "reason": "r"}}
operator 422 rationale-required
    {"pass": {"workflow": "$open1", "type": "escalation", "reason": "r"}}
operator 422 timeout-required
    {"pass": {"workflow": "$open1", "type": "broadcast", "to_agents": ["tester"], "reason": "r"}}
operator 422 twice-named
    {"pass": {"workflow": "$open1", "type": "broadcast", "to_agents": ["tester", "tester"],
        "reason": "r", "return_protocol": {"timeout": "1h"}}}
operator 404 unknown-agent
    {"pass": {"workflow": "$open1", "type": "broadcast", "to_agents": ["nobody"],
        "reason": "r", "return_protocol": {"timeout": "1h"}}}
operator 404 unknown-agent
    {"reassign": {"what": {"workflow": "$open1"}, "to_agent": "nobody", "reason": "r"}}
builder 403 operator-only
    {"reassign": {"what": {"workflow": "$held_work"}, "to_agent": "tester", "reason": "r"}}
builder 403 operator-only {"report_health": {"agent": "tester", "healthy": false}}
operator 403 coordinator-only {"wake_hold": {"workflow": "$open1", "fence": 1}}
builder 422 fence-required {"complete": {"workflow": "$moved_work"}}
builder 403 operator-only {"register": {"id": "mole"}}
builder 403 operator-only {"issue_token": {"agent": "builder", "digest": "$digest"}}
builder 403 operator-only {"revoke_token": {"agent": "clerk", "token": "$token"}}
operator 403 coordinator-only {"wake": {"handoff": "$waiting1"}}
builder 403 coordinator-only {"wake": {"handoff": "$waiting1"}}
tester 404 unknown-handoff {"accept": {"handoff": "$waiting1"}}
operator 403 for-another {"accept": {"handoff": "$waiting1"}}
tester 404 unknown-handoff {"reject": {"handoff": "$waiting1", "reason": "r"}}
tester 404 unknown-handoff {"return": {"handoff": "$held", "fence": 2, "status": "failed"}}
tester 404 unknown-workflow {"progress": {"workflow": "$held_work", "fence": 2}}
tester 404 unknown-handoff {"cancel": {"handoff": "$waiting1", "reason": "r"}}
builder 403 not-yours {"cancel_workflow": {"workflow": "$held_work", "reason": "r"}}
stranger 401 unauthorized {"start": {"title": "Work"}}
nonsense 401 unauthorized {"start": {"title": "Work"}}
misnamed 422 bad-input {"start": {"title": "Work"}}
builder 409 already-returned
    {"return": {"handoff": "$returned", "fence": 2, "status": "failed"}}
builder 409 stale-fence {"return": {"handoff": "$held", "fence": 1, "status": "success"}}
builder 409 unknown-fence {"return": {"handoff": "$held", "fence": 3, "status": "success"}}
builder 409 stale-fence {"complete": {"workflow": "$moved_work", "fence": 1}}
operator 409 stale-fence {"complete": {"workflow": "$moved_work", "fence": 1}}
builder 409 unknown-fence {"progress": {"workflow": "$moved_work", "fence": 9}}
operator 409 not-holder {"complete": {"workflow": "$moved_work"}}
builder 409 not-owner {"complete": {"workflow": "$held_work", "fence": 2}}
builder 409 not-owner
    {"pass": {"workflow": "$held_work", "fence": 2, "to_agent": "tester", "reason": "r"}}
operator 409 segment-open {"complete": {"workflow": "$held_work"}}
operator 409 pass-pending {"complete": {"workflow": "$under_way"}}
operator 409 pass-pending
    {"pass": {"workflow": "$under_way", "to_agent": "builder", "reason": "r"}}
builder 409 workflow-closed {"complete": {"workflow": "$closed", "fence": 2}}
builder 409 workflow-closed {"progress": {"workflow": "$closed", "fence": 2}}
operator 409 workflow-closed
    {"pass": {"workflow": "$closed", "to_agent": "builder", "reason": "r"}}
operator 409 workflow-closed {"cancel_workflow": {"workflow": "$closed", "reason": "r"}}
operator 409 workflow-closed {"set_variables": {"workflow": "$closed", "changes": {"a": 1}}}
builder 409 workflow-closed {"accept": {"handoff": "$closed_handoff"}}
builder 409 workflow-closed
    {"return": {"handoff": "$closed_handoff", "fence": 2, "status": "failed"}}
builder 409 handoff-over {"accept": {"handoff": "$returned"}}
builder 409 handoff-over {"reject": {"handoff": "$returned", "reason": "r"}}
operator 409 handoff-over {"cancel": {"handoff": "$returned", "reason": "r"}}
builder 409 handoff-over {"return": {"handoff": "$moved", "fence": 2, "status": "success"}}
builder 409 already-accepted {"accept": {"handoff": "$held"}}
builder 409 already-accepted {"accept": {"handoff": "$moved"}}
builder 409 not-accepted {"return": {"handoff": "$waiting1", "fence": 2, "status": "success"}}
busy 409 not-sent {"accept": {"handoff": "$overflow"}}
operator 409 file-locked {"lock": {"workflow": "$open1", "paths": ["taken.rs"]}}
operator 409 not-locked {"unlock": {"workflow": "$open1", "paths": ["taken.rs"]}}
operator 409 stale-variable
    {"set_variables": {"workflow": "$open9", "changes": {"branch": "x"}, "if_version": 7}}
"#;

/// Who asks, the status and code of the refusal, and a request that is no command.
pub(crate) const ROUTES: &str = r#"
operator 404 no-such-route GET /v1/nothing
operator 405 no-such-method DELETE /v1/commands
operator 404 unknown-agent GET /v1/agents/ghost
operator 422 bad-input GET /v1/agents/Bad%20Name
operator 404 unknown-workflow GET /v1/workflows/$nil
operator 422 bad-input GET /v1/workflows/w1
operator 404 unknown-handoff GET /v1/handoffs/$nil
operator 422 bad-input GET /v1/handoffs/$waiting1?wait=soon
operator 404 not-found GET /v1/find/zz
operator 422 bad-input GET /v1/audit?limit=many
operator 422 bad-input GET /v1/audit?surprise=1
operator 422 bad-input GET /v1/workflows?status=odd
stranger 401 unauthorized GET /v1/inbox
tester 404 unknown-workflow GET /v1/workflows/$open1
tester 404 unknown-agent GET /v1/inbox?agent=builder
builder 403 operator-only GET /v1/audit/verify
builder 403 operator-only POST /v1/stop
operator 404 unknown-agent POST /v1/tokens {"agent": "ghost"}
operator 422 bad-input POST /v1/tokens {"agent": "builder", "surprise": 1}
builder 403 operator-only POST /v1/tokens {"agent": "builder"}
operator 422 bad-input POST /v1/backup {"to": "somewhere"}
builder 403 operator-only POST /v1/backup {"to": "/tmp/mine"}
"#;
