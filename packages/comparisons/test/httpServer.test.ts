/** Program b: a server over HTTP with sessions, bearer tokens, and tasks of each user. */
import { Tool } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { compare } from "./fixtures/comparison.ts"
import * as HttpProgram from "./fixtures/httpProgram.ts"

/** The users of the program, and what was measured while it started. */
class Users extends Context.Service<Users, {
  readonly ada: ClientSession.ClientSessionShape
  readonly bob: ClientSession.ClientSessionShape
  /** The ids of sessions of ada. */
  readonly ids: readonly [kept: string, deleted: string, ended: string]
  /** The status of a session that was not used for longer than the limit. */
  readonly idleStatus: number
}>()("test/Users") {}

/** Connects a client as a user, for as long as the scope lives. */
const connect = Effect.fnUntraced(function*(token: string) {
  const { port } = yield* HttpProgram.Address
  const transport = StreamableHttpClient.layerNode({
    url: `http://127.0.0.1:${port}/mcp`,
    headers: { authorization: `Bearer ${token}` }
  })
  const session = ClientSession.layer({ info: { name: "comparison", version: "1.0.0" } })
  return Context.get(yield* Layer.build(Layer.provide(session, transport)), ClientSession.ClientSession)
})

const idleStatusOf = Effect.fnUntraced(function*(file: string) {
  const address = yield* HttpProgram.run(file, { SESSION_IDLE_MILLIS: "100" })
  return yield* HttpProgram.sessionOf("ada").pipe(
    Effect.tap(Effect.sleep("600 millis")),
    Effect.flatMap((id) => HttpProgram.ping("ada", id)),
    Effect.provideService(HttpProgram.Address, address)
  )
}, Effect.scoped)

/** Starts the program twice. FastMCP takes a second to open a session, therefore all are opened at once. */
const start = (file: string) =>
  Layer.effectContext(Effect.gen(function*() {
    const opened = Effect.gen(function*() {
      const address = yield* HttpProgram.run(file)
      const sessions = yield* Effect.all({
        ada: connect("ada"),
        bob: connect("bob"),
        ids: Effect.all([HttpProgram.sessionOf("ada"), HttpProgram.sessionOf("ada"), HttpProgram.sessionOf("ada")], {
          concurrency: "unbounded"
        })
      }, { concurrency: "unbounded" }).pipe(Effect.provideService(HttpProgram.Address, address))
      return { address, sessions }
    })
    const [{ address, sessions }, idleStatus] = yield* Effect.all([opened, idleStatusOf(file)], {
      concurrency: "unbounded"
    })
    return Context.make(HttpProgram.Address, address).pipe(Context.add(Users, { ...sessions, idleStatus }))
  }))

const titlesOf = (result: Tool.CallToolResult) => {
  const { tasks } = Tool.structuredMembers(result)
  assert(Array.isArray(tasks))
  return tasks.map(({ title }) => title)
}

const health = Effect.gen(function*() {
  const { body, status } = yield* HttpProgram.send("GET", "/health", {})
  assert.strictEqual(status, 200)
  assert.deepStrictEqual(JSON.parse(body), { ok: true })
})

const challenges = Effect.gen(function*() {
  for (const token of [undefined, "eve"]) {
    const { headers, status } = yield* HttpProgram.open(token)
    assert.strictEqual(status, 401)
    assert.match(headers["www-authenticate"] ?? "", /^Bearer /)
    assert.isUndefined(headers["mcp-session-id"])
  }
})

const separatesUsers = Effect.gen(function*() {
  const { ada, bob } = yield* Users
  const coffee = Tool.structuredMembers(yield* ada.callTool("add_task", { title: "coffee" }))
  yield* bob.callTool("add_task", { title: "tea" })
  for (const [user, own, foreign] of [[ada, "coffee", "tea"], [bob, "tea", "coffee"]] as const) {
    const titles = titlesOf(yield* user.callTool("list_tasks"))
    assert.include(titles, own)
    assert.notInclude(titles, foreign)
  }
  const id = coffee["id"]
  const stolen = yield* bob.callTool("complete_task", { id })
  assert.isTrue(stolen.isError)
  assert.deepStrictEqual(stolen.content, [{ type: "text", text: `There is no task ${String(id)}` }])
  const completed = yield* ada.callTool("complete_task", { id })
  assert.deepStrictEqual(completed.structuredContent, { id, title: "coffee", done: true })
  const { contents: [content] } = yield* ada.readResource("tasks://all")
  assert(content !== undefined && "text" in content)
  assert.deepInclude(JSON.parse(content.text), completed.structuredContent)
})

const deletes = Effect.gen(function*() {
  const { ids: [, id] } = yield* Users
  assert.strictEqual(yield* HttpProgram.ping("ada", id), 200)
  assert.oneOf(yield* HttpProgram.deleteSession("ada", id), [200, 204])
  assert.strictEqual(yield* HttpProgram.ping("ada", id), 404)
})

const unknownSession = Effect.gen(function*() {
  assert.strictEqual(yield* HttpProgram.ping("ada", "5a2d3f1c-7b1e-4a53-9a44-0c6f6d3f9b10"), 404)
})

const foreignSession = Effect.gen(function*() {
  const { ids: [id] } = yield* Users
  assert.strictEqual(yield* HttpProgram.ping("bob", id), 404)
  assert.strictEqual(yield* HttpProgram.deleteSession("bob", id), 404)
  assert.strictEqual(yield* HttpProgram.ping("ada", id), 200)
})

const sharedSession = Effect.gen(function*() {
  const { bob, ids: [id, , ended] } = yield* Users
  yield* bob.callTool("add_task", { title: "milk" })
  yield* HttpProgram.callTool("ada", id, "add_task", { title: "secret" })
  const { body, status } = yield* HttpProgram.callTool("bob", id, "list_tasks", {})
  assert.strictEqual(status, 200)
  assert.include(body, "milk")
  assert.notInclude(body, "secret")
  assert.oneOf(yield* HttpProgram.deleteSession("bob", ended), [200, 204])
  assert.strictEqual(yield* HttpProgram.ping("ada", ended), 404)
})

const statusWith = (header: "origin" | "host", value: string, expected: number) =>
  Effect.gen(function*() {
    const { ids: [id] } = yield* Users
    assert.strictEqual(yield* HttpProgram.ping("ada", id, { [header]: value }), expected)
  })

/** Opens 110 sessions. Returns how many of them exist then. */
const countSessions = Effect.gen(function*() {
  const opened = yield* Effect.forEach(Array.from({ length: 110 }), () => HttpProgram.openSession("ada"), {
    concurrency: "unbounded"
  })
  const ids = opened.filter((id) => id !== undefined)
  const statuses = yield* Effect.forEach(ids, (id) => HttpProgram.ping("ada", id), { concurrency: 10 })
  return statuses.filter((status) => status === 200).length
})

const idleSession = (status: number) => Effect.map(Users, ({ idleStatus }) => assert.strictEqual(idleStatus, status))

const unlimited = {
  "for another user a session does not exist": {
    instead: "another user can use and end a session, and gets tasks of their own in it",
    check: sharedSession
  },
  "a request for a foreign host gets 403": {
    instead: "serves a request for a foreign host, as DNS rebinding sends it",
    check: statusWith("host", "evil.example", 200)
  },
  "a session that is not used ends": {
    instead: "a session that is not used stays",
    check: idleSession(200)
  },
  "at most 100 sessions exist": {
    instead: "any number of sessions exist",
    check: Effect.map(countSessions, (count) => assert.strictEqual(count, 110))
  }
}

compare({
  program: "b",
  start,
  behaviours: {
    "answers /health without a token": health,
    "a request without a known token gets 401 and a challenge": challenges,
    "each user has tasks of their own": separatesUsers,
    "DELETE ends a session": deletes,
    "an unknown session gets 404": unknownSession,
    "for another user a session does not exist": foreignSession,
    "a request of a foreign origin gets 403": statusWith("origin", "https://evil.example", 403),
    "a request for a foreign host gets 403": statusWith("host", "evil.example", 403),
    "a session that is not used ends": idleSession(404),
    "at most 100 sessions exist": Effect.map(countSessions, (count) => assert.isAtMost(count, 100))
  },
  deviations: {
    fastmcp: {
      ...unlimited,
      "a request of a foreign origin gets 403": {
        instead: "serves a request of a foreign origin",
        check: statusWith("origin", "https://evil.example", 200)
      }
    },
    "effect-ai": unlimited
  }
})
