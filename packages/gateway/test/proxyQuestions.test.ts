import { McpProxy } from "@effect-mcp/gateway"
import { Content, JsonRpc, Revision } from "@effect-mcp/protocol"
import { McpGroup, McpServer } from "@effect-mcp/server"
import { MemoryTransport, RequestContext, Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { connect, handshake, info } from "../../server/test/support/connect.ts"
import { answering, answersOf, asking, clients, tool } from "./support/proxies.ts"

const modern = { revisions: ["2026-07-28"] } as const
const answersOfAda = [Content.text(JSON.stringify(["ada", "model of ada", "file:///ada"]))]

/** A form that asks for one text. */
const form = (message: string) => ({
  message,
  requestedSchema: { type: "object" as const, properties: { name: { type: "string" as const } } }
})

/** The transport to a server of 2026-07-28 that answers calls with these results in turn, the last one again. */
const scripted = (results: ReadonlyArray<object>, calls: Array<JsonRpc.Params>) =>
  Layer.effect(
    Transport.Transport,
    Effect.gen(function*() {
      const { client, server } = yield* MemoryTransport.make()
      const connection = yield* server.connect
      const resultOf = ({ method, params = {} }: JsonRpc.Request): object => {
        switch (method) {
          case "server/discover":
            return { supportedVersions: modern.revisions, capabilities: { tools: {} } }
          case "tools/list":
            return { tools: [tool("run")] }
          default:
            calls.push(params)
            return results[Math.min(calls.length, results.length) - 1] ?? {}
        }
      }
      const reply = (message: JsonRpc.Message) =>
        JsonRpc.isRequest(message)
          ? connection.send({
            message: JsonRpc.success(message.id, { resultType: "complete", ...resultOf(message) }),
            replyTo: undefined,
            last: false
          })
          : Effect.void
      yield* Effect.forkScoped(
        connection.run(({ frame }) => {
          if (Result.isFailure(frame)) return
          for (const message of JsonRpc.messages(frame.success)) Effect.runFork(Effect.ignore(reply(message)))
        }),
        { startImmediately: true }
      )
      return client
    })
  )

const inputRequired = (members: object) => ({ resultType: "input_required", ...members })

describe("the questions of a proxied server of 2026-07-28", () => {
  for (
    const [eras, ofClient] of [["of 2026-07-28", modern], ["with a handshake", handshake]] as const
  ) {
    it.live(`reach the caller over a session that all clients share, if these are ${eras}`, () =>
      Effect.gen(function*() {
        const open = yield* clients(McpProxy.layer("asking", asking(), { info, sessions: "shared", ...modern }))
        const names = ["ada", "bob", "ada"]
        const all = yield* Effect.forEach(names, (name) => open(name, { ...ofClient, handlers: answering(name) }))
        const answers = yield* Effect.forEach(all, answersOf, { concurrency: "unbounded" })
        assert.deepStrictEqual(
          answers.map((answer) => JSON.stringify(answer)),
          names.map((name) =>
            JSON.stringify([Content.text(JSON.stringify([name, `model of ${name}`, `file:///${name}`]))])
          )
        )
      }).pipe(Effect.scoped))

    it.live(`do not run its steps again, if the client is one ${eras}`, () =>
      Effect.gen(function*() {
        const steps = yield* Ref.make(0)
        const server = McpServer.layerMemory(
          McpGroup.make("shop", Tool.make("buy", { success: Schema.Array(Schema.String) })).toLayer((handlers) =>
            handlers.tool("buy", () =>
              Effect.gen(function*() {
                const reserve = Effect.map(Ref.updateAndGet(steps, (count) => count + 1), String)
                const seat = yield* RequestContext.once("reserve", { success: Schema.String }, reserve)
                const first = yield* RequestContext.elicit(form("First?"))
                const second = yield* RequestContext.elicit(form(`Second, after ${first.action}?`))
                return [seat, first.action, second.action]
              }).pipe(Effect.orDie))
          ),
          { info, ...modern }
        )
        const client = yield* connect(McpProxy.layer("shop", server, { info }), {
          client: { ...ofClient, handlers: answering("ada") }
        })
        assert.deepStrictEqual((yield* client.callTool("buy")).content, [Content.text("[\"1\",\"accept\",\"accept\"]")])
        assert.strictEqual(yield* Ref.get(steps), 1)
      }).pipe(Effect.scoped))
  }

  it.live("carry its state back as it is, and the answers by its keys, each in one round", () =>
    Effect.gen(function*() {
      const calls: Array<JsonRpc.Params> = []
      const question = { method: "elicitation/create", params: form("?") }
      const server = scripted([
        inputRequired({ inputRequests: { "key 1": question }, requestState: " ß\u0000" }),
        inputRequired({ requestState: "only a state" }),
        { content: [] }
      ], calls)
      const client = yield* connect(McpProxy.layer("remote", server, { info }), {
        client: { ...modern, handlers: answering("ada") }
      })
      assert.deepStrictEqual(yield* client.callTool("run", { a: 1 }), { content: [] })
      const sent = { name: "run", arguments: { a: 1 } }
      assert.deepStrictEqual(
        calls.map(({ _meta, ...params }) => params),
        [
          sent,
          {
            ...sent,
            inputResponses: { "key 1": { action: "accept", content: { name: "ada" } } },
            requestState: " ß\u0000"
          },
          { ...sent, requestState: "only a state" }
        ]
      )
    }).pipe(Effect.scoped))

  it.live("end a call with an error after limits.maxRounds of the proxy", () =>
    Effect.gen(function*() {
      const calls: Array<JsonRpc.Params> = []
      const question = { method: "elicitation/create", params: form("Again?") }
      const server = scripted([inputRequired({ inputRequests: { key: question } })], calls)
      const client = yield* connect(McpProxy.layer("remote", server, { info, limits: { maxRounds: 3 } }), {
        client: { ...modern, handlers: answering("ada") }
      })
      const { message } = yield* Effect.flip(client.callTool("run"))
      assert.include(message, "it has asked 3 times, and asks again; set limits.maxRounds of the proxy to allow more")
      assert.lengthOf(calls, 3)
    }).pipe(Effect.scoped))

  it.live("are declared as the client's, and clients with the same capabilities share a session", () =>
    Effect.gen(function*() {
      const calls: Array<JsonRpc.Params> = []
      const opened = yield* Ref.make(0)
      const server = Layer.merge(
        scripted([{ content: [] }], calls),
        Layer.effectDiscard(Ref.update(opened, (count) => count + 1))
      )
      const open = yield* clients(McpProxy.layer("remote", server, { info, maxSessions: 2, answers: ["roots"] }))
      const roots = { "roots/list": () => Effect.succeed({ roots: [] }) }
      const all = [
        yield* open("ada", { ...modern, handlers: roots }),
        // A member that no revision has does not make the client another one.
        yield* open("bob", { ...modern, handlers: roots, capabilities: { roots: { listChanged: true } } }),
        yield* open("eve", { ...modern, handlers: answering("eve") }),
        yield* open("joe", modern)
      ]
      for (const client of all) yield* client.callTool("run")
      assert.deepStrictEqual(
        calls.map(({ _meta }) => Reflect.get(Object(_meta), "io.modelcontextprotocol/clientCapabilities")),
        [{ roots: {} }, { roots: {} }, { roots: {} }, {}]
      )
      assert.strictEqual(yield* Ref.get(opened), 3)
      const more = yield* open("max", { ...modern, handlers: { "sampling/createMessage": () => Effect.never } })
      assert.include((yield* Effect.flip(more.callTool("run"))).message, "serves 2 sessions already")
    }).pipe(Effect.scoped))
})

describe("a proxied server with a handshake", () => {
  const server = McpProxy.layer("asking", asking(), { info, ...handshake })

  it.live("asks a client of both eras, because the gateway serves it in a session", () =>
    Effect.gen(function*() {
      const client = yield* connect(server, { client: { handlers: answering("ada") } })
      assert.strictEqual(client.profile.revision, "2025-11-25")
      assert.deepStrictEqual(yield* answersOf(client), answersOfAda)
    }).pipe(Effect.scoped))

  it.live("cannot ask a client without a session, if the gateway serves it all the same", () =>
    Effect.gen(function*() {
      const client = yield* connect(server, {
        server: { revisions: Revision.supported },
        client: { handlers: answering("ada") }
      })
      assert.strictEqual(client.profile.revision, "2026-07-28")
      assert.include(String(yield* answersOf(client)), "has not declared the capability")
    }).pipe(Effect.scoped))
})
