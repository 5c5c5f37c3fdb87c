import { Revision } from "@effect-mcp/protocol"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { misreadBy } from "../../../protocol/test/revisions.ts"
import { OfficialClient, result } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"
import { members, structure } from "./results.ts"

export const handshake = ({ it, revision }: Conditions) => {
  it.effect("[INIT-04] [INIT-07] sends its implementation, its instructions and its capabilities", () =>
    Effect.gen(function*() {
      const client = yield* OfficialClient
      assert.strictEqual(client.revision, revision)
      assert.deepInclude(client.server, { name: "notebook", version: "0.1.0" })
      assert.match(client.instructions ?? "", /^Notes are resources/)
      assert.deepInclude(client.capabilities, {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {}
      })
      assert.deepInclude(client.capabilities, { completions: {} })
      assert.hasAllKeys(client.server, ["name", "title", "version", "description", "websiteUrl", "icons"])
    }))

  it.effect("[PING-01] answers ping", () => Effect.flatMap(OfficialClient, ({ request }) => request.ping))

  it.effect("[PING-01] [INIT-02] pings the client, and knows its implementation and its capabilities", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(structure(yield* result("status")), {
        client: "official 1.0.0",
        revision,
        capabilities: Revision.isAtLeast(revision, "2025-06-18")
          ? ["elicitation", "roots", "sampling"]
          : ["roots", "sampling"],
        isAlive: true
      })
    }))

  it.effect("[INIT-13] its initialize result has nothing that a reader of the revision would misread", () =>
    Effect.gen(function*() {
      const { received } = yield* OfficialClient
      assert.deepStrictEqual(misreadBy(revision, "initialize", "result", members(received[0])["result"]), [])
    }))
}
