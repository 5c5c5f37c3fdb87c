/** The numbers and durations of a client's options, which are checked when it is created. */
import { McpClient, McpClients, McpTarget } from "@effect-mcp/client/node"
import { InvalidOptionError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"

const info = { name: "host", version: "1.0.0" }
const target = McpTarget.command("/no/such/program")

const defectOf = (make: Effect.Effect<unknown, never, Scope.Scope>): unknown => {
  const exit = Effect.runSyncExit(Effect.scoped(make))
  return Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
}

const wrong: ReadonlyArray<readonly [string, Partial<McpClients.Options>]> = [
  ["steadyAfter", { steadyAfter: -1 }],
  ["waitTimeout", { waitTimeout: Number.NaN }],
  ["maxMembers", { maxMembers: 0.5 }],
  ["maxCharacters", { maxCharacters: -1 }],
  ["listTimeout", { listTimeout: Number.NaN }],
  ["healthCheck.interval", { healthCheck: { interval: 0 } }],
  ["healthCheck.timeout", { healthCheck: { timeout: 0 } }],
  ["limits.requestTimeout", { limits: { requestTimeout: -1 } }]
]

describe("an option that makes no sense", () => {
  for (const [name, options] of wrong) {
    it(`${name}: the client is not created`, () => {
      const makes = [
        McpClient.make(target, { info, ...options }),
        McpClients.make({ one: target }, { info, ...options }),
        McpClients.make({ one: target }, { info, servers: { one: options } })
      ]
      for (const make of makes) {
        const defect = defectOf(make)
        assert(defect instanceof InvalidOptionError.InvalidOptionError, String(defect))
        assert.strictEqual(defect.option, name)
      }
    })
  }

  it("listWaitTimeout: the group is not created", () => {
    const defect = defectOf(McpClients.make({}, { info, listWaitTimeout: Number.NaN }))
    assert(defect instanceof InvalidOptionError.InvalidOptionError, String(defect))
    assert.strictEqual(defect.option, "listWaitTimeout")
  })

  it("no option has to be given, and false checks no health", () => {
    assert.isUndefined(defectOf(McpClient.make(target, { info, healthCheck: false })))
  })
})
