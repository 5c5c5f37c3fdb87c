/**
 * The laws of every transport. They are the same for all transports and in both eras; each fault that can be injected
 * adds more of them. Each law is an effect, which any test runner can run. `TransportSuite.suite` of the entry
 * `/vitest` makes a Vitest test of each.
 *
 * @stability unstable
 */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { bothEras } from "../internal/laws/bothEras.ts"
import { brokenConnections } from "../internal/laws/brokenConnections.ts"
import { cancellation } from "../internal/laws/cancellation.ts"
import { clientDisconnects } from "../internal/laws/clientDisconnects.ts"
import { failedWrites, halfClosedClients } from "../internal/laws/clientWrites.ts"
import { closing } from "../internal/laws/closing.ts"
import { discovery } from "../internal/laws/discovery.ts"
import { errors } from "../internal/laws/errors.ts"
import { clientFraming, serverFraming } from "../internal/laws/framing.ts"
import { handshake } from "../internal/laws/handshake.ts"
import { inEra, type Timeless } from "../internal/laws/Law.ts"
import * as LawContext from "../internal/laws/LawContext.ts"
import { listening } from "../internal/laws/listening.ts"
import { lossyConnections } from "../internal/laws/lossyConnections.ts"
import { matching } from "../internal/laws/matching.ts"
import { progress } from "../internal/laws/progress.ts"
import { rounds } from "../internal/laws/rounds.ts"
import { serverRequests } from "../internal/laws/serverRequests.ts"
import { stalledServer } from "../internal/laws/stalledServer.ts"
import type { Era, TransportLaw } from "./law/TransportLaw.ts"
import type { ClientEnd, Subject, SubjectFaults } from "./law/TransportSubject.ts"

export type { ClientEnd, Subject, SubjectFaults } from "./law/TransportSubject.ts"

/**
 * The error of a law that did not end in time. Usually something hangs that should have ended.
 *
 * @example
 * ```ts
 * import { TransportLaws } from "@effect-mcp/testing/laws"
 *
 * export const message = new TransportLaws.LawTimeoutError({ afterMillis: 15_000 }).message
 * // => "the law did not end within 15000 ms"
 * ```
 *
 * @category errors
 */
export class LawTimeoutError extends Data.TaggedError("LawTimeoutError")<{ readonly afterMillis: number }> {
  override get message(): string {
    return `the law did not end within ${this.afterMillis} ms`
  }
}

/**
 * The time limit of a law, in milliseconds, for a subject without `timeout`.
 *
 * @category constants
 */
export const defaultTimeout = 15_000

/** Returns the groups of laws for the faults of this subject. */
const underFaults = <Served extends ClientEnd>(
  context: LawContext.LawContext<Served>,
  faults: SubjectFaults<Served>
): ReadonlyArray<Timeless> => [
  ...faults.stall === undefined ? [] : stalledServer(context, faults.stall),
  ...faults.cut === undefined ? [] : brokenConnections(context, faults.cut),
  ...faults.halfClose === undefined ? [] : halfClosedClients(context, faults.halfClose),
  ...faults.failWrite === undefined ? [] : failedWrites(context, faults.failWrite),
  ...faults.injectToClient === undefined
    ? []
    : clientFraming(context, faults.injectToClient, faults.maxMessageBytes),
  ...faults.injectToServer === undefined ? [] : serverFraming(context, faults.injectToServer)
]

/** Returns the laws that exist in one era only. */
const ofOneEra = <Served extends ClientEnd>(
  context: LawContext.LawContext<Served>,
  subject: Subject<Served>
): ReadonlyArray<Timeless> =>
  context.era === "legacy"
    ? handshake(context)
    : [...discovery(context), ...bothEras(context), ...rounds(context), ...listening(context, subject.shutDown)]

const lawsOf = <Served extends ClientEnd>(subject: Subject<Served>, era: Era): ReadonlyArray<Timeless> => {
  const context = LawContext.make(subject, era)
  if (subject.lossy === true) return lossyConnections(context)
  return [
    ...ofOneEra(context, subject),
    ...matching(context),
    ...progress(context),
    ...cancellation(context),
    ...errors(context),
    ...serverRequests(context),
    ...closing(context),
    ...subject.ended === undefined ? [] : clientDisconnects(context, subject.ended, subject.faults?.stall),
    ...underFaults(context, subject.faults ?? {})
  ]
}

/**
 * Returns the laws for a transport, in both eras unless the subject is `handshakeOnly`. They run on the real clock and
 * are independent, so any number of them may run at once.
 *
 * @example
 * ```ts
 * import { MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
 * import { LawServer, TransportLaws } from "@effect-mcp/testing/laws"
 * import * as Effect from "effect/Effect"
 *
 * const laws = TransportLaws.laws({
 *   serve: Effect.gen(function*() {
 *     const pair = yield* MemoryTransport.make()
 *     yield* ServerSession.make(LawServer.make(), LawServer.options).pipe(
 *       Effect.provideService(Transport.Transport, pair.server)
 *     )
 *     return pair.client
 *   })
 * })
 *
 * const handshake = laws.filter(({ topic }) => topic === "handshake")
 * export const kept = Effect.as(Effect.forEach(handshake, ({ run }) => run), true) // => true
 * ```
 *
 * @category laws
 */
export const laws = <Served extends ClientEnd>(subject: Subject<Served>): ReadonlyArray<TransportLaw> => {
  const afterMillis = Duration.toMillis(subject.timeout ?? defaultTimeout)
  const inTime = (run: TransportLaw["run"]): TransportLaw["run"] =>
    Effect.timeoutOrElse(run, {
      duration: afterMillis,
      orElse: () => Effect.fail(new LawTimeoutError({ afterMillis }))
    })
  const eras: ReadonlyArray<Era> = subject.handshakeOnly === true ? ["legacy"] : ["legacy", "modern"]
  return eras.flatMap((era) => inEra(era, lawsOf(subject, era))).map((law) => ({ ...law, run: inTime(law.run) }))
}
