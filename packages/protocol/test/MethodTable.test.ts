import {
  Capabilities,
  type Elicitation,
  type Initialize,
  MethodDefinition,
  MethodTable,
  Revision,
  type Task,
  type Tool
} from "@effect-mcp/protocol"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { inheritedNames } from "./wire.ts"

const roles: ReadonlyArray<MethodDefinition.Role> = ["client", "server"]
const requests = Object.entries<MethodTable.AnyRequest>({ ...MethodTable.requests })
const notifications = Object.entries<MethodTable.AnyNotification>({ ...MethodTable.notifications })
const rows: ReadonlyArray<readonly [string, MethodTable.AnyRequest | MethodTable.AnyNotification]> = [
  ...requests,
  ...notifications
]

/** The methods that were introduced after the first revision. */
const later: ReadonlyMap<string, Revision.Revision> = new Map([
  ["elicitation/create", "2025-06-18"],
  ["notifications/elicitation/complete", "2025-11-25"],
  ["tasks/get", "2025-11-25"],
  ["tasks/result", "2025-11-25"],
  ["tasks/list", "2025-11-25"],
  ["tasks/cancel", "2025-11-25"],
  ["notifications/tasks/status", "2025-11-25"],
  ["server/discover", "2026-07-28"],
  ["subscriptions/listen", "2026-07-28"],
  ["notifications/subscriptions/acknowledged", "2026-07-28"]
])

/** The methods that revision 2026-07-28 has. Questions to a client are parts of results there. */
const modern: ReadonlySet<string> = new Set([
  "server/discover",
  "subscriptions/listen",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "notifications/subscriptions/acknowledged",
  "notifications/cancelled",
  "notifications/progress",
  "notifications/message",
  "notifications/resources/updated",
  "notifications/resources/list_changed",
  "notifications/tools/list_changed",
  "notifications/prompts/list_changed"
])

/** Returns capabilities that declare this path: nested objects, with a flag or an object at the end. */
const declaring = (path: string, end: unknown): unknown =>
  path.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), end)

/** Returns whether the schema has this capability: it accepts a flag or an object for it, and rejects a string. */
const exists = (codec: Schema.Codec<unknown>, path: string): boolean =>
  (Schema.is(codec)(declaring(path, {})) || Schema.is(codec)(declaring(path, true))) &&
  !Schema.is(codec)(declaring(path, "yes"))

describe.each(rows)("%s", (key, row) => {
  it("has the name of its key", () => assert.strictEqual(row.name, key))

  it("has the kind of its table", () => {
    assert.strictEqual(row.kind, key in MethodTable.requests ? "request" : "notification")
    assert.strictEqual(row.kind === "notification", key.startsWith("notifications/"))
  })

  it("was introduced in a supported revision", () => {
    assert.isTrue(Revision.isRevision(row.since))
  })

  it("a request requires an existing capability of its receiver, a notification of its sender", () => {
    if (row.capability === undefined) return
    const senders = roles.filter((role) =>
      MethodTable.findRequest(key, role) ?? MethodTable.findNotification(key, role)
    )
    assert.isNotEmpty(senders)
    for (const sender of senders) {
      const holder = row.kind === "request" ? MethodDefinition.peerOf(sender) : sender
      const { [holder]: codec } = { client: Capabilities.ClientCapabilities, server: Capabilities.ServerCapabilities }
      assert.isTrue(exists(codec, row.capability), `${row.capability} of the ${holder}`)
    }
  })

  it("has the revision that introduced it", () => {
    assert.strictEqual(row.since, later.get(key) ?? "2024-11-05")
  })

  it("has the last revision before that which removed it", () => {
    assert.strictEqual(row.until, modern.has(key) ? undefined : "2025-11-25")
  })

  it.each(roles)("is found by its name for the %s only if that side may send it", (role) => {
    const find = row.kind === "request" ? MethodTable.findRequest : MethodTable.findNotification
    assert.strictEqual(find(key, role), row.from === role || row.from === "either" ? row : undefined)
  })

  it.each(roles)("is not found in the other table (%s)", (role) => {
    const find = row.kind === "request" ? MethodTable.findNotification : MethodTable.findRequest
    assert.strictEqual(find(key, role), undefined)
  })
})

it("no name is in both tables", () => {
  assert.strictEqual(new Set(rows.map(([key]) => key)).size, rows.length)
})

it.each(inheritedNames)("the inherited name %j is not a method", (name) => {
  for (const role of roles) {
    assert.strictEqual(MethodTable.findRequest(name, role), undefined)
    assert.strictEqual(MethodTable.findNotification(name, role), undefined)
  }
})

it.prop("only the names of the table are found", [Schema.String], ([name]) => {
  for (const role of roles) {
    assert.strictEqual(MethodTable.findRequest(name, role) === undefined, !(Object.hasOwn(MethodTable.requests, name)))
    assert.strictEqual(
      MethodTable.findNotification(name, role) === undefined,
      !(Object.hasOwn(MethodTable.notifications, name))
    )
  }
}, { arbitrary: { runs: 300 } })

it("[INIT-01] [INIT-08] only a client sends initialize, and only a server sends log messages", () => {
  assert.strictEqual(MethodTable.findRequest("initialize", "server"), undefined)
  assert.strictEqual(MethodTable.findNotification("notifications/initialized", "server"), undefined)
  assert.strictEqual(MethodTable.findNotification("notifications/message", "client"), undefined)
})

it("both sides may send ping, cancellations and progress without a capability", () => {
  for (const role of roles) {
    assert.strictEqual(MethodTable.findRequest("ping", role)?.capability, undefined)
    assert.isDefined(MethodTable.findRequest("ping", role))
    assert.isDefined(MethodTable.findNotification("notifications/cancelled", role))
    assert.isDefined(MethodTable.findNotification("notifications/progress", role))
  }
})

const required: ReadonlyArray<readonly [ids: string, Capabilities.Path, ReadonlyArray<string>]> = [
  ["[TOOL-01]", "tools", ["tools/list", "tools/call"]],
  ["[TOOL-02]", "tools.listChanged", ["notifications/tools/list_changed"]],
  ["[RES-01]", "resources", ["resources/list", "resources/templates/list", "resources/read"]],
  ["[RES-01]", "resources.subscribe", [
    "resources/subscribe",
    "resources/unsubscribe",
    "notifications/resources/updated"
  ]],
  ["[RES-02]", "resources.listChanged", ["notifications/resources/list_changed"]],
  ["[PRM-01]", "prompts", ["prompts/list", "prompts/get"]],
  ["[PRM-02]", "prompts.listChanged", ["notifications/prompts/list_changed"]],
  ["[CMP-01]", "completions", ["completion/complete"]],
  ["[LOG-01]", "logging", ["logging/setLevel", "notifications/message"]],
  ["[SMP-01]", "sampling", ["sampling/createMessage"]],
  ["[ELI-01]", "elicitation", ["elicitation/create"]],
  ["[ROOT-01]", "roots", ["roots/list"]],
  ["[ROOT-02]", "roots.listChanged", ["notifications/roots/list_changed"]],
  ["for tasks:", "tasks", ["tasks/get", "tasks/result", "notifications/tasks/status"]],
  ["for tasks:", "tasks.list", ["tasks/list"]],
  ["for tasks:", "tasks.cancel", ["tasks/cancel"]]
]

it.each(required)("%s %s is required for exactly %j", (_, path, names) => {
  assert.sameMembers(rows.filter(([, row]) => row.capability === path).map(([key]) => key), [...names])
})

it("the handshake, ping, cancellation and progress require no capability", () => {
  assert.sameMembers(rows.filter(([, row]) => row.capability === undefined).map(([key]) => key), [
    "initialize",
    "ping",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    // It is sent only to a client that received a URL elicitation.
    "notifications/elicitation/complete",
    "server/discover",
    "subscriptions/listen",
    "notifications/subscriptions/acknowledged"
  ])
})

it("each method has the sender that the specification gives it", () => {
  const sent = (role: MethodDefinition.Role) => rows.filter(([, row]) => row.from === role).map(([key]) => key)
  assert.sameMembers(sent("server"), [
    "sampling/createMessage",
    "elicitation/create",
    "roots/list",
    "notifications/message",
    "notifications/resources/updated",
    "notifications/resources/list_changed",
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/elicitation/complete",
    "notifications/subscriptions/acknowledged"
  ])
  assert.sameMembers(sent("client"), [
    "server/discover",
    "subscriptions/listen",
    "initialize",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "notifications/initialized",
    "notifications/roots/list_changed"
  ])
})

it("the types derived from the table match its rows", () => {
  type Tasks = "tasks/get" | "tasks/result" | "tasks/list" | "tasks/cancel"
  expectTypeOf<MethodTable.RequestName<"server">>().toEqualTypeOf<
    "ping" | "sampling/createMessage" | "elicitation/create" | "roots/list" | Tasks
  >()
  expectTypeOf<MethodTable.RequestName<"client">>().toEqualTypeOf<
    Exclude<keyof MethodTable.Requests, "sampling/createMessage" | "elicitation/create" | "roots/list">
  >()
  expectTypeOf<MethodTable.NotificationName<"client">>().toEqualTypeOf<
    | "notifications/cancelled"
    | "notifications/initialized"
    | "notifications/progress"
    | "notifications/roots/list_changed"
    | "notifications/tasks/status"
  >()
  expectTypeOf<MethodTable.NotificationName<"server">>().toEqualTypeOf<
    Exclude<keyof MethodTable.Notifications, "notifications/initialized" | "notifications/roots/list_changed">
  >()
  expectTypeOf<MethodTable.ParamsOf<"initialize">>().toEqualTypeOf<Initialize.InitializeParams>()
  expectTypeOf<MethodTable.ResultOf<"tools/call">>().toEqualTypeOf<Tool.CallToolResult>()
  expectTypeOf<MethodTable.ParamsOf<"elicitation/create">>().toEqualTypeOf<Elicitation.ElicitParams>()
  expectTypeOf<MethodTable.ResultOf<"tasks/get">>().toEqualTypeOf<Task.TaskResult>()
  expectTypeOf<MethodTable.NotificationParamsOf<"notifications/tasks/status">>().toEqualTypeOf<Task.TaskResult>()
})
