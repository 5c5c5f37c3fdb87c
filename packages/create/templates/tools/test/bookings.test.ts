/** Random conversations of two clients with the tools, under faults and in virtual time, compared with a model. */
import { McpTypedClient } from "@effect-mcp/client"
import { McpServer } from "@effect-mcp/server"
import { Simulation } from "@effect-mcp/testing/simulation"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Bookings, BookingsLive, Seat, Seats, SeatTaken } from "../src/index.ts"

const info = { name: "test", version: "1.0.0" }
const input = Schema.Struct({ seat: Seat })
const done = Effect.as("done")

/** The conversations with the tools over some seats. Their model is the set of the booked seats. */
const conversations = (seats: Layer.Layer<Seats>) =>
  Simulation.make({
    server: McpServer.layer(BookingsLive, { info }),
    // All sessions of a conversation share the services.
    services: seats,
    model: new Set<Seat>(),
    clients: 2,
    concurrency: 2,
    commands: (command) => ({
      book: command({
        input,
        run: ({ client, input }) =>
          McpTypedClient.ofSession(client, Bookings).tools.book_seat(input).pipe(
            done,
            Effect.catchTag("SeatTaken", () => Effect.succeed("taken"))
          ),
        check: ({ input, model, result }) => result === (model.has(input.seat) ? "taken" : "done"),
        next: ({ input, model }) => new Set([...model, input.seat])
      }),
      cancel: command({
        input,
        run: ({ client, input }) =>
          McpTypedClient.ofSession(client, Bookings).tools.cancel_seat(input).pipe(
            done,
            Effect.catchTag("SeatFree", () => Effect.succeed("free"))
          ),
        check: ({ input, model, result }) => result === (model.has(input.seat) ? "done" : "free"),
        next: ({ input, model }) => new Set([...model].filter((seat) => seat !== input.seat))
      }),
      free: command({
        run: ({ client }) => McpTypedClient.ofSession(client, Bookings).tools.free_seats(),
        check: ({ model, result }) =>
          assert.deepStrictEqual(result.seats, Seat.literals.filter((seat) => !model.has(seat)))
      })
    })
  })

describe("the bookings", () => {
  it.effect("are as in the model, in any order and under faults", () =>
    Effect.gen(function*() {
      const passed = yield* Simulation.check(conversations(Seats.layerMemory), { runs: 50 })
      assert.strictEqual(passed.conversations, 50)
    }), 60_000)

  it.effect("of seats that are looked up first and booked later differ from the model", () =>
    Effect.gen(function*() {
      const racing = Layer.effect(
        Seats,
        Effect.map(Seats, (seats) =>
          Seats.of({
            ...seats,
            book: Effect.fnUntraced(function*(seat) {
              if (!(yield* seats.free).includes(seat)) return yield* new SeatTaken({ seat })
              yield* Effect.sleep("10 millis")
              yield* Effect.ignore(seats.book(seat))
            })
          }))
      ).pipe(Layer.provide(Seats.layerMemory))
      const error = yield* Effect.flip(Simulation.check(conversations(racing)))
      assert.strictEqual(error._tag === "ConversationFailedError" && error.law, "the model explains every result")
    }), 60_000)
})
