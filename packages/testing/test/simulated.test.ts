import { ServerSession, Transport } from "@effect-mcp/session"
import { Faults, SimulatedTransport } from "@effect-mcp/testing"
import { LawServer, type TransportLaws } from "@effect-mcp/testing/laws"
import { TransportSuite } from "@effect-mcp/testing/vitest"
import * as JsonLines from "@effect-mcp/transport/JsonLines"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"

type Form = NonNullable<SimulatedTransport.Options["form"]>

/** The client's end, the pair that it belongs to, and the server's session. */
type Served = TransportLaws.ClientEnd & {
  readonly pair: SimulatedTransport.Pair
  readonly session: ServerSession.ServerSession["Service"]
}

const subject = (form: Form, faults: Faults.Faults): TransportLaws.Subject<Served> => {
  // Each connection has its own random decisions, which are the same in each run.
  let seed = 0
  return {
    serve: Effect.gen(function*() {
      const pair = yield* SimulatedTransport.make({ seed: seed++, faults, form })
      const session = yield* ServerSession.make(LawServer.make(), LawServer.options).pipe(
        Effect.provideService(Transport.Transport, pair.server),
        Effect.provide(Logger.layer([]))
      )
      return { ...pair.client, pair, session }
    }),
    form,
    ended: ({ session }) => session.closed,
    shutDown: ({ session }) => Effect.asVoid(session.close),
    lossy: Faults.isLossy(faults),
    faults: {
      stall: {
        begin: ({ pair }) => Effect.sync(pair.toServer.stall),
        end: ({ pair }) => Effect.sync(pair.toServer.recover)
      },
      cut: ({ pair }) => Effect.sync(pair.cut),
      halfClose: ({ pair }) => Effect.sync(pair.toServer.end),
      failWrite: ({ pair }) => Effect.sync(pair.toServer.failNext),
      injectToClient: ({ pair }, bytes) => Effect.sync(() => pair.toClient.inject(bytes)),
      maxMessageBytes: JsonLines.defaultMaxMessageBytes,
      // With a stream for each request, injected data has no stream, and gets no reply.
      ...(form === "OneStream" && {
        injectToServer: ({ pair }: Served, bytes: Uint8Array) => Effect.sync(() => pair.toServer.inject(bytes))
      })
    }
  }
}

const orderKeeping: Readonly<Record<string, Faults.Faults>> = {
  "delay": { ...Faults.none, delay: 3 },
  "delay, split and merge": { ...Faults.none, delay: 3, split: true, merge: true }
}

const lossy: Readonly<Record<string, Faults.Faults>> = {
  "drop": { ...Faults.none, drop: true },
  "duplicate": { ...Faults.none, duplicate: true },
  "truncate": { ...Faults.none, truncate: true },
  "everything that loses": {
    delay: 3,
    split: true,
    merge: true,
    drop: true,
    duplicate: true,
    truncate: true,
    reorder: true
  }
}

for (const form of ["OneStream", "StreamPerRequest"] as const) {
  for (const [name, faults] of Object.entries({ ...orderKeeping, ...lossy })) {
    // Fewer than usual, for each of many faults. `pnpm simulate` runs for as long as one wishes.
    TransportSuite.suite(`simulated, ${form}, ${name}`, { ...subject(form, faults), runs: 6 })
  }
}
