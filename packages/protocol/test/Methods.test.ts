import { Capabilities, type Initialize, Method, Methods, Revision, type Tool } from "@effect-mcp/protocol"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { inheritedNames } from "./wire.ts"

const roles: ReadonlyArray<Method.Role> = ["client", "server"]
const requests = Object.entries<Methods.AnyRequest>({ ...Methods.requests })
const notifications = Object.entries<Methods.AnyNotification>({ ...Methods.notifications })
const rows: ReadonlyArray<readonly [string, Methods.AnyRequest | Methods.AnyNotification]> = [
  ...requests,
  ...notifications
]

/** The schema of a capability that is there and says no more. */
const declares = (capabilities: Schema.Codec<unknown>, name: string) => Schema.is(capabilities)({ [name]: {} })

describe.each(rows)("%s", (key, row) => {
  it("bears the name it is found under", () => assert.strictEqual(row.name, key))

  it("is of the kind its table holds", () => {
    assert.strictEqual(row.kind, key in Methods.requests ? "request" : "notification")
    assert.strictEqual(row.kind === "notification", key.startsWith("notifications/"))
  })

  it("exists since a revision that is supported", () => {
    assert.isTrue(Revision.isRevision(row.since))
  })

  it("[INIT-15] needs a capability of the side that serves it, or of the one that tells", () => {
    if (row.capability === undefined) return
    const holder = row.from === "either"
      ? undefined
      : row.kind === "request"
      ? Method.peerOf(row.from)
      : row.from
    const capabilities = holder === "client" ? Capabilities.ClientCapabilities : Capabilities.ServerCapabilities
    assert.isDefined(holder, "a method that either side sends cannot need a capability of one side")
    // A capability by that name exists: it takes an object, and nothing that is none.
    assert.isTrue(declares(capabilities, row.capability))
    assert.isFalse(Schema.is(capabilities)({ [row.capability]: "yes" }))
  })

  it.each(roles)("is found by its name when sent by the %s, if that side may send it", (role) => {
    const find = row.kind === "request" ? Methods.findRequest : Methods.findNotification
    assert.strictEqual(find(key, role), row.from === role || row.from === "either" ? row : undefined)
  })

  it.each(roles)("is not found in the other table (%s)", (role) => {
    const find = row.kind === "request" ? Methods.findNotification : Methods.findRequest
    assert.strictEqual(find(key, role), undefined)
  })
})

it("no name stands in both tables", () => {
  assert.strictEqual(new Set(rows.map(([key]) => key)).size, rows.length)
})

it.each(inheritedNames)("the name %j, which every object knows, is no method", (name) => {
  for (const role of roles) {
    assert.strictEqual(Methods.findRequest(name, role), undefined)
    assert.strictEqual(Methods.findNotification(name, role), undefined)
  }
})

it.prop("nothing but the names of the table is found", [Schema.String], ([name]) => {
  for (const role of roles) {
    assert.strictEqual(Methods.findRequest(name, role) === undefined, !(Object.hasOwn(Methods.requests, name)))
    assert.strictEqual(
      Methods.findNotification(name, role) === undefined,
      !(Object.hasOwn(Methods.notifications, name))
    )
  }
}, { arbitrary: { runs: 300 } })

it("[INIT-01] [INIT-08] only a client initializes, and only a server logs", () => {
  assert.strictEqual(Methods.findRequest("initialize", "server"), undefined)
  assert.strictEqual(Methods.findNotification("notifications/initialized", "server"), undefined)
  assert.strictEqual(Methods.findNotification("notifications/message", "client"), undefined)
})

it("ping, cancellation and progress go both ways and need no capability", () => {
  for (const role of roles) {
    assert.strictEqual(Methods.findRequest("ping", role)?.capability, undefined)
    assert.isDefined(Methods.findRequest("ping", role))
    assert.isDefined(Methods.findNotification("notifications/cancelled", role))
    assert.isDefined(Methods.findNotification("notifications/progress", role))
  }
})

it("[TOOL-01] [LOG-01] tools and log messages need the server's capability", () => {
  assert.strictEqual(Methods.requests["tools/list"].capability, "tools")
  assert.strictEqual(Methods.requests["tools/call"].capability, "tools")
  assert.strictEqual(Methods.notifications["notifications/message"].capability, "logging")
})

it("the types derived from the table are those of its rows", () => {
  expectTypeOf<Methods.RequestName<"server">>().toEqualTypeOf<"ping">()
  expectTypeOf<Methods.RequestName<"client">>().toEqualTypeOf<"initialize" | "ping" | "tools/call" | "tools/list">()
  expectTypeOf<Methods.NotificationName<"client">>().toEqualTypeOf<
    "notifications/cancelled" | "notifications/initialized" | "notifications/progress"
  >()
  expectTypeOf<Methods.NotificationName<"server">>().toEqualTypeOf<
    "notifications/cancelled" | "notifications/message" | "notifications/progress"
  >()
  expectTypeOf<Methods.ParamsOf<"initialize">>().toEqualTypeOf<Initialize.InitializeParams>()
  expectTypeOf<Methods.ResultOf<"tools/call">>().toEqualTypeOf<Tool.CallToolResult>()
})
