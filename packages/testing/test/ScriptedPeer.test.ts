import { Content, JsonRpc, Revision } from "@effect-mcp/protocol"
import {
  ClientSession,
  MemoryTransport,
  Recording,
  RequestContext,
  ServerSession,
  Transport,
  TransportError
} from "@effect-mcp/session"
import { ScriptedPeer, TestSession, Transcript } from "@effect-mcp/testing"
import { LawServer } from "@effect-mcp/testing/laws"
import { StdioClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { fileURLToPath } from "node:url"

const info = { name: "test", version: "1.0.0" }
const limits = { gracefulTimeout: 0 }

/** The handshake in the view of the client. */
const handshake = `
→ {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"script","version":"1"}}}
← {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25", ...}}
→ {"jsonrpc":"2.0","method":"notifications/initialized"}
`

const forms = [
  { form: "one stream", pair: MemoryTransport.make() },
  { form: "a stream for each request", pair: MemoryTransport.makeMultiStream({ standalone: true }) }
] as const

const over = (end: Transport.Transport["Service"]) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, Transport.Transport, end)

/** A transport that delivers these frames. */
const delivering = (...arrivals: ReadonlyArray<Transport.Inbound>): Transport.Transport["Service"] => ({
  connect: Effect.succeed({
    run: (deliver) =>
      Effect.suspend(() => {
        arrivals.forEach(deliver)
        return Effect.succeed({ exit: { exitCode: 3, signal: undefined, stderr: ["out of ink"] }, writable: false })
      }),
    send: () => Effect.fail(TransportError.make({ _tag: "WriteFailed", cause: "no paper" }))
  })
})

const frame = (value: unknown): Transport.Inbound => ({ frame: Result.succeed(value) })

/** Plays a script against the law server. */
const withServer = Effect.fnUntraced(function*(script: string, pair?: Effect.Effect<MemoryTransport.Pair>) {
  const { client, server } = yield* pair ?? MemoryTransport.make()
  const session = yield* ServerSession.make(LawServer.make(), { ...LawServer.options, limits }).pipe(
    Effect.provideService(Transport.Transport, server)
  )
  const playing = yield* ScriptedPeer.play(script).pipe(over(client), Effect.forkScoped({ startImmediately: true }))
  return { session, playing }
})

/** Returns the error of a script that needs no other side. */
const failure = Effect.fnUntraced(function*(script: string) {
  const { playing } = yield* withServer(script)
  yield* TestClock.adjust("1 minute")
  const error = yield* Effect.flip(Fiber.join(playing))
  if (error._tag !== "ScriptError") return assert.fail(error.message)
  return error
})

const errorOf = Effect.fnUntraced(function*(script: string, end: Transport.Transport["Service"]) {
  const error = yield* Effect.flip(ScriptedPeer.play(script).pipe(over(end)))
  if (error._tag !== "ScriptError") return assert.fail(error.message)
  return error
})

/**
 * Converts the recording of concurrent calls to a script. The order of lines holds within a call, and not between
 * calls, because a server may answer them in any order. The server's own requests arrive in the order of the calls of
 * `pingClient`.
 */
const callsInAnyOrder = (transcript: Transcript.Transcript): string => {
  const calls = new Map<unknown, Array<string>>()
  const asking: Array<unknown> = []
  const askedBy = new Map<unknown, unknown>()
  const lines = Transcript.print(transcript).trimEnd().split("\n")
  for (const line of lines.slice(3)) {
    const { id, method, params } = JSON.parse(line.slice(2).replace(/"id":(\$\w+)/, "\"id\":\"$1\""))
    const isSent = line.startsWith("→")
    if (isSent && method !== undefined) {
      calls.set(id, [])
      if (params.name === "pingClient") asking.push(id)
    } else if (!isSent && method === "ping") askedBy.set(id, asking.shift())
    const call = method === "notifications/progress"
      ? params.progressToken
      : isSent === (method === undefined) || method === "ping"
      ? askedBy.get(id)
      : id
    calls.get(call)?.push(line)
  }
  const branches = Array.from(calls.values(), (steps) => ["in order {", ...steps, "}"].join("\n"))
  return [...lines.slice(0, 3), "any order {", ...branches, "}"].join("\n")
}

describe("ScriptedPeer", () => {
  for (const { form, pair } of forms) {
    describe(form, () => {
      it.effect("plays the client against a server: binds names, answers, and sends messages with their values", () =>
        Effect.gen(function*() {
          const { playing } = yield* withServer(
            `${handshake}
            → {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"pingClient"}}
            ← {"jsonrpc":"2.0","id":$question,"method":"ping"}
            → {"jsonrpc":"2.0","id":$question,"result":{}}
            ← {"jsonrpc":"2.0","id":7,"result":{"structuredContent":$found, ...}}
            → {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"echo","arguments":{"value":$found}}}
            ← {"jsonrpc":"2.0","id":8,"result":{"structuredContent":{"value":$found},"content":[_]}}`,
            pair
          )
          const { bindings, entries } = yield* Fiber.join(playing)
          assert.deepStrictEqual(bindings.get("found"), { answered: true })
          assert.deepStrictEqual(
            entries.map(({ _tag }) => _tag),
            ["Sent", "Received", "Sent", "Sent", "Received", "Sent", "Received", "Sent", "Received"]
          )
        }))

      it.effect("plays the server against a client, and uses the stream of each request", () =>
        Effect.gen(function*() {
          const { client, server } = yield* pair
          const playing = yield* ScriptedPeer.play(`
            ← {"jsonrpc":"2.0","id":$hello,"method":"initialize", ...}
            → {"jsonrpc":"2.0","id":$hello,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"script","version":"1"}}}
            ← {"jsonrpc":"2.0","method":"notifications/initialized", ...}
            → {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"ready"}}
            ← {"jsonrpc":"2.0","id":$first,"method":"tools/call","params":{"name":"one","_meta":{"progressToken":$token}}}
            ← {"jsonrpc":"2.0","id":$second,"method":"tools/call", ...}
            → {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":1}}
            → {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}
            ← {"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}
            → {"jsonrpc":"2.0","id":$second,"result":{"content":[]}}
            → {"jsonrpc":"2.0","id":$first,"result":{"content":[]}}
            ← end
          `).pipe(over(server), Effect.forkScoped({ startImmediately: true }))
          const heard: Array<unknown> = []
          yield* Effect.scoped(Effect.gen(function*() {
            const session = yield* ClientSession.make({
              info,
              limits,
              revisions: Revision.legacy,
              handlers: {
                "elicitation/create": () => Effect.succeed({ action: "decline" }),
                "notifications/message": ({ data }) => Effect.sync(() => heard.push(data))
              }
            }).pipe(over(client))
            const first = yield* Effect.forkChild(
              session.callTool("one", undefined, {
                onProgress: ({ progress }) => Effect.sync(() => heard.push(progress))
              }),
              { startImmediately: true }
            )
            yield* session.callTool("two")
            yield* Fiber.join(first)
          }))
          yield* Fiber.join(playing)
          assert.deepStrictEqual(heard, ["ready", 1])
        }))

      it.effect("a recording of either side can be played in its place", () =>
        Effect.gen(function*() {
          const asking = ServerSession.handlers({
            "tools/call": Effect.fnUntraced(function*() {
              yield* RequestContext.progress({ progress: 1 })
              const context = yield* RequestContext.RequestContext
              const { action } = yield* Effect.orDie(
                context.request("elicitation/create", {
                  message: "Sure?",
                  requestedSchema: { type: "object", properties: {} }
                })
              )
              return { content: [Content.text(action)] }
            })
          })
          const converse = (
            client: Transport.Transport["Service"],
            served: Transport.Transport["Service"] | undefined
          ) =>
            Effect.gen(function*() {
              if (served !== undefined) yield* ServerSession.make(asking, { info, limits }).pipe(over(served))
              const session = yield* ClientSession.make({
                info,
                limits,
                revisions: Revision.legacy,
                handlers: { "elicitation/create": () => Effect.succeed({ action: "decline" }) }
              }).pipe(over(client))
              return yield* session.callTool("ask", {}, { onProgress: () => Effect.void })
            })

          const entries: Array<Recording.Entry> = []
          const { client, server } = yield* pair
          const recorded = Recording.layer((entry) => entries.push(entry))
          const transport = Context.get(
            yield* Layer.build(Layer.provide(recorded, MemoryTransport.layer(client))),
            Transport.Transport
          )
          assert.deepStrictEqual(yield* converse(transport, server), { content: [Content.text("decline")] })
          assert.isTrue(Transcript.print(Transcript.fromRecording(entries)).includes("$id1"))

          // Another server, whose request ids differ because it has sent requests before.
          const again = yield* pair
          const other = yield* ServerSession.make(asking, { info, limits }).pipe(over(again.server))
          other.buildElicitForm("", { type: "object", properties: {} })
          yield* ScriptedPeer.play(Transcript.fromRecording(entries)).pipe(over(again.client))

          // The script replaces the server, for another client.
          const once = yield* pair
          const playing = yield* ScriptedPeer.play(Transcript.fromRecording(entries, { side: "peer" })).pipe(
            over(once.server),
            Effect.forkScoped({ startImmediately: true })
          )
          assert.deepStrictEqual(yield* converse(once.client, undefined), { content: [Content.text("decline")] })
          yield* Fiber.join(playing)
        }))

      it.effect("in a block of any order, exchanges overlap, and each keeps its order", () =>
        Effect.gen(function*() {
          const call = (id: number, name: string) =>
            `→ {"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":{"count":2,"gapMillis":10},"_meta":{"progressToken":${id}}}}`
          const step = (id: number, progress: number) =>
            `← {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${id},"progress":${progress}, ...}}`
          const { playing } = yield* withServer(
            [
              handshake,
              call(1, "steps"),
              call(2, "pingClient"),
              call(3, "steps"),
              "any order {",
              "  in order {",
              step(3, 1),
              step(3, 2),
              "← {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":_}",
              "  }",
              "← {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":_}",
              "  # the question may come whenever it likes",
              "  in order {",
              "← {\"jsonrpc\":\"2.0\",\"id\":$question,\"method\":\"ping\"}",
              "→ {\"jsonrpc\":\"2.0\",\"id\":$question,\"result\":{}}",
              "  }",
              "  in order {",
              step(1, 1),
              step(1, 2),
              "← {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":_}",
              "  }",
              "}",
              "silence 1s"
            ].join("\n"),
            pair
          )
          yield* Effect.repeat(TestClock.adjust("10 millis"), { times: 20 })
          yield* TestClock.adjust("1 second")
          yield* Fiber.join(playing)
        }))
    })
  }

  describe("fails", () => {
    it.effect("with the line, both messages, their difference, and the conversation so far", () =>
      Effect.gen(function*() {
        const error = yield* failure(`# ping first
→ {"jsonrpc":"2.0","id":1,"method":"ping"}
← {"jsonrpc":"2.0","id":1,"result":{}}

→ {"jsonrpc":"2.0","id":2,"method":"ping"}
← {"jsonrpc":"2.0","id":2,"result":{"pong":_, ...}}
`)
        assert.strictEqual(
          error.message,
          `line 6 of the script: expected
← {"jsonrpc":"2.0","id":2,"result":{"pong":_, ...}}
but received
← {"jsonrpc":"2.0","id":2,"result":{}}
at ["result"]["pong"]: expected _, found nothing

the conversation so far:
→ {"jsonrpc":"2.0","id":1,"method":"ping"}
← {"jsonrpc":"2.0","id":1,"result":{}}
→ {"jsonrpc":"2.0","id":2,"method":"ping"}
← {"jsonrpc":"2.0","id":2,"result":{}}
`
        )
      }))

    it.effect("when messages arrive in another order than in the script", () =>
      Effect.gen(function*() {
        const error = yield* failure(`
          > {"jsonrpc":"2.0","id":1,"method":"ping"}
          > {"jsonrpc":"2.0","id":2,"method":"ping"}
          < {"jsonrpc":"2.0","id":2,"result":{}}
          < {"jsonrpc":"2.0","id":1,"result":{}}`)
        assert.strictEqual(error.line, 4)
        const { reason } = error
        assert.deepStrictEqual(reason._tag === "Mismatch" ? reason.mismatch : reason, {
          path: ["id"],
          expected: "2",
          found: "1"
        })
      }))

    it.effect("in a block of any order, at the line that fits furthest", () =>
      Effect.gen(function*() {
        const error = yield* failure(`
          > {"jsonrpc":"2.0","id":1,"method":"ping"}
          any order {
            < {"jsonrpc":"2.0","id":2,"result":{}}
            < {"jsonrpc":"2.0","id":1,"result":{"a":1}}
          }`)
        const { line, reason } = error
        assert.deepStrictEqual([line, reason._tag], [5, "Mismatch"])
        assert.include(error.message, "\n← {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n← {")
      }))

    it.effect("when a branch of a block leaves its order, or another message has taken the line", () =>
      Effect.gen(function*() {
        const pings = `
          > {"jsonrpc":"2.0","id":1,"method":"ping"}
          > {"jsonrpc":"2.0","id":2,"method":"ping"}
          any order {`
        const outOfOrder = yield* failure(`${pings}
            in order {
              < {"jsonrpc":"2.0","id":2, ...}
              < {"jsonrpc":"2.0","id":1, ...}
            }
          }`)
        assert.deepStrictEqual([outOfOrder.line, outOfOrder.reason._tag], [6, "Mismatch"])
        // The wider line is first, so it takes the message of the narrower one.
        const taken = yield* failure(`${pings}
            < _
            < {"jsonrpc":"2.0","id":1, ...}
          }`)
        assert.deepStrictEqual([taken.line, taken.reason._tag], [6, "Mismatch"])
      }))

    it.effect("when no message arrives for five seconds, or for the time that the script sets", () =>
      Effect.gen(function*() {
        const { playing } = yield* withServer("← {\"method\":\"roots/list\", ...}")
        yield* TestClock.adjust(4_999)
        assert.isUndefined(playing.pollUnsafe())
        yield* TestClock.adjust(1)
        const error = yield* Effect.flip(Fiber.join(playing))
        assert.include(error.message, "but received no such message within 5000 ms")
        const { reason } = yield* failure("deadline 2s\n← _")
        assert.deepStrictEqual(reason, { _tag: "NotReceived", expected: "← _", afterMillis: 2000 })
      }))

    it.effect("when a message arrives during a silence, or after the last line", () =>
      Effect.gen(function*() {
        const said = "→ {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"
        const inSilence = yield* failure(`${said}\nsilence 10s\n`)
        assert.deepStrictEqual([inSilence.line, inSilence.reason], [3, {
          _tag: "Unexpected",
          received: "← {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"
        }])
        const atTheEnd = yield* failure(`${said}any order {\n\n}\nwait 1s\n`)
        assert.deepStrictEqual([atTheEnd.line, atTheEnd.reason._tag], [6, "Unexpected"])
      }))

    it.effect("when the peer ends, sends a frame that is not JSON, or rejects a message", () =>
      Effect.gen(function*() {
        const ended = yield* errorOf("← _", delivering())
        assert.include(ended.message, "out of ink")
        const unreadable = delivering({ frame: Result.fail({ _tag: "NotJson", text: "Listening on 3000" }) })
        assert.include((yield* errorOf("← _", unreadable)).message, "← unreadable: \"Listening on 3000\"")
        assert.include((yield* errorOf("← end", unreadable)).message, "← unreadable")
        yield* ScriptedPeer.play("← unreadable\n← end").pipe(over(unreadable))
        assert.include((yield* errorOf("← unreadable", delivering(frame(1)))).message, "but received\n← 1\n")
        const unsaid = yield* errorOf("→ {}", delivering())
        assert.include(unsaid.message, "no paper")
        assert.strictEqual(unsaid.reason._tag, "SendFailed")
      }))

    it.effect("when a name is not bound, which a parsed transcript excludes", () =>
      Effect.gen(function*() {
        const unbound = yield* Effect.flip(
          ScriptedPeer.play([{ _tag: "Send", message: { _tag: "Name", name: "a" } }]).pipe(over(delivering()))
        )
        assert.include(unbound.message, "$a is not bound yet")
      }))

    it.effect("if the text is not a transcript, or the transport is in use", () =>
      Effect.gen(function*() {
        assert.strictEqual(
          (yield* Effect.flip(ScriptedPeer.play("hello").pipe(over(delivering()))))._tag,
          "TranscriptError"
        )
        const { client } = yield* MemoryTransport.make()
        yield* ScriptedPeer.play("").pipe(over(client))
        assert.strictEqual((yield* Effect.flip(ScriptedPeer.play("").pipe(over(client))))._tag, "TransportError")
      }))
  })

  it.effect("ignored messages may arrive at any time, and a line may still expect them", () =>
    Effect.gen(function*() {
      const log = (data: string) => JsonRpc.notification("notifications/message", { level: "info", data })
      const { entries } = yield* ScriptedPeer.play(`
        ignore ← {"method":"notifications/message", ...}
        ← 1
        ← {"params":{"data":"b", ...}, ...}
        silence 0ms
      `).pipe(
        over({
          connect: Effect.succeed({
            run: (deliver) =>
              Effect.suspend(() => {
                for (const value of [log("a"), 1, log("a"), log("b"), log("c")]) deliver(frame(value))
                return Effect.never
              }),
            send: () => Effect.void
          })
        }),
        Effect.forkScoped({ startImmediately: true }),
        Effect.tap(() => TestClock.adjust(0)),
        Effect.flatMap(Fiber.join)
      )
      assert.strictEqual(entries.length, 5)
    }))

  it.effect("waits by the clock, and keeps messages that arrive meanwhile", () =>
    Effect.gen(function*() {
      const { playing } = yield* withServer(`
        → {"jsonrpc":"2.0","id":1,"method":"ping"}
        wait 1min
        ← {"jsonrpc":"2.0","id":1,"result":{}}`)
      yield* TestClock.adjust("59 seconds")
      assert.isUndefined(playing.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(playing)
    }))

  it.effect("ends its side, and the other side's session ends", () =>
    Effect.gen(function*() {
      const { playing, session } = yield* withServer(`${handshake}→ end\n← end\n`)
      yield* Fiber.join(playing)
      assert.strictEqual((yield* session.closed)._tag, "PeerEnded")
    }))

  it.effect("reports a request whose stream ends without a response", () =>
    Effect.gen(function*() {
      const gate = Deferred.makeUnsafe<void, TransportError.TransportError>()
      Deferred.doneUnsafe(gate, Exit.fail(TransportError.make({ _tag: "ExchangeEnded" })))
      const error = yield* errorOf("→ {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n← _", {
        connect: Effect.succeed({
          run: () => Effect.never,
          send: () => Effect.void,
          request: () => Deferred.await(gate)
        })
      })
      assert.include(error.message, "ended the stream of the request without a response")
    }))

  it.live("plays against a child process, which answers requests from before the end of its input", () =>
    Effect.gen(function*() {
      const program = fileURLToPath(new URL("fixtures/lawServer.ts", import.meta.url))
      const child = StdioClient.layerNode({ command: process.execPath, args: [program], stderr: () => {} })
      yield* ScriptedPeer.play(
        `deadline 20s
        ${handshake}
        → {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"steps","arguments":{"count":2,"gapMillis":50},"_meta":{"progressToken":"t"}}}
        ← {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1, ...}}
        → end
        ← {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":2, ...}}
        ← {"jsonrpc":"2.0","id":1,"result":_}
        ← end`
      ).pipe(Effect.provide(child))
    }))

  for (
    const { exit, greet, what } of [
      { what: "keeps to it", greet: "greet", exit: /^$/ },
      { what: "leaves it", greet: "insult", exit: /line 6 of the script: expected/ }
    ]
  ) {
    it.live(`plays the server of a program, over its standard input and output, whose client ${what}`, () =>
      Effect.gen(function*() {
        const lines: Array<string> = []
        const file = (name: string) => fileURLToPath(new URL(name, import.meta.url))
        const child = StdioClient.layerNode({
          command: process.execPath,
          args: [file("fixtures/scriptedServer.ts"), file("transcripts/greeter.transcript")],
          stderr: (line) => lines.push(line)
        })
        const heard: Array<number> = []
        const result = yield* Effect.gen(function*() {
          const session = yield* ClientSession.ClientSession
          return yield* Effect.result(session.callTool(greet, { name: "Ada" }, {
            onProgress: ({ progress }) => Effect.sync(() => heard.push(progress))
          }))
        }).pipe(Effect.provide(Layer.provide(ClientSession.layer({ info, limits, revisions: Revision.legacy }), child)))
        assert.match(lines.join("\n"), exit)
        assert.deepStrictEqual(
          Result.isSuccess(result) ? result.success.structuredContent : result.failure.reason._tag,
          greet === "greet" ? { greeted: "Ada" } : "Closed"
        )
        assert.deepStrictEqual(heard, greet === "greet" ? [1] : [])
      }))
  }

  it.effect.prop(
    "whatever calls a client makes at once, what was recorded of it can be played again",
    {
      calls: Arbitrary.schema(
        Schema.Array(Schema.Union([
          Schema.Struct({
            name: Schema.tag("echo"),
            arguments: Schema.Struct({ value: Schema.Json })
          }),
          Schema.Struct({
            name: Schema.tag("steps"),
            arguments: Schema.Struct({ count: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })) })
          }),
          Schema.Struct({ name: Schema.Literals(["pingClient", "unit", "unknown"]), arguments: Schema.Struct({}) })
        ]))
      ),
      concurrency: Arbitrary.schema(Schema.Literals([1, 2, 10])),
      form: Arbitrary.schema(Schema.Literals(["OneStream", "StreamPerRequest"]))
    },
    ({ calls, concurrency, form }) =>
      Effect.gen(function*() {
        const { client, transcript } = yield* TestSession.make(LawServer.make(), { form, server: LawServer.options })
        // A reply arrives a turn after the progress of its request, so other progress may arrive before it.
        const options = concurrency === 1 ? { onProgress: () => Effect.void } : {}
        yield* Effect.forEach(
          calls,
          ({ arguments: input, name }) => Effect.exit(client.callTool(name, input, options)),
          { concurrency }
        )
        const recorded = yield* transcript("client")
        const script = concurrency === 1 || calls.length === 0 ? Transcript.print(recorded) : callsInAnyOrder(recorded)
        const pair = yield* form === "StreamPerRequest"
          ? MemoryTransport.makeMultiStream({ standalone: true })
          : MemoryTransport.make()
        yield* ServerSession.make(LawServer.make(), { ...LawServer.options, limits }).pipe(
          Effect.provideService(Transport.Transport, pair.server)
        )
        yield* ScriptedPeer.play(script).pipe(Effect.provideService(Transport.Transport, pair.client))
        return true
      }).pipe(Effect.scoped)
  )

  it("the handshake of the tests above has the newest revision", () => {
    assert.include(handshake, Revision.latestLegacy)
  })
})
