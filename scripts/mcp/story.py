"""A whole delegation, played by the official Python client as alice and bob.

    story.py BATON stdio|http REVISION

It runs in a new workspace that knows both. Over HTTP, STORY_URL says where the coordinator listens,
and STORY_TOKEN_ALICE and STORY_TOKEN_BOB who asks. The client checks each structured answer against
the schema that the tool advertises.
"""

import contextlib
import json
import logging
import os
import sys
import traceback
import urllib.error
import urllib.request
import warnings

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import PromptReference, ResourceTemplateReference, ResourceUpdatedNotification

BATON, TRANSPORT, REVISION = sys.argv[1:]
NEWEST = "2026-07-28"
IS_NEW = REVISION == NEWEST
URL = os.environ.get("STORY_URL", "") + "/mcp"
# Over HTTP, the newest revision has no sessions: nobody remembers what an agent took.
REMEMBERS = not (IS_NEW and TRANSPORT == "http")
TOOLS = {
    "handoff_to_agent", "escalate_handoff", "await_handoff", "get_handoff", "cancel_handoff",
    "list_inbox", "accept_handoff", "reject_handoff", "defer_handoff", "report_progress",
    "return_handoff", "find_agents", "lock_files", "unlock_files", "set_variables", "add_artifact",
}  # fmt: skip
# Older revisions of this client say so when something has a newer name.
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)


def token(agent):
    return os.environ[f"STORY_TOKEN_{agent.upper()}"]


class Agent:
    """A session of one agent."""

    def __init__(self, name, client, notices):
        self.name = name
        self.client = client
        self.notices = notices

    async def call(self, tool, arguments=None, **how):
        """Calls a tool that must succeed; what it says in words is what it says in JSON."""
        result = await self.client.call_tool(tool, arguments or {}, **how)
        assert not result.is_error, f"{self.name}: {tool}: {result.content[0].text}"
        assert json.loads(result.content[0].text) == result.structured_content, tool
        return result.structured_content

    async def refused(self, tool, arguments, code):
        """Calls a tool that must refuse, in words that a model can act on."""
        result = await self.client.call_tool(tool, arguments)
        text = result.content[0].text
        assert result.is_error, f"{self.name}: {tool} did not refuse: {text}"
        assert f"\ncode: {code}" in text, text
        assert "\nhint: " in text, text

    async def read(self, uri):
        contents = (await self.client.read_resource(uri)).contents
        assert [(one.uri, one.mime_type) for one in contents] == [(uri, "application/json")]
        return json.loads(contents[0].text)

    async def complete(self, ref, name, value):
        completion = (await self.client.complete(ref, {"name": name, "value": value})).completion
        assert completion.total == len(completion.values) and not completion.has_more
        return completion.values


@contextlib.asynccontextmanager
async def session(name):
    put, notices = anyio.create_memory_object_stream(100)

    async def hear(message):
        if isinstance(message, ResourceUpdatedNotification):
            put.send_nowait(message.params.uri)

    async with contextlib.AsyncExitStack() as stack:
        if TRANSPORT == "stdio":
            server = StdioServerParameters(
                command=BATON, args=["mcp", "--agent", name], cwd=os.getcwd()
            )
        else:
            headers = {"Authorization": f"Bearer {token(name)}"}
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=90))
            server = streamable_http_client(URL, http_client=http)
        mode = "auto" if IS_NEW else "legacy"
        client = Client(server, mode=mode, message_handler=hear, read_timeout_seconds=90)
        client = await stack.enter_async_context(client)
        assert client.protocol_version == REVISION, client.protocol_version
        assert client.server_info.name == "baton" and "list_inbox" in client.instructions
        yield Agent(name, client, notices)


@contextlib.asynccontextmanager
async def watching(agent, uri):
    """Gives what waits for the next change of a resource, by the way of the revision."""
    if IS_NEW:
        async with agent.client.listen(resource_subscriptions=[uri]) as changes:
            assert changes.honored.resource_subscriptions == [uri]
            # The first notice says that it begins.
            first = await anext(changes)
            assert first.uri == uri
            yield lambda: anext(changes)
    else:
        await agent.client.subscribe_resource(uri)
        yield agent.notices.receive
        await agent.client.unsubscribe_resource(uri)


async def offers(agent):
    """What the server says that it has."""
    tools = (await agent.client.list_tools()).tools
    assert {tool.name for tool in tools} == TOOLS, tools
    for tool in tools:
        assert tool.output_schema["type"] == tool.input_schema["type"] == "object", tool
        hints = tool.annotations
        assert hints.read_only_hint is not None or hints.destructive_hint is not None, tool
    prompts = (await agent.client.list_prompts()).prompts
    assert [prompt.name for prompt in prompts] == ["accept_handoff", "escalation_review"]
    templates = (await agent.client.list_resource_templates()).resource_templates
    assert "baton://handoffs/{handoff}/audit" in [one.uri_template for one in templates]
    uris = {str(one.uri) for one in (await agent.client.list_resources()).resources}
    assert {"baton://inbox", "baton://agents"} <= uris, uris


async def errors(agent):
    """What goes wrong says how."""
    await agent.refused("accept_handoff", {"handoff": "abcdef01"}, "not-found")
    await agent.refused("report_progress", {"note": "on nothing"}, "not-holder")
    await agent.refused("find_agents", {"colour": "red"}, "bad-input")
    for wrong, code in [
        (agent.client.call_tool("no_such_tool", {}), -32602),
        # What is not there has a code of its own in the older revisions.
        (agent.client.read_resource("baton://nothing"), -32602 if IS_NEW else -32002),
        (agent.client.read_resource("baton://handoffs/0-0"), -32602 if IS_NEW else -32002),
        (agent.client.get_prompt("no_such_prompt"), -32602),
    ]:
        try:
            said = await wrong
        except MCPError as error:
            assert error.code == code, error
        else:
            raise AssertionError(f"this did not fail: {said}")


async def delegation(alice, bob):
    task = "Parse every date; done when the tests pass"
    await offers(alice)
    await offers(bob)
    agents = (await alice.call("find_agents"))["agents"]
    assert {"alice", "bob"} <= {agent["agent"] for agent in agents}, agents

    async with watching(bob, "baton://inbox") as changed:
        handed = await alice.call(
            "handoff_to_agent",
            {
                "to": "bob",
                "reason": "bob knows dates",
                "task": task,
                "context": {"branch": "dates"},
                "artifacts": ["src/dates.rs"],
            },
        )
        assert handed["status"] == "sent" and handed["to"] == "bob", handed
        with anyio.fail_after(30):
            await changed()
    handoff, workflow = handed["handoff"], handed["workflow"]

    inbox = await bob.call("list_inbox")
    assert inbox["agent"] == "bob", inbox
    assert [one["handoff"] for one in inbox["waiting"]] == [handoff], inbox
    assert inbox["waiting"][0]["from"] == "alice", inbox
    assert [one["id"] for one in (await bob.read("baton://inbox"))["waiting"]] == [handoff]
    uris = [str(one.uri) for one in (await bob.client.list_resources()).resources]
    assert f"baton://handoffs/{handoff}" in uris, uris

    prompt = PromptReference(type="ref/prompt", name="accept_handoff")
    assert await bob.complete(prompt, "handoff", handoff[:6]) == [handoff]
    assert await bob.complete(prompt, "handoff", "zz") == []
    template = ResourceTemplateReference(type="ref/resource", uri="baton://agents/{agent}")
    assert await bob.complete(template, "agent", "al") == ["alice"]
    for arguments in [None, {"handoff": handoff}]:
        brief = (await bob.client.get_prompt("accept_handoff", arguments)).messages
        assert brief[0].role == "user" and task in brief[0].content.text, brief

    taken = await bob.call("accept_handoff", {"handoff": handoff[:8]})
    assert taken["handoff"] == handoff and taken["workflow"] == workflow, taken
    package = json.dumps(taken["package"])
    assert all(part in package for part in [task, "dates", "src/dates.rs"]), package
    if REMEMBERS:
        under = {}
    else:
        under = {"fence": taken["fence"], "work": handoff}
        await bob.refused("report_progress", {"note": "without a fence"}, "fence-needed")
    stale = {"note": "under no fence of mine", "fence": taken["fence"] + 7, "work": handoff}
    await bob.refused("report_progress", stale, "unknown-fence")
    noted = await bob.call("report_progress", {"note": "half", "percent": 50, **under})
    assert noted["status"] == "noted", noted
    locked = await bob.call("lock_files", {"paths": ["src/dates.rs"], **under})
    assert locked == {"locked": ["src/dates.rs"], "workflow": workflow}, locked
    added = await bob.call(
        "add_artifact", {"path": "src/dates.rs", "kind": "code", "description": "dates", **under}
    )
    assert added["status"] == "added", added
    written = await bob.call("set_variables", {"variables": {"tests": 12}, **under})
    assert written["status"] == "written", written

    # What is not over in time is pending; that is no error.
    waited = await alice.call("await_handoff", {"handoff": handoff, "seconds": 1})
    assert waited["status"] == "pending" and waited["state"] == "accepted", waited

    # Alice waits, and is told that she does; bob brings the result back once she was.
    signs, told = [], anyio.Event()

    async def sign(progress, total, message):
        signs.append((progress, total, message))
        told.set()

    async def give_back():
        await told.wait()
        result = {"summary": "all dates parse", "tests": 12}
        back = await bob.call("return_handoff", {"result": result, "note": "done", **under})
        assert back["status"] == "returned", back

    async with anyio.create_task_group() as group:
        group.start_soon(give_back)
        wait = {"handoff": handoff, "seconds": 50}
        waited = await alice.call("await_handoff", wait, progress_callback=sign)
    assert waited["status"] == "done" and waited["state"] == "completed", waited
    assert "all dates parse" in json.dumps(waited["result"]), waited
    progress, total, message = signs[0]
    assert 0 < progress < 50 and total == 50 and "bob" in message, signs
    got = await alice.call("get_handoff", {"handoff": handoff[:8]})
    # It tells more: what travelled with it, and what its holder said on the way.
    assert "src/dates.rs" in json.dumps(got.pop("context")), got
    got.pop("progress", None)
    assert got == waited, got
    assert (await alice.call("list_inbox"))["results"][0]["handoff"] == handoff
    assert (await bob.call("list_inbox"))["holding"] == []

    records = (await alice.read(f"baton://handoffs/{handoff}/audit"))["records"]
    story = [(record["event"]["type"], record["by"]) for record in records]
    assert story == [("initiated", "alice"), ("accepted", "bob"), ("completed", "bob")], story
    assert records[0]["audit"]["reason"] == "bob knows dates", records
    work = json.dumps(await alice.read(f"baton://workflows/{workflow}"))
    assert handoff in work, work
    assert task in json.dumps(await alice.read(f"baton://handoffs/{handoff}/package"))
    # The work as a whole is alice's: it ends when she says so.
    [own] = (await alice.call("list_inbox"))["holding"]
    assert own["workflow"] == workflow and "handoff" not in own, own
    under = {} if REMEMBERS else {"fence": own["fence"], "work": workflow}
    ended = await alice.call("return_handoff", {"result": "dates are done", **under})
    assert ended["status"] == "completed", ended
    assert (await alice.call("list_inbox"))["holding"] == []
    await errors(bob)


async def restart(alice, bob):
    """A coordinator that goes away takes nothing along, not even what happens meanwhile."""
    async with watching(bob, "baton://inbox") as changed:
        await anyio.run_process([BATON, "stop"])
        # Whoever asks next starts another.
        handed = await alice.call("handoff_to_agent", {"to": "bob", "reason": "once more"})
        with anyio.fail_after(30):
            await changed()
    inbox = await bob.call("list_inbox")
    assert [one["handoff"] for one in inbox["waiting"]] == [handed["handoff"]], inbox


def status_of(headers, body):
    request = urllib.request.Request(URL, json.dumps(body).encode(), method="POST")
    accept = "application/json, text/event-stream"
    for name, value in {"content-type": "application/json", "accept": accept, **headers}.items():
        request.add_header(name, value)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers.get("mcp-session-id")
    except urllib.error.HTTPError as error:
        return error.code, None


def strangers():
    """Nobody uses the session of another, and nobody comes in without a token."""
    client = {"name": "stranger", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    mine, other = ({"authorization": f"Bearer {token(name)}"} for name in ["alice", "bob"])
    assert status_of({}, begin)[0] == 401
    assert status_of({"authorization": "Bearer bt1_alice_00"}, begin)[0] == 401
    status, its = status_of(mine, begin)
    assert status == 200 and its, status
    held = {"mcp-session-id": its, "mcp-protocol-version": "2025-06-18"}
    begun = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert status_of({**mine, **held}, begun)[0] == 202
    look = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert status_of({**other, **held}, look)[0] == 404
    assert status_of({**held}, look)[0] == 401
    assert status_of({**mine, **held}, look)[0] == 200


async def main():
    with anyio.fail_after(150):
        async with session("alice") as alice, session("bob") as bob:
            await delegation(alice, bob)
            if TRANSPORT == "stdio":
                await restart(alice, bob)
    if TRANSPORT == "http":
        strangers()


try:
    anyio.run(main)
except BaseExceptionGroup as group:
    # Each session wraps what went wrong once more; only the core of it says something.
    core = group
    while isinstance(core, BaseExceptionGroup):
        core = core.exceptions[0]
    traceback.print_exception(core)
    sys.exit(1)
