// Written by `baton setup opencode`; `baton setup opencode --remove` takes it away.
//
// Tells Baton what a session does: signs of life, notices of new handoffs, and whether a file may
// be edited. One file for OpenCode 1 (`server`) and OpenCode 2 (`setup`). Whatever goes wrong in
// here, the session goes on as if there were no Baton.
import { spawn } from "node:child_process"

const program = "PROGRAM"
const agent = "AGENT"
const LIMIT_MS = 5000
// It has no names for them.
const SUBAGENT = { agent_type: "task" }
const EDITORS = new Set(["edit", "write", "patch", "multiedit", "apply_patch"])

// Baton reads one JSON object and answers with nothing, or with one of "deny" (do not run the tool),
// "context" (what the model should know) and "go_on" (what it should read before it stops).
function ask(event, about) {
  return new Promise((resolve) => {
    let said = ""
    const done = () => {
      try {
        resolve(JSON.parse(said))
      } catch {
        resolve({})
      }
    }
    try {
      const words = ["hook", event, "--agent", agent, "--client", "opencode"]
      const child = spawn(program, words, {
        cwd: about.cwd,
        timeout: LIMIT_MS,
        stdio: ["pipe", "pipe", "ignore"],
      })
      child.on("error", () => resolve({}))
      child.on("close", done)
      child.stdin.on("error", () => {})
      child.stdout.on("data", (bytes) => (said += bytes))
      child.stdin.end(JSON.stringify(about))
    } catch {
      resolve({})
    }
  })
}

// What each session has been told; it is told again with every request, as a system prompt is. What a
// subagent's session does, its parent does: it is not told anything, and leaves no trace of its own.
function memory(cwd) {
  const told = new Map()
  const parents = new Map()
  const about = (name, session, more = {}) => ({
    hook_event_name: name,
    session_id: parents.get(session) ?? session,
    cwd,
    ...more,
  })
  const adopt = (child, parent) => parents.set(child, parents.get(parent) ?? parent)
  const isChild = (session) => parents.has(session)
  const hear = async (session, event, name) => {
    const { context } = await ask(event, about(name, session))
    if (context) told.set(session, [...(told.get(session) ?? []), context].slice(-5))
  }
  const begin = async (session) => {
    if (!session || told.has(session) || isChild(session)) return
    told.set(session, [])
    await hear(session, "session-start", "SessionStart")
  }
  const forget = (session) => {
    told.delete(session)
    return parents.delete(session)
  }
  const texts = (session) => told.get(session) ?? []
  return { about, adopt, isChild, hear, begin, forget, texts }
}

async function before(about, session, tool, input) {
  if (!EDITORS.has(tool)) return
  const facts = { tool_name: tool, tool_input: input }
  const { deny } = await ask("pre-tool-use", about("PreToolUse", session, facts))
  if (deny) throw new Error(deny)
}

const after = (about, session, tool, input) =>
  ask("post-tool-use", about("PostToolUse", session, { tool_name: tool, tool_input: input }))

// OpenCode 1
async function server({ client, directory }) {
  const { about, adopt, isChild, hear, begin, forget, texts } = memory(directory)
  const prompted = new Set()
  return {
    "chat.message": async ({ sessionID }) => {
      // What we said ourselves is no person's word.
      if (isChild(sessionID) || prompted.delete(sessionID)) return
      await begin(sessionID)
      await hear(sessionID, "user-prompt", "UserPromptSubmit")
    },
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      await begin(sessionID)
      output.system.push(...texts(sessionID))
    },
    "tool.execute.before": ({ sessionID, tool }, { args }) => before(about, sessionID, tool, args),
    "tool.execute.after": async ({ sessionID, tool, args }) =>
      void after(about, sessionID, tool, args),
    "experimental.session.compacting": async ({ sessionID }) => {
      await ask("pre-compact", about("PreCompact", sessionID))
    },
    event: async ({ event }) => {
      const { sessionID, info } = event.properties ?? {}
      const session = sessionID ?? info?.id
      if (event.type === "session.created" && info?.parentID) {
        adopt(session, info.parentID)
        await ask("subagent-start", about("SubagentStart", session, SUBAGENT))
      } else if (event.type === "session.idle" && isChild(session)) {
        await ask("subagent-stop", about("SubagentStop", session, SUBAGENT))
      } else if (event.type === "session.idle") {
        const { go_on } = await ask("stop", about("Stop", session))
        // Not awaited: the answer to it is a turn of its own, which ends with this event again.
        const body = { parts: [{ type: "text", text: go_on }] }
        if (go_on) {
          prompted.add(session)
          client.session.prompt({ path: { id: session }, body }).catch(() => {})
        }
      } else if (event.type === "session.deleted") {
        if (!forget(session)) await ask("stop", about("SessionEnd", session))
      }
    },
  }
}

// OpenCode 2
async function setup(ctx) {
  const { about, hear, begin, texts } = memory(process.cwd())
  const prompts = new Map()
  await ctx.tool.hook("execute.before", (event) =>
    before(about, event.sessionID, event.tool, event.input),
  )
  await ctx.tool.hook(
    "execute.after",
    (event) => void after(about, event.sessionID, event.tool, event.input),
  )
  await ctx.session.hook("context", async (event) => {
    const session = event.sessionID
    await begin(session)
    const asked = (event.messages ?? []).filter((message) => message.role === "user").length
    if (asked > (prompts.get(session) ?? 0)) {
      prompts.set(session, asked)
      await hear(session, "user-prompt", "UserPromptSubmit")
    }
    for (const text of texts(session)) event.system.push({ type: "text", text })
  })
  await ctx.session.hook("compaction", async (event) => {
    await ask("pre-compact", about("PreCompact", event.sessionID))
  })
}

export default { id: "baton", server, setup }
