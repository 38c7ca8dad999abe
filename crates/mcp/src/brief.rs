//! A handoff in words, for whoever is to take it or decide on it.

use serde_json::Value;

/// Characters of one value that a brief quotes; the package has all of it.
const QUOTED_MAX: usize = 2_000;

/// What a receiver needs to begin.
pub(crate) fn accept(view: &Value) -> String {
    let mut page = heading(view);
    let context = &view["context"];
    section(&mut page, "Variables", &context["context_variables"]);
    section(&mut page, "Also", &context["custom"]);
    let artifacts = context["artifacts"].as_array().cloned().unwrap_or_default();
    if !artifacts.is_empty() {
        page.push_str("\n## Artifacts\n");
        for artifact in &artifacts {
            let about = artifact["description"].as_str();
            let about = about.map(|about| format!(": {about}")).unwrap_or_default();
            page.push_str(&format!("- {}{about}\n", text(&artifact["path"])));
        }
    }
    let id = text(&view["id"]);
    page.push_str("\n## How to go on\n");
    page.push_str(&match view["state"].as_str() {
        Some("initiated" | "deferred") => format!(
            "Take it with accept_handoff {{\"handoff\": \"{id}\"}}, which gives you the whole \
             package and your fence. If you cannot do it, say why with reject_handoff.\n"
        ),
        Some("accepted") => "You hold it already.\n".to_owned(),
        Some(other) => format!("It is {other}; there is nothing to take.\n"),
        None => String::new(),
    });
    page.push_str(match view["return_protocol"]["expected"].as_bool() {
        Some(true) => "Bring the result back with return_handoff; report_progress on the way.\n",
        Some(false) | None => {
            "The work is then yours: finish it with return_handoff, or hand it on.\n"
        }
    });
    page
}

/// What somebody who is asked to decide needs to know.
pub(crate) fn review(view: &Value) -> String {
    let mut page = heading(view);
    page.push_str("\n## The question\n");
    page.push_str(&format!("{}\n", text(&view["reason"])));
    let trail = view["escalation"]["trail"].as_array().cloned().unwrap_or_default();
    if !trail.is_empty() {
        page.push_str("\n## What those below think\n");
        for assessment in &trail {
            page.push_str(&format!(
                "- {} ({}): {}\n",
                text(&assessment["by"]),
                text(&assessment["role"]),
                text(&assessment["words"]),
            ));
        }
    }
    section(&mut page, "Variables", &view["context"]["context_variables"]);
    page.push_str(&format!(
        "\n## How to decide\nWeigh what can go wrong (risk: {}). Take the question with \
         accept_handoff, then send the decision down with return_handoff: status `success` with \
         the decision in words, or `failed` for no. If you may not decide it either, \
         escalate_handoff.\n",
        text(&view["audit"]["risk_level"]),
    ));
    page
}

fn heading(view: &Value) -> String {
    let mut page = format!(
        "# {}\n\nHandoff {} from {} to {} ({}, {})\nReason: {}\n",
        text(&view["title"]),
        text(&view["id"]),
        text(&view["from_agent"]),
        text(&view["to_agent"]),
        text(&view["type"]),
        text(&view["state"]),
        text(&view["reason"]),
    );
    if let Some(task) = view["task"].as_str() {
        page.push_str(&format!("\n## Task\n{task}\n"));
    }
    page
}

fn section(page: &mut String, title: &str, values: &Value) {
    let Some(values) = values.as_object().filter(|values| !values.is_empty()) else { return };
    let told = |value: &&Value| !value.is_null() && **value != Value::Object(Default::default());
    let lines: Vec<_> = values
        .iter()
        .filter(|(_, value)| told(value))
        .map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("- {name}: {}\n", cut(&value))
        })
        .collect();
    if !lines.is_empty() {
        page.push_str(&format!("\n## {title}\n{}", lines.concat()));
    }
}

fn cut(value: &str) -> String {
    match value.char_indices().nth(QUOTED_MAX) {
        Some((end, _)) => format!("{}… (the package has all of it)", &value[..end]),
        None => value.to_owned(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
