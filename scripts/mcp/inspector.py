"""A whole delegation, played by the Inspector in its command-line mode, one process for each call.

    inspector.py BATON stdio|http INSPECTOR…

It runs in a new workspace that knows alice and bob. Over HTTP, STORY_URL says where the coordinator
listens, and STORY_TOKEN_ALICE and STORY_TOKEN_BOB who asks. Alice speaks the newest revision, bob an
older one. No session outlives a call, so every fence is said.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

BATON, TRANSPORT, *INSPECTOR = sys.argv[1:]
ERAS = {"alice": "modern", "bob": "legacy", "nobody": "legacy"}
# How the Inspector ends when a tool or the server refuses.
TOOL_REFUSED, REFUSED, NO_TOKEN = 5, 1, 3


def run(agent, method, *options):
    """Makes one call; gives how it ended, the answer and the error."""
    command = [*INSPECTOR, "--cli"]
    if TRANSPORT == "http":
        command += [f"{os.environ['STORY_URL']}/mcp", "--stored-auth-only"]
        token = os.environ.get(f"STORY_TOKEN_{agent.upper()}")
        command += ["--header", f"Authorization: Bearer {token}"] if token else []
    else:
        command += [BATON, "mcp", "--agent", agent]
    command += ["--protocol-era", ERAS[agent], "--connect-timeout", "60000"]
    command += ["--format", "json", "-q", "--method", method, *options]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL
    )
    lines = [json.loads(out) for out in ended.stdout.splitlines() if out.startswith("{")]
    return ended.returncode, lines[0]["result"] if lines else None, ended.stderr.strip()


def ask(agent, method, *options):
    code, result, error = run(agent, method, *options)
    assert code == 0, f"{agent}: {method} {options} ended with {code}: {error or result}"
    return result


def call(agent, tool, **arguments):
    options = ["--tool-name", tool, "--tool-args-json", json.dumps(arguments)]
    result = ask(agent, "tools/call", *options)
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"], result
    return result["structuredContent"]


def refused(agent, tool, code, **arguments):
    options = ["--tool-name", tool, "--tool-args-json", json.dumps(arguments)]
    ended, result, error = run(agent, "tools/call", *options)
    assert ended == TOOL_REFUSED and result["isError"], (ended, result, error)
    text = result["content"][0]["text"]
    assert f"\ncode: {code}\nhint: " in text, text


def read(agent, uri):
    [contents] = ask(agent, "resources/read", "--uri", uri)["contents"]
    assert contents["uri"] == uri and contents["mimeType"] == "application/json", contents
    return json.loads(contents["text"])


def portable(agent):
    """Every schema of every tool can be read by every client, which the Inspector checks."""
    tools = ask(agent, "tools/list", "--strict")["tools"]
    assert len(tools) == 16 and all("outputSchema" in tool for tool in tools), tools


def wrong(agent, ends, words, method, *options):
    code, result, error = run(agent, method, *options)
    assert code == ends and words in error, (code, result, error)


def main(pool):
    def together(*calls):
        return [one.result() for one in [pool.submit(*call) for call in calls]]

    task = "Parse every date; done when the tests pass"
    [_, found, prompts, templates] = together(
        (portable, "alice"),
        (call, "alice", "find_agents"),
        (ask, "bob", "prompts/list"),
        (ask, "alice", "resources/templates/list"),
    )
    assert {"alice", "bob"} <= {agent["agent"] for agent in found["agents"]}, found
    names = [prompt["name"] for prompt in prompts["prompts"]]
    assert names == ["accept_handoff", "escalation_review"], prompts
    assert "baton://handoffs/{handoff}/audit" in json.dumps(templates), templates

    handed = call("alice", "handoff_to_agent", to="bob", reason="bob knows dates", task=task)
    assert handed["status"] == "sent" and handed["to"] == "bob", handed
    handoff, workflow = handed["handoff"], handed["workflow"]
    [inbox, listed, brief] = together(
        (call, "bob", "list_inbox"),
        (ask, "bob", "resources/list"),
        (ask, "bob", "prompts/get", "--prompt-name", "accept_handoff",
         "--prompt-args", f"handoff={handoff}"),
    )  # fmt: skip
    assert [one["handoff"] for one in inbox["waiting"]] == [handoff], inbox
    assert f"baton://handoffs/{handoff}" in json.dumps(listed), listed
    assert task in brief["messages"][0]["content"]["text"], brief

    taken = call("bob", "accept_handoff", handoff=handoff)
    assert taken["workflow"] == workflow and task in json.dumps(taken["package"]), taken
    under = {"work": handoff, "fence": taken["fence"]}
    paths = ["src/dates.rs"]
    [noted, locked, added, pending, _] = together(
        (lambda: call("bob", "report_progress", note="half", percent=50, **under),),
        (lambda: call("bob", "lock_files", paths=paths, **under),),
        (lambda: call("bob", "add_artifact", path=paths[0], kind="code", **under),),
        (lambda: call("alice", "await_handoff", handoff=handoff, seconds=1),),
        (lambda: refused("bob", "report_progress", "fence-needed", note="which?"),),
    )
    assert noted["status"] == "noted" and added["status"] == "added", (noted, added)
    assert locked == {"locked": paths, "workflow": workflow}, locked
    assert pending["status"] == "pending", pending

    waiting = pool.submit(lambda: call("alice", "await_handoff", handoff=handoff, seconds=50))
    back = call("bob", "return_handoff", result={"summary": "all dates parse"}, **under)
    assert back["status"] == "returned", back
    waited = waiting.result()
    assert waited["status"] == "done", waited
    assert "all dates parse" in json.dumps(waited["result"]), waited

    last = [
        (lambda: call("alice", "get_handoff", handoff=handoff[:8]),),
        (read, "alice", f"baton://handoffs/{handoff}/audit"),
        (lambda: refused("bob", "accept_handoff", "not-found", handoff="abcdef01"),),
        (wrong, "alice", TOOL_REFUSED, "not found", "tools/call", "--tool-name", "no_such_tool"),
        (wrong, "alice", REFUSED, "there is nothing at", "resources/read",
         "--uri", "baton://nothing"),
    ]  # fmt: skip
    if TRANSPORT == "http":
        last.append((wrong, "nobody", NO_TOKEN, "auth_required", "tools/list"))
    [got, audit, *_] = together(*last)
    # It tells more: what travelled with it, and what its holder said on the way.
    more = {"context", "progress"}
    assert {name: value for name, value in got.items() if name not in more} == waited, got
    story = [(record["event"]["type"], record["by"]) for record in audit["records"]]
    assert story == [("initiated", "alice"), ("accepted", "bob"), ("completed", "bob")], story


with ThreadPoolExecutor(4) as pool:
    main(pool)
