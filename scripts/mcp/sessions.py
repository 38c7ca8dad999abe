"""Many sessions of many agents at once, in one new workspace, with the official Python client.

    sessions.py BATON COUNT

Agents a1 to aN stand in a ring: each gives work to the next, takes what the one before gave, and
brings it back. Nobody started a coordinator before. Afterwards nothing is lost or doubled, there is
one coordinator, and what the sessions' processes need of memory is told: in all (VmRSS), of their own
(RssAnon), and with what they share divided among them (Pss). The last must stay below 15 MB; a debug
build has so much code that the first cannot.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters

BATON, COUNT = sys.argv[1], int(sys.argv[2])
WORKSPACE = os.getcwd()
SESSION_KB_MAX = 15 * 1024


def ask(*verb):
    said = subprocess.run([BATON, *verb, "--json"], capture_output=True, text=True, timeout=60)
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


class Barrier:
    """Lets nobody on before everybody came."""

    def __init__(self):
        self.missing, self.all_here = COUNT, anyio.Event()

    async def pass_through(self):
        self.missing -= 1
        if self.missing == 0:
            self.all_here.set()
        await self.all_here.wait()


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, f"{tool} {arguments}: {result.content[0].text}"
    return result.structured_content


async def session(number, given, barriers, seen):
    me, next_one = f"a{number}", f"a{number % COUNT + 1}"
    params = StdioServerParameters(command=BATON, args=["mcp", "--agent", me], cwd=WORKSPACE)
    async with Client(params, read_timeout_seconds=80) as client:
        await client.list_tools()
        await barriers[0].pass_through()
        reason = f"{me} asks {next_one}"
        handed = await call(client, "handoff_to_agent", to=next_one, reason=reason, task=reason)
        assert handed["status"] == "sent", handed
        given[me] = handed["handoff"]
        await barriers[1].pass_through()
        inbox = await call(client, "list_inbox")
        [waiting] = inbox["waiting"]
        before = f"a{(number - 2) % COUNT + 1}"
        assert (inbox["agent"], waiting["from"]) == (me, before), inbox
        taken = await call(client, "accept_handoff")
        assert taken["handoff"] == waiting["handoff"] == given[before], taken
        work = {"work": taken["handoff"]}
        await call(client, "report_progress", note="half", **work)
        await call(client, "return_handoff", result=f"{me} did it", **work)
        waited = await call(client, "await_handoff", handoff=handed["handoff"], seconds=50)
        assert waited["status"] == "done", waited
        assert f"{next_one} did it" in json.dumps(waited["result"]), waited
        await call(client, "return_handoff", result="all", work=handed["workflow"])
        await barriers[2].pass_through()
        # All of them are still there.
        if not seen:
            seen.update(look())
        await barriers[3].pass_through()


def processes():
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parent = int(entry.joinpath("stat").read_text().rpartition(")")[2].split()[1])
                words = entry.joinpath("cmdline").read_bytes().decode().split("\0")
                yield int(entry.name), parent, words, os.readlink(entry / "cwd")


def look():
    """What runs now, and what it needs, in kB."""
    memory, coordinators = {"VmRSS": [], "RssAnon": [], "Pss": []}, []
    for process, parent, words, place in processes():
        if parent == os.getpid() and words[1:2] == ["mcp"]:
            for what in memory:
                file = "smaps_rollup" if what == "Pss" else "status"
                lines = Path(f"/proc/{process}/{file}").read_text().splitlines()
                value = next(line for line in lines if line.startswith(f"{what}:"))
                memory[what].append(int(value.split()[1]))
        elif "serve" in words and place == WORKSPACE:
            coordinators.append(process)
    return {"memory": memory, "coordinators": coordinators}


async def main():
    given, seen = {}, {}
    barriers = [Barrier() for _ in range(4)]
    with anyio.fail_after(100):
        async with anyio.create_task_group() as group:
            for number in range(1, COUNT + 1):
                group.start_soon(session, number, given, barriers, seen)

    assert len(set(given.values())) == COUNT, given
    assert seen["coordinators"] == [ask("status")["pid"]], seen["coordinators"]
    for kind in ["initiated", "accepted", "completed"]:
        records = ask("audit", "log", "--type", kind, "--limit", "1000")["records"]
        ids = [record["audit"]["handoff_id"] for record in records]
        assert sorted(ids) == sorted(given.values()), f"{kind}: {len(ids)} of {COUNT}"
    works = [(work["status"], work["open_handoffs"]) for work in ask("list", "--all")]
    assert works == [("completed", 0)] * COUNT, works
    verified = ask("audit", "verify")
    assert verified["problem"] is None, verified

    print(f"{COUNT} sessions, 1 coordinator, {COUNT} handoffs, {verified['records']} records")
    for what, sizes in seen["memory"].items():
        assert len(sizes) == COUNT, f"{len(sizes)} processes were seen"
        median, most = statistics.median(sizes) / 1024, max(sizes) / 1024
        print(f"{what}: {median:.1f} MB median, {most:.1f} MB at most")
    assert max(seen["memory"]["Pss"]) < SESSION_KB_MAX, seen["memory"]["Pss"]


anyio.run(main)
