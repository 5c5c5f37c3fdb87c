/** Groups in a `Simulation` and in a `TestSession`, with typed calls. */
import { McpTypedClient } from "@effect-mcp/client"
import { McpGroup, McpRequest, McpServer } from "@effect-mcp/server"
import { TestSession } from "@effect-mcp/testing"
import { Simulation } from "@effect-mcp/testing/simulation"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"

const info = { name: "bookings", version: "1.0.0" }

class Taken extends Context.Service<Taken, Ref.Ref<ReadonlyArray<string>>>()("Taken") {}
class SeatTaken extends Schema.TaggedError<SeatTaken>()("SeatTaken", { seat: Schema.String }) {}

const Seat = Schema.Struct({ seat: Schema.Literals(["1A", "1B"]) })

const Bookings = McpGroup.make(
  "bookings",
  Tool.make("book", { parameters: Seat, success: Schema.Finite, failure: SeatTaken }),
  Tool.make("ask", { success: Schema.Boolean })
)

/** With `isAtomic`, looking up a seat and taking it is one step. */
const live = (isAtomic: boolean) =>
  Bookings.toLayer((handlers) =>
    handlers
      .tool(
        "book",
        Effect.fnUntraced(function*({ seat }) {
          const taken = yield* Taken
          if (!isAtomic) {
            const seats = yield* Ref.get(taken)
            yield* Effect.sleep("10 millis")
            if (seats.includes(seat)) return yield* new SeatTaken({ seat })
            return (yield* Ref.updateAndGet(taken, (seats) => [...seats, seat])).length
          }
          yield* Effect.sleep("10 millis")
          const before = yield* Ref.getAndUpdate(taken, (seats) => seats.includes(seat) ? seats : [...seats, seat])
          return before.includes(seat) ? yield* new SeatTaken({ seat }) : before.length + 1
        })
      )
      .tool(
        "ask",
        () => Effect.map(McpRequest.elicit("Sure?", Schema.Struct({ sure: Schema.Boolean })), ({ sure }) => sure)
      )
  )

const services = Layer.effect(Taken, Ref.make<ReadonlyArray<string>>([]))

const simulation = (isAtomic: boolean) =>
  Simulation.make({
    server: McpServer.layer(live(isAtomic), { info }),
    services,
    model: new Set<string>(),
    concurrency: 2,
    commands: (command) => ({
      book: command({
        input: Seat,
        run: ({ client, input }) =>
          McpTypedClient.ofSession(client, Bookings).tools.book(input).pipe(
            Effect.as(true),
            Effect.catchTag("SeatTaken", () => Effect.succeed(false))
          ),
        check: ({ input, model, result }) => result === !model.has(input.seat),
        next: ({ input, model }) => new Set([...model, input.seat])
      })
    })
  })

describe("a group in a simulation", () => {
  it.effect(
    "with typed calls, whose declared failures are values, finds a seat that is booked twice",
    () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Simulation.check(simulation(false)))
        assert.strictEqual(error._tag, "ConversationFailedError")
        if (error._tag !== "ConversationFailedError") return
        assert.strictEqual(error.law, "the model explains every result")
        assert.isAtMost(error.steps.filter((step) => step.startsWith("client ")).length, 2, error.report)
      }),
    60_000
  )

  it.effect("passes with faults if it is right", () =>
    Effect.gen(function*() {
      const { conversations } = yield* Simulation.check(simulation(true), { runs: 60 })
      assert.strictEqual(conversations, 60)
    }), 60_000)

  it.effect("has a lost question as a failure of the tool, which the command expects", () =>
    Effect.gen(function*() {
      const asking = (isExpected: boolean) =>
        Simulation.make({
          server: McpServer.layer(live(true), { info }),
          services,
          faults: ["drop"],
          client: {
            revisions: ["2025-11-25"],
            handlers: {
              "elicitation/create": () => Effect.succeed({ action: "accept" as const, content: { sure: true } })
            }
          },
          commands: (command) => ({
            ask: command({
              run: ({ client }) => {
                const { ask } = McpTypedClient.ofSession(client, Bookings).tools
                return isExpected ? Effect.catchTag(ask(), "ToolFailedError", () => Effect.succeed(true)) : ask()
              },
              check: ({ result }) => result
            })
          })
        })
      assert.strictEqual((yield* Simulation.check(asking(true), { runs: 40 })).conversations, 40)
      const failed = yield* Effect.flip(Simulation.check(asking(false), { runs: 40 }))
      assert.include(failed.message, "elicitation/create: timed out")
    }), 60_000)
})

it.live("a group in a TestSession has its messages, and typed calls", () =>
  Effect.gen(function*() {
    const { client, sent } = yield* TestSession.make(yield* McpServer.makeStatelessHandlers(live(true)))
    const { book } = McpTypedClient.ofSession(client, Bookings).tools
    assert.strictEqual(yield* book({ seat: "1A" }), 1)
    assert.deepStrictEqual(yield* Effect.flip(book({ seat: "1A" })), new SeatTaken({ seat: "1A" }))
    const methods = (yield* sent("client")).map((message) => "method" in message ? message.method : message.id)
    assert.deepStrictEqual(methods, ["initialize", "notifications/initialized", "tools/call", "tools/call"])
  }).pipe(Effect.scoped, Effect.provide(services)))
