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

/** The methods that the first revision did not have. */
const later: ReadonlyMap<string, Revision.Revision> = new Map([
  ["elicitation/create", "2025-06-18"],
  ["notifications/elicitation/complete", "2025-11-25"],
  ["tasks/get", "2025-11-25"],
  ["tasks/result", "2025-11-25"],
  ["tasks/list", "2025-11-25"],
  ["tasks/cancel", "2025-11-25"],
  ["notifications/tasks/status", "2025-11-25"]
])

/** What declares a capability: an object in an object for every name of its path, with a flag or an object at the end. */
const declaring = (path: string, end: unknown): unknown =>
  path.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), end)

/** Is there a capability by that name? Then it takes a flag or an object, and nothing else. */
const exists = (codec: Schema.Codec<unknown>, path: string): boolean =>
  (Schema.is(codec)(declaring(path, {})) || Schema.is(codec)(declaring(path, true))) &&
  !Schema.is(codec)(declaring(path, "yes"))

describe.each(rows)("%s", (key, row) => {
  it("bears the name it is found under", () => assert.strictEqual(row.name, key))

  it("is of the kind its table holds", () => {
    assert.strictEqual(row.kind, key in MethodTable.requests ? "request" : "notification")
    assert.strictEqual(row.kind === "notification", key.startsWith("notifications/"))
  })

  it("exists since a revision that is supported", () => {
    assert.isTrue(Revision.isRevision(row.since))
  })

  it("[INIT-15] needs a capability that exists, of the side that serves it, or of the one that tells", () => {
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

  it("exists since the revision that has it first", () => {
    assert.strictEqual(row.since, later.get(key) ?? "2024-11-05")
  })

  it.each(roles)("is found by its name when sent by the %s, if that side may send it", (role) => {
    const find = row.kind === "request" ? MethodTable.findRequest : MethodTable.findNotification
    assert.strictEqual(find(key, role), row.from === role || row.from === "either" ? row : undefined)
  })

  it.each(roles)("is not found in the other table (%s)", (role) => {
    const find = row.kind === "request" ? MethodTable.findNotification : MethodTable.findRequest
    assert.strictEqual(find(key, role), undefined)
  })
})

it("no name stands in both tables", () => {
  assert.strictEqual(new Set(rows.map(([key]) => key)).size, rows.length)
})

it.each(inheritedNames)("the name %j, which every object knows, is no method", (name) => {
  for (const role of roles) {
    assert.strictEqual(MethodTable.findRequest(name, role), undefined)
    assert.strictEqual(MethodTable.findNotification(name, role), undefined)
  }
})

it.prop("nothing but the names of the table is found", [Schema.String], ([name]) => {
  for (const role of roles) {
    assert.strictEqual(MethodTable.findRequest(name, role) === undefined, !(Object.hasOwn(MethodTable.requests, name)))
    assert.strictEqual(
      MethodTable.findNotification(name, role) === undefined,
      !(Object.hasOwn(MethodTable.notifications, name))
    )
  }
}, { arbitrary: { runs: 300 } })

it("[INIT-01] [INIT-08] only a client initializes, and only a server logs", () => {
  assert.strictEqual(MethodTable.findRequest("initialize", "server"), undefined)
  assert.strictEqual(MethodTable.findNotification("notifications/initialized", "server"), undefined)
  assert.strictEqual(MethodTable.findNotification("notifications/message", "client"), undefined)
})

it("ping, cancellation and progress go both ways and need no capability", () => {
  for (const role of roles) {
    assert.strictEqual(MethodTable.findRequest("ping", role)?.capability, undefined)
    assert.isDefined(MethodTable.findRequest("ping", role))
    assert.isDefined(MethodTable.findNotification("notifications/cancelled", role))
    assert.isDefined(MethodTable.findNotification("notifications/progress", role))
  }
})

const needs: ReadonlyArray<readonly [ids: string, Capabilities.Path, ReadonlyArray<string>]> = [
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
  ["of tasks:", "tasks", ["tasks/get", "tasks/result", "notifications/tasks/status"]],
  ["of tasks:", "tasks.list", ["tasks/list"]],
  ["of tasks:", "tasks.cancel", ["tasks/cancel"]]
]

it.each(needs)("%s %s is needed for exactly %j", (_, path, names) => {
  assert.sameMembers(rows.filter(([, row]) => row.capability === path).map(([key]) => key), [...names])
})

it("what the handshake, the liveness and the end of requests take needs no capability", () => {
  assert.sameMembers(rows.filter(([, row]) => row.capability === undefined).map(([key]) => key), [
    "initialize",
    "ping",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    // Only a client that was asked by page hears of it.
    "notifications/elicitation/complete"
  ])
})

it("each side sends what is its own, and either what is common", () => {
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
    "notifications/elicitation/complete"
  ])
  assert.sameMembers(sent("client"), [
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

it("the types derived from the table are those of its rows", () => {
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
