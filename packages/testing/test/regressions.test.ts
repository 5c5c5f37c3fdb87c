import { MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
import { ScriptedPeer } from "@effect-mcp/testing"
import { LawServer } from "@effect-mcp/testing/laws"
import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as fs from "node:fs"

/** The forms of the transport. Every transcript holds over each. */
const forms = [
  { form: "one stream", pair: MemoryTransport.make() },
  { form: "a stream for each request", pair: MemoryTransport.makeMultiStream({ standalone: true }) }
] as const

/** The transcripts, and the defect that each shows. */
const transcripts = {
  secondInitialize: "a second initialize is refused, and what was agreed on stays",
  duplicateId: "a request with the id of one in flight is refused, and the first one goes on",
  zeroAndEmptyIds:
    "[PRG-01] [CAN-04] [MSG-03] the id 0, the id of no letters and the token 0 are an id, an id and a token",
  nullParams: "params: null are no params, in requests, in notifications and in a ping"
} as const

const read = (name: string): string =>
  fs.readFileSync(new URL(`transcripts/${name}.transcript`, import.meta.url), "utf8")

describe("transcripts of defects that were fixed", () => {
  for (const { form, pair } of forms) {
    for (const [file, name] of Object.entries(transcripts)) {
      it.effect(`${name}; ${form}`, () =>
        Effect.gen(function*() {
          const { client, server } = yield* pair
          yield* ServerSession.make(LawServer.make(), { ...LawServer.options, limits: { gracefulTimeout: 0 } })
            .pipe(
              Effect.provideService(Transport.Transport, server)
            )
          const playing = yield* ScriptedPeer.play(read(file)).pipe(
            Effect.provideService(Transport.Transport, client),
            Effect.forkScoped({ startImmediately: true })
          )
          // Passes every deadline and silence.
          yield* Effect.repeat(TestClock.adjust("1 second"), { times: 10 })
          yield* Fiber.join(playing)
        }))
    }
  }
})
