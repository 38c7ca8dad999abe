"""Plays a story through the routes, so that there is something to ask about; prints the ids."""

import json
import os
import sys
import urllib.request

BASE = sys.argv[1]


def ask(method, path, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, data=data, method=method)
    request.add_header("Content-Type", "application/json")
    request.add_header("Authorization", "Bearer " + os.environ["BATON_TOKEN"])
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def main():
    agents = ["planner", "builder", "critic", "judge"]
    for name in agents:
        role = {"critic": "reviewer", "judge": "architect"}.get(name, "worker")
        ask("PUT", f"/v1/agents/{name}", {
            "role": role, "capabilities": ["rust"], "max_concurrent_tasks": 1000,
        })
    tokens = [ask("POST", "/v1/tokens", {"agent": name})["id"] for name in agents]
    workflows, handoffs, artifacts, questions = [], [], [], []
    for n in range(40):
        started = ask("POST", "/v1/workflows", {"title": f"work {n}"}, Baton_As="planner")
        workflow = started["workflow"]
        workflows.append(workflow)
        home = f"/v1/workflows/{workflow}"
        ask("PUT", f"{home}/variables/db", {"value": "pg", "fence": 1}, Baton_As="planner")
        made = {"artifact": {"path": f"src/{n}.rs"}, "fence": 1}
        added = ask("POST", f"{home}/artifacts", made, Baton_As="planner")
        artifacts.append(added["events"][0]["artifact"]["id"])
        lock = {"workflow": workflow, "fence": 1, "paths": [f"src/{n}.rs"]}
        ask("POST", "/v1/locks", lock, Baton_As="planner")
        passed = {
            "workflow": workflow, "fence": 1, "to_agent": "builder", "type": "delegation",
            "reason": "build it", "return_protocol": {"timeout": "20m"},
        }
        handoff = ask("POST", "/v1/handoffs", passed, Baton_As="planner")["handoff"]
        handoffs.append(handoff)
        if n % 4 == 0:
            continue
        fence = ask("POST", f"/v1/handoffs/{handoff}/accept", Baton_As="builder")["fence"]
        if n % 4 == 1:
            back = {"fence": fence, "status": "success"}
            ask("POST", f"/v1/handoffs/{handoff}/return", back, Baton_As="builder")
        if n % 4 == 2:
            question = {
                "workflow": workflow, "fence": fence, "type": "escalation",
                "reason": "may I?", "audit": {"decision_rationale": "it is not mine to decide"},
            }
            asked = ask("POST", "/v1/handoffs", question, Baton_As="builder")
            questions.append(next(
                event["terms"]["id"] for event in asked["events"] if event["type"] == "initiated"
            ))
    ask("POST", f"/v1/workflows/{workflows[-1]}/cancel", {"reason": "enough"})
    print(json.dumps({
        "agents": agents + ["operator"], "tokens": tokens, "workflows": workflows,
        "handoffs": handoffs, "artifacts": artifacts, "questions": questions,
    }))


main()
