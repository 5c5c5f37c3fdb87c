import { Content, type JsonRpc, Revision, Tool } from "@effect-mcp/protocol"
import { type ClientSession, RequestContext, ServerSession, Transport } from "@effect-mcp/session"
import { Simulation, type SimulationError } from "@effect-mcp/testing/simulation"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import { bookings, makeServer, Seat } from "../support/bookings.ts"

const failure = (
  simulation: Simulation.Simulation,
  options?: Simulation.Options
): Effect.Effect<SimulationError.ConversationFailedError, unknown> =>
  Effect.flatMap(
    Effect.flip(Simulation.check(simulation, options)),
    (error) => error._tag === "ConversationFailedError" ? Effect.succeed(error) : Effect.fail(error)
  )

const call = ({ client }: { readonly client: ClientSession.ClientSessionShape }) => client.callTool("call")

const reply = Effect.succeed({ content: [Content.text("done")] })

/** A counter that sessions share. */
class Counter extends Context.Service<Counter, Ref.Ref<number>>()("test/Counter") {}

const counting = {
  "tools/call": () =>
    Effect.gen(function*() {
      const value = yield* Ref.updateAndGet(yield* Counter, (value) => value + 1)
      return { content: [], structuredContent: { value } }
    })
}

describe("a simulation of a server", () => {
  it.effect(
    "passes without a bug, under all faults, with two clients and commands that overlap",
    () =>
      Effect.gen(function*() {
        const faults = [...Simulation.faults]
        const passed = yield* Simulation.check(bookings("correct", { clients: 2, concurrency: 3, faults }), {
          runs: 150
        })
        assert.strictEqual(passed.conversations, 150)
        assert.isAbove(passed.commands["book"] ?? 0, 500)
        assert.isAbove(passed.commands["cancel"] ?? 0, 50)
      }),
    { timeout: 60_000 }
  )

  it.effect("finds a race and shrinks it to two commands", () =>
    Effect.gen(function*() {
      const { law, message, steps } = yield* failure(bookings("racing", { concurrency: 3 }))
      assert.strictEqual(law, "the model explains every result")
      assert.lengthOf(steps, 2)
      assert.match(steps[0] ?? "", /^client 0: book \{"seat":"(..)"\}$/)
      assert.strictEqual(steps[1], `${steps[0]}, while others are in flight`)
      assert.include(message, "no order of the commands that overlap explains all results")
      assert.include(message, "faults of the wires: none")
      assert.match(message, /to reproduce it, pass \{ seed: \d+, runs: 1 \} to Simulation\.check$/)
    }), { timeout: 60_000 })

  it.effect("finds a stale state without overlapping commands", () =>
    Effect.gen(function*() {
      const { problem, steps } = yield* failure(bookings("forgetful"))
      assert.deepStrictEqual(steps.map((step) => step.split(" ")[2]), ["book", "cancel", "book"])
      assert.match(problem, /^book .* returned .*"isError":true.*: its check returned false \(model: Set\(\[\]\)\)$/)
    }), { timeout: 60_000 })

  it.effect("[law 13] a seed reproduces a failure message for message", () =>
    Effect.gen(function*() {
      const simulation = () => bookings("racing", { clients: 2, concurrency: 3 })
      const first = yield* failure(simulation())
      const again = yield* failure(simulation(), { seed: first.seed, runs: 1 })
      assert.strictEqual(again.message, first.message)
    }), { timeout: 60_000 })

  it.effect("reports state that survives a conversation", () =>
    Effect.gen(function*() {
      let calls = 0
      const { message } = yield* failure(Simulation.make({
        server: { "tools/call": () => Effect.sync(() => ({ content: [Content.text(String(calls++))] })) },
        commands: (command) => ({ call: command({ run: call, check: () => calls < 3 }) })
      }))
      assert.include(message, "takes another course when it is repeated")
    }))

  it.effect(
    "accepts a failure that a fault explains, and rejects the same failure without a fault",
    () =>
      Effect.gen(function*() {
        const slow = (faults: ReadonlyArray<Simulation.FaultName>) =>
          Simulation.make({
            server: { "tools/call": () => Effect.andThen(Effect.sleep(500), reply) },
            faults,
            concurrency: 2,
            commands: (command) => ({ call: command({ run: ({ client }) => client.callTool("call") }) })
          })
        yield* Simulation.check(slow(["cut", "stall", "drop", "interrupt"]), { runs: 100 })
        const { problem, steps } = yield* failure(Simulation.make({
          server: { "tools/call": () => Effect.andThen(Effect.sleep(500), reply) },
          commands: (command) => ({
            call: command({ run: ({ client }) => client.callTool("call", {}, { timeout: 100 }) })
          })
        }))
        assert.deepStrictEqual(steps, ["client 0: call"])
        assert.match(problem, /^call failed: tools\/call: timed out after 100 ms; .*, and no fault explains it/)
      }),
    { timeout: 60_000 }
  )

  it.effect("passes a server that repeats requests only if the model expects duplicates", () =>
    Effect.gen(function*() {
      const counter = Simulation.make({
        server: counting,
        services: Layer.effect(Counter, Ref.make(0)),
        faults: ["duplicate"],
        model: 0,
        commands: (command) => ({
          count: command({
            run: call,
            check: ({ model, result }) => Tool.structuredMembers(result)["value"] === model + 1,
            next: ({ model }) => model + 1
          })
        })
      })
      assert.strictEqual((yield* failure(counter)).law, "the model explains every result")
    }), { timeout: 60_000 })
})

describe("the laws of every server", () => {
  it.effect("law 2: a fiber that is left fails the conversation", () =>
    Effect.gen(function*() {
      const { law, problem, steps } = yield* failure(bookings("leaking"))
      assert.strictEqual(law, "law 2: nothing is left")
      assert.match(problem, /^1 fibers are alive/)
      assert.lengthOf(steps, 1)
    }), { timeout: 60_000 })

  /** Serves over a transport that repeats some messages: it stands for a server with this bug. */
  const repeating = (isRepeated: (message: JsonRpc.Frame) => boolean) =>
    ServerSession.layer({
      "tools/call": () => Effect.andThen(RequestContext.progress({ progress: 1 }), reply)
    }, { info: { name: "repeating", version: "1.0.0" } }).pipe(
      Layer.provide(Layer.effect(
        Transport.Transport,
        Effect.map(Transport.Transport, ({ connect }) => ({
          connect: Effect.map(connect, (connection): Transport.Connection => ({
            ...connection,
            send: (outbound) =>
              isRepeated(outbound.message)
                ? Effect.andThen(connection.send({ ...outbound, last: false }), connection.send(outbound))
                : connection.send(outbound)
          }))
        }))
      ))
    )

  it.effect("law 4: progress that does not grow fails the conversation", () =>
    Effect.gen(function*() {
      const { problem, steps } = yield* failure(Simulation.make({
        server: repeating((message) => "method" in message && message.method === "notifications/progress"),
        commands: (command) => ({
          call: command({ run: ({ client }) => client.callTool("call", {}, { onProgress: () => Effect.void }) })
        })
      }))
      assert.strictEqual(problem, "server 0: progress of tools/call (id 1) went from 1 to 1")
      assert.lengthOf(steps, 1)
    }))

  it.effect("law 5: a server that replies twice fails the conversation", () =>
    Effect.gen(function*() {
      const { law } = yield* failure(Simulation.make({
        server: repeating((message) => !("method" in message)),
        commands: (command) => ({ call: command({ run: call }) })
      }))
      assert.strictEqual(law, "law 5: every request gets exactly one reply, and none after its cancellation")
    }))

  it.effect(
    "a handler that dies fails the conversation, and the report shows why it died",
    () =>
      Effect.gen(function*() {
        const { message, problem } = yield* failure(bookings("dying"))
        assert.match(problem, /^book .* failed: tools\/call: .*-32603/)
        assert.match(message, /the handler of tools\/call died: Error: \w+ is taken/)
      }),
    { timeout: 60_000 }
  )

  it.effect("a server that does not start fails the conversation", () =>
    Effect.gen(function*() {
      const { law, problem } = yield* failure(Simulation.make({
        server: Layer.effectDiscard(Effect.fail("no configuration")),
        faults: [],
        commands: (command) => ({ call: command({ run: call }) })
      }))
      assert.strictEqual(law, "law 1: every session opens")
      assert.strictEqual(problem, "the server of client 0 failed: \"no configuration\"")
    }))
})

describe("the parts of a simulation", () => {
  it.effect(
    "the server may be a record of handlers whose services all sessions of a conversation share",
    () =>
      Effect.gen(function*() {
        const passed = yield* Simulation.check(
          Simulation.make({
            server: counting,
            services: Layer.effect(Counter, Ref.make(0)),
            clients: 3,
            model: 0,
            commands: (command) => ({
              count: command({
                run: call,
                check: ({ model, result }) => Tool.structuredMembers(result)["value"] === model + 1,
                next: ({ model }) => model + 1
              })
            })
          }),
          { runs: 100 }
        )
        assert.isAbove(passed.commands["count"] ?? 0, 100)
      }),
    { timeout: 60_000 }
  )

  it.effect(
    "the server may be a Layer that serves over a Transport, and each session builds it anew",
    () =>
      Effect.gen(function*() {
        const server = Layer.unwrap(
          Effect.map(makeServer("correct"), (handlers) =>
            ServerSession.layer(handlers, { info: { name: "bookings", version: "1.0.0" } }))
        )
        yield* Simulation.check(
          Simulation.make({
            server,
            model: false,
            // Another session would be another server, with no seat taken.
            faults: ["delay", "split", "merge"],
            commands: (command) => ({
              book: command({
                input: Arbitrary.Constant({ seat: "1A" }),
                run: ({ client, input }) =>
                  client.callTool("book", input),
                check: ({ model, result }) => result.isError === model,
                next: () => true
              })
            })
          }),
          { runs: 50 }
        )
      }),
    { timeout: 60_000 }
  )

  it.effect("a client may have handlers, and a command services", () =>
    Effect.gen(function*() {
      const requestedSchema = { type: "object" as const, properties: {} }
      const passed = yield* Simulation.check(
        Simulation.make({
          server: {
            "tools/call": () =>
              Effect.gen(function*() {
                const { action } = yield* Effect.orDie(RequestContext.elicit({ message: "Sure?", requestedSchema }))
                return { content: [Content.text(action)] }
              })
          },
          client: { handlers: { "elicitation/create": () => Effect.succeed({ action: "decline" }) } },
          services: Layer.effect(Counter, Ref.make(0)),
          faults: ["delay"],
          commands: (command) => ({
            ask: command({
              run: ({ client }) =>
                Effect.andThen(Effect.flatMap(Counter, Ref.update((value) => value + 1)), client.callTool("ask")),
              check: ({ result }) => assert.deepStrictEqual(result.content, [Content.text("decline")])
            })
          })
        }),
        { runs: 50 }
      )
      assert.strictEqual(passed.conversations, 50)
    }), { timeout: 60_000 })

  it.effect("Effect's clock and random numbers are simulated", () =>
    Effect.gen(function*() {
      const drawn: Array<number> = []
      const simulation = Simulation.make({
        server: {
          "tools/call": () =>
            Effect.gen(function*() {
              drawn.push(yield* Random.next)
              yield* Effect.sleep("10 seconds")
              return yield* reply
            })
        },
        faults: [],
        maxSteps: 3,
        commands: (command) => ({ call: command({ run: call }) })
      })
      yield* Simulation.check(simulation, { runs: 5, seed: 7 })
      const first = drawn.splice(0)
      yield* Simulation.check(simulation, { runs: 5, seed: 7 })
      assert.deepStrictEqual(drawn, first)
      assert.strictEqual(new Set(drawn).size > 1, true)
    }))

  it("a simulation without commands is rejected", () => {
    assert.throws(() => Simulation.make({ server: {}, commands: () => ({}) }), "at least one command")
  })
})

describe("the eras of a simulation", () => {
  /** Counts its calls, and asks before it answers. */
  const asking = (count: (counter: Ref.Ref<number>) => Effect.Effect<number, never, RequestContext.RequestContext>) =>
    Effect.gen(function*() {
      const counter = yield* Ref.make(0)
      return ServerSession.handlers({
        "tools/call": () =>
          Effect.gen(function*() {
            const value = yield* count(counter)
            yield* Effect.orDie(
              RequestContext.elicit({ message: "Sure?", requestedSchema: { type: "object", properties: {} } })
            )
            return { content: [], structuredContent: { value } }
          })
      })
    })

  const increment = (counter: Ref.Ref<number>) => Ref.updateAndGet(counter, (value) => value + 1)

  const incrementOnce = (counter: Ref.Ref<number>) =>
    RequestContext.once("increment", { success: Schema.Number }, increment(counter))

  const simulated = (
    count: Parameters<typeof asking>[0],
    options: { readonly revisions?: ClientSession.Options["revisions"]; readonly faults?: [] } = {}
  ) =>
    Simulation.make({
      server: asking(count),
      client: {
        handlers: { "elicitation/create": () => Effect.succeed({ action: "accept", content: {} }) },
        ...(options.revisions === undefined ? undefined : { revisions: options.revisions })
      },
      ...(options.faults === undefined ? undefined : { faults: options.faults }),
      model: 0,
      commands: (command) => ({
        count: command({
          run: call,
          check: ({ model, result }) => Tool.structuredMembers(result)["value"] === model + 1,
          next: ({ model }) => model + 1
        })
      })
    })

  it.effect(
    "one conversation in two has clients of all revisions, in which handlers run again",
    () =>
      Effect.gen(function*() {
        const { message, problem, steps } = yield* failure(simulated(increment, { faults: [] }))
        assert.deepStrictEqual(steps, ["client 0: count"])
        assert.include(problem, "{\"value\":2}")
        assert.include(message, "faults of the wires: none, clients of all revisions):")
        assert.include(message, "\"requestState\":\"state-1\"")
        yield* Simulation.check(simulated(increment, { faults: [], revisions: Revision.legacy }), { runs: 50 })
      }),
    { timeout: 60_000 }
  )

  it.effect("passes a server that runs its step once", () =>
    Effect.gen(function*() {
      yield* Simulation.check(simulated(incrementOnce), { runs: 100 })
      yield* Simulation.check(simulated(incrementOnce, { revisions: Revision.modern }), { runs: 100 })
    }), { timeout: 60_000 })

  it.effect(
    "[law 13] a seed reproduces questions with their states, message for message",
    () =>
      Effect.gen(function*() {
        const simulation = () => simulated(increment, { revisions: Revision.modern })
        const first = yield* failure(simulation())
        assert.include(first.message, "\"requestState\"")
        assert.include(first.message, "to reproduce it, pass")
        const again = yield* failure(simulation(), { seed: first.seed, runs: 1 })
        assert.strictEqual(again.message, first.message)
      }),
    { timeout: 60_000 }
  )

  it.effect(
    "[SUB-02] a stream of notifications that does not begin with its acknowledgement fails",
    () =>
      Effect.gen(function*() {
        const server = ServerSession.layer({
          "resources/subscribe": () => Effect.succeed({}),
          "resources/unsubscribe": () => Effect.succeed({}),
          "subscriptions/listen": () => Effect.succeed({ notifications: { resourceSubscriptions: ["test://a"] } })
        }, { info: { name: "hasty", version: "1.0.0" } })
        /** Sends each acknowledgement twice. */
        const hasty = Layer.provide(
          server,
          Layer.effect(
            Transport.Transport,
            Effect.map(Transport.Transport, ({ connect }) => ({
              connect: Effect.map(connect, (connection) => ({
                ...connection,
                send: (outbound: Transport.Outbound) =>
                  Effect.repeat(connection.send(outbound), {
                    times: JSON.stringify(outbound.message).includes("/acknowledged") ? 1 : 0
                  })
              }))
            }))
          )
        )
        const simulation = (server: Layer.Layer<never, unknown, Transport.Transport>) =>
          Simulation.make({
            server,
            faults: [],
            client: { revisions: Revision.modern },
            commands: (command) => ({
              subscribe: command({ run: ({ client }) => client.subscribeResource("test://a") })
            })
          })
        yield* Simulation.check(simulation(server), { runs: 20 })
        const { law } = yield* failure(simulation(hasty))
        const rule = "a stream of notifications begins with its acknowledgement, and sends nothing after its end"
        assert.strictEqual(law, `[SUB-02] ${rule}`)
      }),
    { timeout: 60_000 }
  )
})

describe("real I/O in a simulation", () => {
  it.effect("a handler that never yields to time fails the conversation", () =>
    Effect.gen(function*() {
      const { problem, steps } = yield* failure(
        Simulation.make({
          server: { "tools/call": () => Effect.andThen(Effect.forever(Effect.yieldNow), reply) },
          faults: [],
          commands: (command) => ({ call: command({ run: call }) })
        }),
        { maxShrinks: 20 }
      )
      assert.strictEqual(problem, "a program took 200000 steps at 0 ms without time passing; add a sleep to it")
      assert.isAtLeast(steps.length, 1)
    }), { timeout: 60_000 })

  const io: Readonly<Record<string, Effect.Effect<unknown>>> = {
    "a timer of the platform": Effect.callback((resume) => {
      setTimeout(() => resume(Effect.void), 5)
    }),
    "a promise": Effect.promise(() => Promise.resolve()),
    "an asynchronous file operation": Effect.promise(async () => (await import("node:fs/promises")).stat("."))
  }
  for (const [name, waits] of Object.entries(io)) {
    it.effect(`${name} in a handler fails with RealIoUsedError`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Simulation.check(Simulation.make({
          server: { "tools/call": () => Effect.andThen(waits, reply) },
          commands: (command) => ({ call: command({ run: call }) })
        })))
        assert.strictEqual(error._tag, "RealIoUsedError")
        assert.match(error.message, /^call: used real I\/O, which cannot be simulated: /)
      }))
  }

  it.effect("real I/O of a Layer fails with RealIoUsedError", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Simulation.check(Simulation.make({
        server: Layer.effectDiscard(Effect.promise(() => Promise.resolve())),
        commands: (command) => ({ call: command({ run: call }) })
      })))
      assert.match(error.message, /^the server of client 0: used real I\/O/)
    }))

  it.effect(
    "a program that waits for ever is told apart, with both reasons in the message",
    () =>
      Effect.gen(function*() {
        const never = { "tools/call": () => Effect.andThen(Deferred.await(Deferred.makeUnsafe<void>()), reply) }
        const timeout = yield* failure(Simulation.make({
          server: never,
          commands: (command) => ({ call: command({ run: call }) })
        }))
        assert.match(timeout.problem, /waits for something that does not happen in virtual time.*or real I\/O/)
        const stuck = yield* failure(Simulation.make({
          server: { "tools/call": () => reply },
          commands: (command) => ({ stuck: command({ run: () => Effect.never }) })
        }))
        assert.strictEqual(stuck.law, "law 1: every request ends")
        assert.match(stuck.problem, /^stuck did not end within 600 s of virtual time/)
      }),
    { timeout: 60_000 }
  )
})

describe("the types of a simulation", () => {
  it("the input, the result and the model are inferred", () => {
    expectTypeOf(Simulation.make({
      server: { "tools/call": () => reply },
      model: { booked: 0 },
      commands: (command) => ({
        book: command({
          input: Seat,
          when: ({ input, model }) => input.seat === "1A" && model.booked < 1,
          run: ({ client, input }) => Effect.as(client.callTool(input.seat), 7),
          check: ({ result }) => result.toFixed() === "7",
          next: ({ model, result }) => ({ booked: model.booked + (result ?? 0) })
        })
      })
    })).toEqualTypeOf<Simulation.Simulation>()
  })

  it("the services of handlers, effects and Layers are required", () => {
    expectTypeOf<Simulation.ServicesOfServer<typeof counting>>().toEqualTypeOf<Counter>()
    const effect = Effect.as(Counter, counting)
    expectTypeOf<Simulation.ServicesOfServer<typeof effect>>().toEqualTypeOf<Counter>()
    const layer = ServerSession.layer(counting, { info: { name: "counting", version: "1.0.0" } })
    expectTypeOf<Simulation.ServicesOfServer<typeof layer>>().toEqualTypeOf<Counter>()
    expectTypeOf<Simulation.Services<never>>().toEqualTypeOf<{ readonly services?: never }>()
    expectTypeOf<Simulation.Services<Counter>>().toEqualTypeOf<{
      readonly services: Layer.Layer<Counter, unknown>
    }>()
  })
})
