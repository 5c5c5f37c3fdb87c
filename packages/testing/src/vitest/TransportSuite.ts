/**
 * The laws of transports, as a suite of Vitest tests.
 *
 * @stability unstable
 */
import { describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as TransportLaws from "../laws/TransportLaws.ts"

/** The additional time of a test to release its resources, in milliseconds. */
const beyondMillis = 15_000

/**
 * Tests a transport in both eras, with a test for each law and a `describe` for each topic.
 *
 * @example
 * ```ts
 * import { LawServer } from "@effect-mcp/testing/laws"
 * import { TransportSuite } from "@effect-mcp/testing/vitest"
 * import { MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * TransportSuite.suite("memory", {
 *   serve: Effect.gen(function*() {
 *     const pair = yield* MemoryTransport.make()
 *     yield* ServerSession.make(LawServer.make(), LawServer.options).pipe(
 *       Effect.provideService(Transport.Transport, pair.server)
 *     )
 *     return pair.client
 *   })
 * })
 * ```
 *
 * @category suites
 */
export const suite = <Served extends TransportLaws.ClientEnd>(
  name: string,
  subject: TransportLaws.Subject<Served>
): void => {
  const testTimeout = Duration.toMillis(subject.timeout ?? TransportLaws.defaultTimeout) + beyondMillis
  const laws = TransportLaws.laws(subject)
  describe(name, () => {
    for (const topic of new Set(laws.map((law) => law.topic))) {
      describe(topic, () => {
        for (const law of laws) if (law.topic === topic) it.live(law.name, () => law.run, testTimeout)
      })
    }
  })
}
