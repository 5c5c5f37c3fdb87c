import { Revision } from "@effect-mcp/protocol"
import { assert, type Vitest } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Child from "../fixtures/child.ts"
import type { Path } from "../fixtures/httpServerPaths.ts"
import * as HttpServers from "../fixtures/httpServers.ts"
import { call, OfficialClient, type Target } from "../fixtures/officialClient.ts"
import type { Peer } from "../fixtures/officialClients.ts"
import { receivedSince } from "./results.ts"

/** Sends ping with a session id. Returns the status. */
const pingStatus = (url: string, sessionId: string | undefined) =>
  Effect.promise(async () => {
    const { status } = await fetch(url, {
      method: "POST",
      headers: {
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        ...(sessionId === undefined ? undefined : { "mcp-session-id": sessionId })
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
    })
    return status
  })

export const shutdownOverHttp = (it: Vitest.MethodsNonLive<HttpServers.HttpServers>, peer: Peer, path: Path) => {
  const revision = Revision.latestLegacy
  const testName = (name: string) => `with ${peer.name}: ${name}`
  const withClient = (connect: (target: Target) => ReturnType<Peer["connect"]>) =>
    Effect.provide(HttpServers.at(path, connect))
  const connected = withClient((target) => peer.connect(target, revision))
  const url = Effect.map(HttpServers.HttpServers, ({ target }) => {
    const server = target(path)
    assert(server._tag === "Address")
    return server.url
  })

  it.effect(
    testName(
      "[SHS-26] [SHS-28] the client ends its session: a call is interrupted, and later requests get 404"
    ),
    () =>
      Effect.gen(function*() {
        const { http, stderr } = yield* OfficialClient
        assert(http !== undefined)
        const id = http.sessionId()
        const calling = yield* Effect.forkChild(call("remind", { text: "the end", afterMs: 60_000 }))
        yield* Child.until(() => stderr().includes("reminder of the end: due"))
        assert.strictEqual(yield* pingStatus(yield* url, id), 200)
        yield* http.terminate
        assert.deepInclude(http.calls.at(-1), { method: "DELETE", status: 204 })
        assert.notProperty(yield* Fiber.join(calling), "text")
        yield* Child.until(() => stderr().includes("reminder of the end: cancelled"))
        assert.strictEqual(yield* pingStatus(yield* url, id), 404)
      }).pipe(connected)
  )

  it.effect(
    testName("[SHS-10] the client closes without DELETE: the session and an in-flight call continue"),
    () =>
      Effect.gen(function*() {
        const { close, http, stderr } = yield* OfficialClient
        assert(http !== undefined)
        const calling = yield* Effect.forkChild(call("remind", { text: "the start", afterMs: 60_000 }))
        yield* Child.until(() => stderr().includes("reminder of the start: due"))
        // These clients send nothing when they close.
        yield* close
        assert.notProperty(yield* Fiber.join(calling), "text")
        assert.isFalse(http.calls.some(({ method }) => method === "DELETE"))
        assert.strictEqual(yield* pingStatus(yield* url, http.sessionId()), 200)
        assert.notInclude(stderr(), "reminder of the start: cancelled")
      }).pipe(connected)
  )

  it.effect(
    testName("[INIT-15] [SMP-01] [ELI-01] [ROOT-01] sends no requests to a client without capabilities"),
    () =>
      Effect.gen(function*() {
        const { received } = yield* OfficialClient
        const before = received.length
        const failure = (method: string, capability: string) => ({
          text: `${method}: the peer has not declared the capability "${capability}", which this message needs`,
          isError: true
        })
        assert.deepStrictEqual(
          yield* call("summarize", { name: "plan" }),
          failure("sampling/createMessage", "sampling")
        )
        assert.deepStrictEqual(
          yield* call("erase", { name: "plan" }),
          failure("elicitation/create", "elicitation.form")
        )
        assert.deepStrictEqual(yield* call("roots", {}), failure("roots/list", "roots"))
        assert.strictEqual(receivedSince(received, before).length, 3)
      }).pipe(withClient((target) => peer.connectBare(target, revision)))
  )
}
