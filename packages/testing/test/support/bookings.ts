/** Servers that book seats: a correct one, and others with one fault each. */
import { Content, McpError } from "@effect-mcp/protocol"
import { ServerSession } from "@effect-mcp/session"
import { Simulation } from "@effect-mcp/testing/simulation"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"

export const Seat = Schema.Struct({ seat: Schema.Literals(["1A", "1B", "2A"]) })

/**
 * - `correct`: checks and books a seat in one step.
 * - `racing`: checks, waits for its store, and books.
 * - `forgetful`: frees a seat a second after it was cancelled.
 * - `leaking`: starts a fiber for each booking that never ends.
 * - `dying`: dies if a seat is taken.
 */
export type Fault = "correct" | "racing" | "forgetful" | "leaking" | "dying"

/** Creates a server and its seats. */
export const makeServer = (fault: Fault) =>
  Effect.gen(function*() {
    const taken = yield* Ref.make<ReadonlyArray<string>>([])
    const free = (seat: string) => Ref.update(taken, (seats) => seats.filter((one) => one !== seat))
    const take = (seat: string) =>
      Ref.modify(
        taken,
        (seats): [boolean, ReadonlyArray<string>] => seats.includes(seat) ? [false, seats] : [true, [...seats, seat]]
      )
    const book = Effect.fnUntraced(function*(seat: string) {
      if (fault === "racing") {
        if ((yield* Ref.get(taken)).includes(seat)) return false
        yield* Effect.sleep(5)
        yield* Ref.update(taken, (seats) => [...seats, seat])
        return true
      }
      if (fault === "leaking") yield* Effect.forkDetach(Effect.never)
      yield* Effect.sleep(5)
      const isBooked = yield* take(seat)
      return fault === "dying" && !isBooked ? yield* Effect.die(new Error(`${seat} is taken`)) : isBooked
    })
    return ServerSession.handlers({
      "tools/call": ({ arguments: input, name }) =>
        Effect.gen(function*() {
          const { seat } = yield* Schema.decodeUnknownEffect(Seat)(input).pipe(
            Effect.mapError(() => McpError.invalidParams("seat: not a seat"))
          )
          switch (name) {
            case "book":
              return { content: [], isError: !(yield* book(seat)) }
            case "cancel":
              yield* fault === "forgetful"
                ? Effect.forkDetach(Effect.andThen(Effect.sleep(1000), free(seat)))
                : free(seat)
              return { content: [] }
            default:
              return { content: (yield* Ref.get(taken)).map(Content.text) }
          }
        })
    })
  })

/** Simulates a server that books seats. The model is the set of seats that are taken. */
export const bookings = (
  fault: Fault,
  options: Pick<Parameters<typeof Simulation.make>[0], "clients" | "concurrency" | "faults" | "maxSteps"> = {}
) =>
  Simulation.make({
    server: makeServer(fault),
    model: new Set<string>(),
    ...options,
    commands: (command) => ({
      book: command({
        input: Seat,
        run: ({ client, input }) => client.callTool("book", input),
        check: ({ input, model, result }) => result.isError === model.has(input.seat),
        next: ({ input, model }) => new Set([...model, input.seat])
      }),
      cancel: command({
        input: Seat,
        when: ({ input, model }) => model.has(input.seat),
        run: ({ client, input }) => client.callTool("cancel", input),
        next: ({ input, model }) => new Set([...model].filter((seat) => seat !== input.seat))
      })
    })
  })
