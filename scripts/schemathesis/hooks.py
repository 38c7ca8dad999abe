"""Leads schemathesis to what is there: ids of a story that was played before, and safe paths.

Random ids find nothing, so every route would only ever answer 404. Where a parameter or a field
names a thing, most cases get the id of a real one; the rest stay as schemathesis made them.
"""

import atexit
import json
import os
import random

import schemathesis

REAL = json.loads(os.environ["BATON_REAL_IDS"])
FOLDER = os.environ["BATON_SCRATCH"]
# The same cases each time: the seed of schemathesis is fixed, too.
CHANCE = random.Random(1)

NAMED = {
    "workflow": "workflows",
    "handoff": "handoffs",
    "agent": "agents",
    "to_agent": "agents",
    "artifact": "artifacts",
}


@schemathesis.serializer("application/x-ndjson")
def ndjson(ctx, value):
    lines = value if isinstance(value, list) else [value]
    return {"data": "\n".join(json.dumps(line) for line in lines)}


def real(kind):
    return CHANCE.choice(REAL[kind])


def likely():
    return CHANCE.random() < 0.85


def fill(value):
    """Puts real ids where a body names things."""
    if isinstance(value, dict):
        for name, inner in list(value.items()):
            if name in NAMED and isinstance(inner, str) and likely():
                value[name] = real(NAMED[name])
            elif name == "fence" and likely():
                value[name] = CHANCE.choice([1, 2, 3])
            else:
                fill(inner)
    elif isinstance(value, list):
        for inner in value:
            fill(inner)


def home(path):
    """Which things the `{id}` of a path names."""
    for part, kind in [
        ("/v1/workflows/", "workflows"),
        ("/v1/handoffs/", "handoffs"),
        ("/v1/approvals/", "questions"),
        ("/v1/agents/", "agents"),
    ]:
        if path.startswith(part):
            return kind
    return None


@schemathesis.hook
def before_call(ctx, case, **kwargs):
    path = case.operation.path
    parameters = case.path_parameters or {}
    kind = home(path)
    if kind and "id" in parameters and likely():
        parameters["id"] = real(kind)
        # What ends things may end some of them, and leaves the others to ask about.
        if path.endswith(("/cancel", "/complete")):
            parameters["id"] = CHANCE.choice(REAL[kind][-8:])
    if "artifact" in parameters and likely():
        parameters["artifact"] = real("artifacts")
    if "token" in parameters and likely():
        parameters["token"] = real("tokens")
    if "prefix" in parameters and likely():
        parameters["prefix"] = real("workflows")[:8]
    if "name" in parameters and likely():
        parameters["name"] = CHANCE.choice(["db", "task_status"])
    query = case.query or {}
    for name in ("workflow", "handoff", "agent", "from", "to"):
        if name in query and likely():
            query[name] = real(NAMED.get(name, "agents"))
    if "wait" in query:
        query["wait"] = "10ms"
    headers = case.headers or {}
    if "Baton-As" in headers and likely():
        # Half of the time as the operator, who may do everything.
        if CHANCE.random() < 0.5:
            del headers["Baton-As"]
        else:
            headers["Baton-As"] = real("agents")
    # Chance has few favourite keys, and most changes would only ever be refused for theirs.
    if "Idempotency-Key" in headers and likely():
        headers["Idempotency-Key"] = str(CHANCE.randrange(10**12))
    if "If-Match" in headers and likely():
        headers["If-Match"] = CHANCE.choice(['"1"', '"2"', "*"])
    fill(case.body)
    # These two write where they are told to, so they are told a safe place.
    if path in ("/v1/backup", "/v1/audit/export") and isinstance(case.body, dict):
        if isinstance(case.body.get("to"), str):
            case.body["to"] = f"{FOLDER}/{CHANCE.randrange(10**9)}"


# How often each route gave each status, for whoever wants to know what the cases reach.
COUNTS = {}


@schemathesis.hook
def after_call(ctx, case, response):
    key = f"{case.operation.method.upper()} {case.operation.path}"
    counts = COUNTS.setdefault(key, {})
    counts[response.status_code] = counts.get(response.status_code, 0) + 1


@atexit.register
def tell():
    if to := os.environ.get("BATON_COUNTS"):
        with open(to, "w") as file:
            json.dump(COUNTS, file, indent=1, sort_keys=True)
