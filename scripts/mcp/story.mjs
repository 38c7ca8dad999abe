// A whole delegation, played by the official TypeScript client as alice and bob.
//
//   story.mjs BATON stdio|http REVISION
//
// It runs in a new workspace that knows both. Over HTTP, STORY_URL says where the coordinator
// listens, and STORY_TOKEN_ALICE and STORY_TOKEN_BOB who asks. STORY_MODULES is the folder in which
// the clients are installed. Revision 2025-11-25 is spoken by the first generation of the client,
// which most coding agents still have inside, the others by the second. Both check each structured
// answer against the schema that the tool advertises.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [baton, transport, revision] = process.argv.slice(2);
const isNew = revision === "2026-07-28";
const isFirst = revision === "2025-11-25";
// Over HTTP, the newest revision has no sessions: nobody remembers what an agent took.
const remembers = !(isNew && transport === "http");
const url = new URL("/mcp", process.env.STORY_URL ?? "http://127.0.0.1");
const require = createRequire(`${process.env.STORY_MODULES}/`);
const kit = isFirst
    ? {
          ...require("@modelcontextprotocol/sdk/client/index.js"),
          ...require("@modelcontextprotocol/sdk/client/stdio.js"),
          ...require("@modelcontextprotocol/sdk/client/streamableHttp.js"),
          ...require("@modelcontextprotocol/sdk/types.js"),
      }
    : {
          ...require("@modelcontextprotocol/client"),
          ...require("@modelcontextprotocol/client/stdio"),
      };
const token = (agent) => process.env[`STORY_TOKEN_${agent.toUpperCase()}`];
const seconds = (count) => ({ timeout: count * 1000 });

function line(name) {
    if (transport === "stdio") {
        const args = ["mcp", "--agent", name];
        return new kit.StdioClientTransport({ command: baton, args, cwd: process.cwd() });
    }
    const headers = { authorization: `Bearer ${token(name)}` };
    return new kit.StreamableHTTPClientTransport(url, { requestInit: { headers } });
}

class Agent {
    static async begin(name) {
        const agent = new Agent();
        agent.name = name;
        agent.heard = [];
        const versions = isNew
            ? { versionNegotiation: { mode: { pin: revision } } }
            : { supportedProtocolVersions: [revision] };
        const client = new kit.Client({ name: `story-${name}`, version: "1" }, versions);
        agent.client = client;
        const method = "notifications/resources/updated";
        const kind = isFirst ? kit.ResourceUpdatedNotificationSchema : method;
        client.setNotificationHandler(kind, ({ params }) => {
            agent.heard.push(params.uri);
            agent.onheard?.();
        });
        const way = line(name);
        await client.connect(way, seconds(60));
        const spoken = isFirst ? way.protocolVersion : client.getNegotiatedProtocolVersion();
        if (spoken !== undefined) assert.equal(spoken, revision);
        assert.equal(client.getServerVersion().name, "baton");
        assert.match(client.getInstructions(), /list_inbox/);
        return agent;
    }

    ask(tool, args, options) {
        const params = { name: tool, arguments: args };
        return isFirst
            ? this.client.callTool(params, undefined, options)
            : this.client.callTool(params, options);
    }

    /** Calls a tool that must succeed; what it says in words is what it says in JSON. */
    async call(tool, args = {}, options = seconds(60)) {
        const result = await this.ask(tool, args, options);
        assert.ok(!result.isError, `${this.name}: ${tool}: ${result.content[0]?.text}`);
        assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
        return result.structuredContent;
    }

    /** Calls a tool that must refuse, in words that a model can act on. */
    async refused(tool, args, code) {
        const result = await this.ask(tool, args, seconds(60));
        const text = result.content[0].text;
        assert.ok(result.isError, `${this.name}: ${tool} did not refuse: ${text}`);
        assert.match(text, new RegExp(`\ncode: ${code}\nhint: .`));
    }

    async read(uri) {
        const { contents } = await this.client.readResource({ uri });
        assert.deepEqual([contents.length, contents[0].uri], [1, uri]);
        assert.equal(contents[0].mimeType, "application/json");
        return JSON.parse(contents[0].text);
    }

    async complete(ref, name, value) {
        const { completion } = await this.client.complete({ ref, argument: { name, value } });
        return completion.values;
    }

    async resources() {
        return (await this.client.listResources()).resources.map(({ uri }) => uri);
    }

    /** Waits until so many notices came. */
    async heardOf(count) {
        const late = AbortSignal.timeout(30_000);
        while (this.heard.length < count) {
            await new Promise((resolve, reject) => {
                this.onheard = resolve;
                late.onabort = () => reject(new Error(`${this.name} heard of ${this.heard.length}`));
            });
        }
    }
}

/** Does something while an agent watches a resource, and lets it hear of the change. */
async function watched(agent, uri, action) {
    let subscription;
    if (isNew) {
        subscription = await agent.client.listen({ resourceSubscriptions: [uri] });
        assert.deepEqual(subscription.honoredFilter.resourceSubscriptions, [uri]);
        // The first notice says that it begins.
        await agent.heardOf(1);
    } else {
        await agent.client.subscribeResource({ uri });
    }
    const before = agent.heard.length;
    const done = await action();
    await agent.heardOf(before + 1);
    assert.ok(agent.heard.every((heard) => heard === uri));
    await (isNew ? subscription.close() : agent.client.unsubscribeResource({ uri }));
    return done;
}

async function offers(agent) {
    const { tools } = await agent.client.listTools();
    assert.equal(tools.length, 16);
    for (const tool of tools) {
        assert.deepEqual([tool.inputSchema.type, tool.outputSchema.type], ["object", "object"]);
    }
    const { prompts } = await agent.client.listPrompts();
    const names = prompts.map(({ name }) => name);
    assert.deepEqual(names, ["accept_handoff", "escalation_review"]);
    const { resourceTemplates } = await agent.client.listResourceTemplates();
    const templates = resourceTemplates.map(({ uriTemplate }) => uriTemplate);
    assert.ok(templates.includes("baton://handoffs/{handoff}/audit"));
    const uris = await agent.resources();
    assert.ok(uris.includes("baton://inbox") && uris.includes("baton://agents"));
}

async function errors(agent) {
    await agent.refused("accept_handoff", { handoff: "abcdef01" }, "not-found");
    await agent.refused("report_progress", { note: "on nothing" }, "not-holder");
    await agent.refused("find_agents", { colour: "red" }, "bad-input");
    // What is not there has a code of its own in the older revisions; the second generation of the
    // client shows the newer one where the answer says what was looked for.
    const gone = ({ code }) => (code === -32002 ? !isNew : code === -32602 && !isFirst);
    const { client } = agent;
    await assert.rejects(agent.ask("no_such_tool", {}), { code: -32602 });
    await assert.rejects(client.readResource({ uri: "baton://nothing" }), gone);
    await assert.rejects(client.readResource({ uri: "baton://handoffs/0-0" }), gone);
    await assert.rejects(client.getPrompt({ name: "no_such_prompt" }), { code: -32602 });
}

async function delegation(alice, bob) {
    const task = "Parse every date; done when the tests pass";
    await offers(alice);
    await offers(bob);
    const { agents } = await alice.call("find_agents");
    const names = agents.map(({ agent }) => agent);
    assert.ok(names.includes("alice") && names.includes("bob"));

    const handed = await watched(bob, "baton://inbox", () =>
        alice.call("handoff_to_agent", {
            to: "bob",
            reason: "bob knows dates",
            task,
            context: { branch: "dates" },
            artifacts: ["src/dates.rs"],
        }),
    );
    assert.deepEqual([handed.status, handed.to], ["sent", "bob"]);
    const { handoff, workflow } = handed;

    const inbox = await bob.call("list_inbox");
    assert.deepEqual([inbox.agent, inbox.waiting.length], ["bob", 1]);
    assert.deepEqual([inbox.waiting[0].handoff, inbox.waiting[0].from], [handoff, "alice"]);
    assert.equal((await bob.read("baton://inbox")).waiting[0].id, handoff);
    assert.ok((await bob.resources()).includes(`baton://handoffs/${handoff}`));

    const prompt = { type: "ref/prompt", name: "accept_handoff" };
    assert.deepEqual(await bob.complete(prompt, "handoff", handoff.slice(0, 6)), [handoff]);
    const template = { type: "ref/resource", uri: "baton://agents/{agent}" };
    assert.deepEqual(await bob.complete(template, "agent", "al"), ["alice"]);
    const brief = await bob.client.getPrompt({ name: "accept_handoff", arguments: { handoff } });
    assert.equal(brief.messages[0].role, "user");
    assert.ok(brief.messages[0].content.text.includes(task));

    const taken = await bob.call("accept_handoff", { handoff: handoff.slice(0, 8) });
    assert.deepEqual([taken.handoff, taken.workflow], [handoff, workflow]);
    for (const part of [task, "dates", "src/dates.rs"]) {
        assert.ok(JSON.stringify(taken.package).includes(part), part);
    }
    const under = remembers ? {} : { fence: taken.fence, work: handoff };
    if (!remembers) await bob.refused("report_progress", { note: "which?" }, "fence-needed");
    const other = { note: "under no fence of mine", fence: taken.fence + 7, work: handoff };
    await bob.refused("report_progress", other, "unknown-fence");
    const noted = await bob.call("report_progress", { note: "half", percent: 50, ...under });
    assert.equal(noted.status, "noted");
    const paths = ["src/dates.rs"];
    const locked = await bob.call("lock_files", { paths, ...under });
    assert.deepEqual(locked, { locked: paths, workflow });
    const added = await bob.call("add_artifact", { path: paths[0], kind: "code", ...under });
    assert.equal(added.status, "added");

    // What is not over in time is pending; that is no error.
    const pending = await alice.call("await_handoff", { handoff, seconds: 1 });
    assert.deepEqual([pending.status, pending.state], ["pending", "accepted"]);

    // Alice waits, and is told that she does; bob brings the result back once she was.
    const signs = [];
    let told;
    const wasTold = new Promise((resolve) => (told = resolve));
    const onprogress = (sign) => told(signs.push(sign));
    const wait = { handoff, seconds: 50 };
    const giveBack = async () => {
        await wasTold;
        const result = { summary: "all dates parse", tests: 12 };
        return bob.call("return_handoff", { result, note: "done", ...under });
    };
    const [waited, back] = await Promise.all([
        alice.call("await_handoff", wait, { onprogress, ...seconds(90) }),
        giveBack(),
    ]);
    assert.equal(back.status, "returned");
    assert.deepEqual([waited.status, waited.state], ["done", "completed"]);
    assert.ok(JSON.stringify(waited.result).includes("all dates parse"));
    assert.ok(signs[0].progress > 0 && signs[0].progress < 50 && signs[0].total === 50);
    assert.match(signs[0].message, /bob/);
    const got = await alice.call("get_handoff", { handoff: handoff.slice(0, 8) });
    // It tells more: what travelled with it, and what its holder said on the way.
    const { context, progress, ...rest } = got;
    assert.ok(JSON.stringify(context).includes("src/dates.rs"), progress);
    assert.deepEqual(rest, waited);
    assert.equal((await alice.call("list_inbox")).results[0].handoff, handoff);
    assert.deepEqual((await bob.call("list_inbox")).holding, []);

    const { records } = await alice.read(`baton://handoffs/${handoff}/audit`);
    const story = records.map(({ event, by }) => [event.type, by]);
    assert.deepEqual(story, [
        ["initiated", "alice"],
        ["accepted", "bob"],
        ["completed", "bob"],
    ]);
    await errors(bob);
}

/** Nobody uses the session of another, and nobody comes in without a token. */
async function strangers() {
    const ask = async (headers, method, id, params) => {
        const common = { "content-type": "application/json" };
        common.accept = "application/json, text/event-stream";
        const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
        const answer = await fetch(url, { method: "POST", headers: { ...common, ...headers }, body });
        await answer.text();
        return [answer.status, answer.headers.get("mcp-session-id")];
    };
    const [mine, other] = ["alice", "bob"].map((name) => ({
        authorization: `Bearer ${token(name)}`,
    }));
    const clientInfo = { name: "stranger", version: "1" };
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    assert.equal((await ask({}, "initialize", 1, params))[0], 401);
    const [status, session] = await ask(mine, "initialize", 1, params);
    assert.equal(status, 200);
    const held = { "mcp-session-id": session, "mcp-protocol-version": "2025-06-18" };
    await ask({ ...mine, ...held }, "notifications/initialized");
    assert.equal((await ask({ ...other, ...held }, "tools/list", 2))[0], 404);
    assert.equal((await ask(held, "tools/list", 3))[0], 401);
    assert.equal((await ask({ ...mine, ...held }, "tools/list", 4))[0], 200);
}

const [alice, bob] = await Promise.all([Agent.begin("alice"), Agent.begin("bob")]);
try {
    await delegation(alice, bob);
    if (transport === "http") await strangers();
} finally {
    await Promise.all([alice.client.close(), bob.client.close()]);
}
