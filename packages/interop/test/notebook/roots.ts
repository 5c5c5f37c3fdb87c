import { McpError } from "@effect-mcp/protocol"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "../fixtures/child.ts"
import { call, heardOf, OfficialClient, result } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"
import { structure } from "./results.ts"

export const roots = ({ it }: Conditions) => {
  it.effect("[ROOT-04] takes a refusal of the client for a failure of the tool", () =>
    Effect.gen(function*() {
      const { answers } = yield* OfficialClient
      answers.roots = () => Effect.fail(McpError.methodNotFound("roots/list"))
      assert.deepStrictEqual(yield* call("roots", {}), {
        text: "roots/list: the peer replied with error -32601: Method not found: roots/list",
        isError: true
      })
    }))

  it.effect("[ROOT-01] [ROOT-03] asks the client where it may work", () =>
    Effect.gen(function*() {
      const { answers } = yield* OfficialClient
      const roots = [{ uri: "file:///home/ada", name: "home" }, { uri: "file:///srv/notes%20of%20hers" }]
      answers.roots = () => Effect.succeed({ roots })
      assert.deepStrictEqual(structure(yield* result("roots")), { roots })
    }))

  it.effect("[ROOT-02] asks again when the client says that it is elsewhere", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      const roots = [{ uri: "file:///tmp", name: "elsewhere" }]
      const logged = () => JSON.stringify(heardOf(client, "notifications/message"))
      client.answers.roots = () => Effect.succeed({ roots })
      yield* client.rootsListChanged
      yield* Child.until(() => logged().includes("number of roots: 1"))
      client.answers.roots = () => Effect.die(new Error("asked once too often"))
      assert.deepStrictEqual(structure(yield* result("roots")), { roots })
    }))
}
