/** A transport whose first response arrives before its session reads, as `fetch` of some platforms does. */
import { JsonRpc, RequestMetadata, Revision } from "@effect-mcp/protocol"
import { ClientSession, Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

/** Answers each request at once, and ends its stream with the answer. */
const quick = (): Transport.Transport["Service"] => ({
  connect: Effect.sync((): Transport.Connection => {
    const buffered: Array<Transport.Inbound> = []
    let deliver = (inbound: Transport.Inbound): void => void buffered.push(inbound)
    const answer = ({ id, method }: JsonRpc.Request): object =>
      method === "server/discover"
        ? JsonRpc.success(id, {
          resultType: "complete",
          supportedVersions: [Revision.latest],
          capabilities: { tools: {} },
          _meta: { [RequestMetadata.keys.serverInfo]: { name: "quick", version: "1.0.0" } }
        })
        : method === "initialize"
        ? JsonRpc.success(id, {
          protocolVersion: Revision.latestLegacy,
          capabilities: { tools: {} },
          serverInfo: { name: "quick", version: "1.0.0" }
        })
        : JsonRpc.success(id, { content: [] })
    return {
      run: (subscriber) =>
        Effect.suspend(() => {
          for (const inbound of buffered) subscriber(inbound)
          deliver = subscriber
          return Effect.never
        }),
      send: () => Effect.void,
      request: (message) => Effect.sync(() => deliver({ frame: Result.succeed(answer(message)) }))
    }
  })
})

describe("a response that is quicker than the reader of its session", () => {
  for (const revision of [Revision.latest, Revision.latestLegacy]) {
    it.effect(`completes its request (${revision})`, () =>
      Effect.gen(function*() {
        const session = yield* Effect.provideService(
          ClientSession.make({ info: { name: "test", version: "1.0.0" }, revisions: [revision] }),
          Transport.Transport,
          quick()
        )
        assert.strictEqual(session.profile.revision, revision)
      }))
  }
})
