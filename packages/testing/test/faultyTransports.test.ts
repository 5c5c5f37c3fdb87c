/** Transports that break laws of revision 2026-07-28, and the laws that detect them. */
import { MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
import { LawServer, type TransportLaw, TransportLaws } from "@effect-mcp/testing/laws"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Faulty from "./fixtures/faultyTransports.ts"

type Served = TransportLaws.ClientEnd & { readonly session: ServerSession.ServerSession["Service"] }

type Options = Pick<TransportLaws.Subject<Served>, "form" | "lossy">

const lawsOf = (
  pair: Effect.Effect<MemoryTransport.Pair>,
  options: Options
): ReadonlyArray<TransportLaw.TransportLaw> =>
  TransportLaws.laws<Served>({
    ...options,
    // Most of these laws hang. A short time limit is enough, because a broken law does not hold later either.
    timeout: "1 second",
    serve: Effect.gen(function*() {
      const ends = yield* pair
      const session = yield* ServerSession.make(LawServer.make(), {
        ...LawServer.options,
        limits: { gracefulTimeout: 100 }
      }).pipe(
        Effect.provideService(Transport.Transport, ends.server),
        Effect.provide(Logger.layer([]))
      )
      return { ...ends.client, session }
    }),
    shutDown: ({ session }) => Effect.asVoid(session.close)
  }).filter(({ era }) => era === "modern")

interface Fault extends Options {
  readonly pair: Effect.Effect<MemoryTransport.Pair>
  /** Parts of the names of laws that the transport breaks. */
  readonly breaks: ReadonlyArray<string>
}

const faults: { readonly [mistake: string]: Fault } = {
  "removes the metadata of requests": {
    pair: Faulty.withoutMetadata,
    breaks: ["a new session knows its server without a handshake"]
  },
  "repeats the metadata of the first request in each later one": {
    pair: Faulty.pinnedMetadata,
    breaks: [
      "a request with other metadata is rejected with its own error",
      "interleaved requests of both eras are each answered in their own",
      "the capabilities of one request are not those of the next"
    ]
  },
  "removes params that older revisions do not have": {
    pair: Faulty.withoutAnswers,
    breaks: [
      "a question is the one reply to its request, and the retry has its own",
      "a retry can be cancelled, and gets no reply then",
      "a question without a retry leaves nothing at the server",
      "a handler asks the client again and again",
      "interrupting a call after the client was asked"
    ]
  },
  "removes such params from a lossy connection": {
    pair: Faulty.withoutAnswers,
    lossy: true,
    breaks: ["every call that asks the client ends, and a result has the answers to its own questions"]
  },
  "sends a request only after the response to the one before": {
    pair: Faulty.oneAtATime,
    breaks: ["a request waits for no other one", "a change reaches each client that follows it"]
  },
  "drops cancellations": {
    pair: Faulty.withoutCancellations,
    breaks: [
      "a retry can be cancelled, and gets no reply then",
      "several streams end and continue independently of each other",
      "interrupting the caller interrupts the handler, once",
      "interrupting a call after the client was asked"
    ]
  },
  "does not tell the server that the stream of a request was closed": {
    pair: Faulty.withoutAbandoning,
    form: "StreamPerRequest",
    breaks: [
      "a retry can be cancelled, and gets no reply then",
      "several streams end and continue independently of each other",
      "interrupting the caller interrupts the handler, once",
      "interrupting a call after the client was asked"
    ]
  },
  "keeps the messages of a request until its response": {
    pair: Faulty.buffering,
    form: "StreamPerRequest",
    breaks: [
      "the acknowledgement comes first, and then what the client asked for",
      "a client that reads a list whose changes it follows is notified of those that the server has sent alone",
      "several streams end and continue independently of each other",
      "a change reaches each client that follows it"
    ]
  },
  "sends no response after a notification of its stream": {
    pair: Faulty.firstMessageOnly,
    form: "StreamPerRequest",
    breaks: [
      "a server that shuts down ends the stream with a result",
      "every step is delivered, in order, before the result",
      "a handler's log message reaches the client, before the result"
    ]
  },
  "starts a fiber that never ends for each message": {
    pair: Faulty.leaking,
    breaks: [
      "after the scope has closed, also while the client is asked, no fiber and no exchange is left",
      "after the scope of a client that listens has closed no fiber and no stream is left"
    ]
  }
}

describe("a transport breaks laws if it", () => {
  for (const [mistake, { breaks, pair, ...options }] of Object.entries(faults)) {
    it.live(mistake, () =>
      Effect.gen(function*() {
        const broken = breaks.map((part) => lawsOf(pair, options).filter(({ name }) => name.includes(part)))
        assert.deepStrictEqual(broken.map(({ length }) => length), breaks.map(() => 1))
        const kept = yield* Effect.forEach(
          broken.flat(),
          ({ name, run }) => Effect.map(Effect.exit(run), (exit) => Exit.isSuccess(exit) ? [name] : []),
          { concurrency: 4 }
        )
        assert.deepStrictEqual(kept.flat(), [])
      }), 60_000)
  }

  it("makes one of these mistakes for each law that only revision 2026-07-28 has", () => {
    const parts = Object.values(faults).flatMap(({ breaks }) => breaks)
    const topics = ["discovery", "several clients", "rounds", "listening"].map((topic) => `${topic} (2026-07-28)`)
    const laws = lawsOf(MemoryTransport.make(), {}).filter(({ topic }) => topics.includes(topic))
    assert.deepStrictEqual(new Set(laws.map(({ topic }) => topic)), new Set(topics))
    assert.deepStrictEqual(laws.filter(({ name }) => !parts.some((part) => name.includes(part))), [])
  })
})
