import {
  Content,
  Elicitation,
  type ElicitationSchema,
  McpError,
  Meta,
  MethodDefinition,
  Revision,
  type Sampling
} from "@effect-mcp/protocol"
import {
  ClientRequestContext,
  ClientSession,
  type Handlers,
  MemoryTransport,
  RequestContext,
  ServerSession,
  Transport
} from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { codeOf, forms, info, settled, text } from "./support/sessions.ts"

const form: ElicitationSchema.ElicitationSchema = {
  type: "object",
  properties: { name: { type: "string" } },
  required: ["name"]
}

const serverHandlers = ServerSession.handlers({
  "tools/list": ({ cursor }) =>
    Effect.succeed({
      tools: [{ name: cursor ?? "first", title: "A tool", inputSchema: { type: "object" } }],
      ...(cursor === undefined ? { nextCursor: "second" } : cursor === "second" ? { nextCursor: "" } : undefined)
    }),
  "tools/call": Effect.fnUntraced(function*({ arguments: input, name }) {
    const asMcpError = Effect.mapError((error: { readonly message: string }) => McpError.invalidRequest(error.message))
    switch (name) {
      case "sample": {
        const params: Sampling.CreateMessageParams = {
          messages: [{ role: "user", content: Content.text("hi") }],
          maxTokens: 10
        }
        const result = yield* asMcpError(RequestContext.createMessage(params))
        return text(JSON.stringify(result.content))
      }
      case "ask":
        return text(JSON.stringify(
          yield* asMcpError(RequestContext.elicit({ message: "Who are you?", requestedSchema: form }))
        ))
      case "visit":
        return yield* Elicitation.urlRequired([
          { mode: "url", message: "Sign in", url: "https://example.com", elicitationId: "1" }
        ])
      case "roots":
        return text(JSON.stringify((yield* asMcpError(RequestContext.listRoots())).roots))
      case "log":
        yield* RequestContext.log({ level: "debug", data: "fine" })
        yield* RequestContext.log({ level: "error", data: "broken" })
        return text("logged")
      default:
        return { ...text(name), structuredContent: { ...input } }
    }
  }),
  "resources/list": ({ cursor }) => Effect.succeed({ resources: [], nextCursor: cursor ?? "again" }),
  "resources/templates/list": () =>
    Effect.succeed({ resourceTemplates: [{ uriTemplate: "file:///{path}", name: "f" }] }),
  "resources/read": ({ uri }) => Effect.succeed({ contents: [{ uri, text: "contents" }] }),
  "resources/subscribe": () => Effect.succeed({}),
  "resources/unsubscribe": () => Effect.succeed({}),
  "prompts/list": () => Effect.succeed({ prompts: [{ name: "greet" }] }),
  "prompts/get": ({ arguments: input, name }) =>
    Effect.succeed({ messages: [{ role: "user", content: Content.text(`${name} ${input?.["who"]}`) }] }),
  "completion/complete": ({ argument }) => Effect.succeed({ completion: { values: [`${argument.value}!`] } })
})

const clientHandlers: Handlers.Handlers<"server", ClientRequestContext.ClientRequestContext> = {
  "sampling/createMessage": ({ messages }) =>
    Effect.as(ClientRequestContext.progress({ progress: 1 }), {
      role: "assistant" as const,
      content: Content.text(`${messages.length} message`),
      model: "m"
    }),
  "elicitation/create": () => Effect.succeed({ action: "accept", content: { name: "Ada" } }),
  "roots/list": () => Effect.succeed({ roots: [{ uri: "file:///home" }] })
}

const capabilities = {
  logging: {},
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true }
}

const connect = Effect.fnUntraced(function*(options: {
  readonly pair?: Effect.Effect<MemoryTransport.Pair>
  readonly client?: Partial<
    ClientSession.Options<Handlers.Handlers<"server", ClientRequestContext.ClientRequestContext>>
  >
} = {}) {
  const pair = yield* options.pair ?? MemoryTransport.make()
  const server = yield* ServerSession.make(serverHandlers, { info, capabilities }).pipe(
    Effect.provideService(Transport.Transport, pair.server)
  )
  const client = yield* ClientSession.make({ info, handlers: clientHandlers, ...options.client }).pipe(
    Effect.provideService(Transport.Transport, pair.client)
  )
  yield* settled
  return { client, server }
})

const first = <A>(stream: Stream.Stream<A>, count = 1) =>
  Effect.forkChild(Stream.runCollect(Stream.take(stream, count)))

const textsOf = ({ content }: { readonly content: ReadonlyArray<Content.ContentBlock> }) =>
  content.flatMap((block) => block.type === "text" ? [block.text] : [])

for (const { form: name, pair } of forms) {
  describe(`requests of a client (${name})`, () => {
    it.effect("[TOOL-01] [RES-01] [PRM-01] [CMP-01] [LOG-01] a handler declares its capability", () =>
      Effect.gen(function*() {
        const { client, server } = yield* connect({ pair })
        assert.deepStrictEqual(client.profile.capabilities, { ...capabilities, completions: {} })
        const profile = yield* server.profile
        assert.deepStrictEqual(profile.capabilities, { sampling: {}, elicitation: {}, roots: {} })
      }).pipe(Effect.scoped))

    it.effect("resources: templates, reading, subscriptions and updates", () =>
      Effect.gen(function*() {
        const { client, server } = yield* connect({ pair })
        const templates = yield* Stream.runCollect(client.resourceTemplates)
        assert.deepStrictEqual(templates.map(({ name }) => name), ["f"])
        assert.deepStrictEqual((yield* client.readResource("file:///x")).contents, [{
          uri: "file:///x",
          text: "contents"
        }])
        const received = yield* first(client.notifications("notifications/resources/updated"))
        yield* settled
        yield* client.subscribeResource("file:///x")
        yield* server.resourceUpdated("file:///x")
        assert.deepStrictEqual(yield* Fiber.join(received), [{ uri: "file:///x" }])
        yield* client.unsubscribeResource("file:///x")
      }).pipe(Effect.scoped))

    it.effect("prompts and completions", () =>
      Effect.gen(function*() {
        const { client } = yield* connect({ pair })
        assert.deepStrictEqual((yield* Stream.runCollect(client.prompts)).map(({ name }) => name), ["greet"])
        const { messages } = yield* client.getPrompt("greet", { who: "Ada" })
        assert.deepStrictEqual(messages.map(({ content }) => content), [Content.text("greet Ada")])
        const { completion } = yield* client.complete({
          ref: { type: "ref/prompt", name: "greet" },
          argument: { name: "who", value: "A" }
        })
        assert.deepStrictEqual(completion.values, ["A!"])
      }).pipe(Effect.scoped))

    it.effect("[PAG-03] [PAG-04] all pages are read, also after an empty cursor", () =>
      Effect.gen(function*() {
        const { client } = yield* connect({ pair })
        assert.deepStrictEqual((yield* Stream.runCollect(client.tools)).map(({ name }) => name), [
          "first",
          "second",
          ""
        ])
      }).pipe(Effect.scoped))

    it.effect("[PAG-02] a repeated cursor fails the list", () =>
      Effect.gen(function*() {
        const { client } = yield* connect({ pair })
        const error = yield* Effect.flip(Stream.runCollect(client.resources))
        assert.deepStrictEqual(error.reason, { _tag: "InvalidResult", problem: "the cursor \"again\" was repeated" })
      }).pipe(Effect.scoped))

    it.effect("[LOG-02] messages below the level of the client are not sent", () =>
      Effect.gen(function*() {
        const { client, server } = yield* connect({ pair })
        const logged = yield* first(client.notifications("notifications/message"), 3)
        yield* settled
        yield* client.callTool("log")
        yield* client.setLogLevel("warning")
        yield* client.callTool("log")
        yield* server.log({ level: "info", data: "not this" })
        assert.deepStrictEqual((yield* Fiber.join(logged)).map(({ data }) => data), ["fine", "broken", "broken"])
      }).pipe(Effect.scoped))

    it.effect("[TOOL-02] [RES-02] [PRM-02] list_changed notifications reach the client", () =>
      Effect.gen(function*() {
        const { client, server } = yield* connect({ pair })
        const received = yield* Effect.forEach(
          [
            "notifications/tools/list_changed",
            "notifications/resources/list_changed",
            "notifications/prompts/list_changed"
          ] as const,
          (name) => first(client.notifications(name))
        )
        yield* settled
        yield* server.toolListChanged
        yield* server.resourceListChanged
        yield* server.promptListChanged
        assert.deepStrictEqual(yield* Effect.forEach(received, Fiber.join), [[{}], [{}], [{}]])
      }).pipe(Effect.scoped))

    it.effect("an extension that the server does not handle is rejected with -32601", () =>
      Effect.gen(function*() {
        const { client } = yield* connect({ pair })
        const row = MethodDefinition.request("acme/echo", {
          from: "client",
          params: Meta.Meta,
          result: Meta.EmptyResult
        })
        const { reason } = yield* Effect.flip(client.extension(row, { any: "thing" }))
        assert.strictEqual(reason._tag === "ErrorResponse" ? reason.error.code : reason._tag, -32601)
      }).pipe(Effect.scoped))
  })

  describe(`requests of a server (${name})`, () => {
    it.effect("[SMP-01] [ELI-01] [ROOT-01] are sent by a handler", () =>
      Effect.gen(function*() {
        const { client } = yield* connect({ pair })
        assert.deepStrictEqual(textsOf(yield* client.callTool("sample")), [
          JSON.stringify(Content.text("1 message"))
        ])
        assert.deepStrictEqual(textsOf(yield* client.callTool("ask")), [
          JSON.stringify({ action: "accept", content: { name: "Ada" } })
        ])
        assert.deepStrictEqual(textsOf(yield* client.callTool("roots")), [JSON.stringify([{ uri: "file:///home" }])])
      }).pipe(Effect.scoped))

    it.effect("are sent outside of handlers", () =>
      Effect.gen(function*() {
        const { server } = yield* connect({ pair })
        assert.strictEqual((yield* server.elicitForm("Who?", form)).action, "accept")
        assert.strictEqual((yield* server.elicit("Who?", form)).action, "accept")
        assert.deepStrictEqual((yield* server.listRoots()).roots, [{ uri: "file:///home" }])
        yield* server.ping()
      }).pipe(Effect.scoped))

    it.effect("[SMP-02] [SMP-09] [ELI-03] fail if the client has not declared the capability", () =>
      Effect.gen(function*() {
        const { server } = yield* connect({ pair })
        const missing = (effect: Effect.Effect<unknown, { readonly reason: unknown }>) =>
          Effect.map(Effect.flip(effect), ({ reason }) => reason)
        const messages = [{ role: "user" as const, content: Content.text("hi") }]
        assert.deepStrictEqual(yield* missing(server.createMessage({ messages, maxTokens: 1, tools: [] })), {
          _tag: "MissingCapability",
          capability: "sampling.tools"
        })
        assert.deepStrictEqual(
          yield* missing(server.createMessage({ messages, maxTokens: 1, includeContext: "allServers" })),
          { _tag: "MissingCapability", capability: "sampling.context" }
        )
        assert.deepStrictEqual(
          yield* missing(server.elicitUrl("Visit", { url: "https://example.com", elicitationId: "1" })),
          { _tag: "MissingCapability", capability: "elicitation.url" }
        )
      }).pipe(Effect.scoped))

    it.effect("[SMP-03] [SMP-04] fail if uses of tools do not match their results", () =>
      Effect.gen(function*() {
        const { server } = yield* connect({ pair })
        const { reason } = yield* Effect.flip(server.createMessage({
          messages: [{ role: "user", content: { type: "tool_result", toolUseId: "1", content: [] } }],
          maxTokens: 1
        }))
        assert.strictEqual(reason._tag, "InvalidParams")
      }).pipe(Effect.scoped))

    it.effect("[ELI-05] a client without URL mode rejects it with -32602", () =>
      Effect.gen(function*() {
        const { server } = yield* connect({ pair })
        const params = { mode: "url" as const, message: "Visit", url: "https://example.com", elicitationId: "1" }
        const elicited = yield* Effect.flip(server.request("elicitation/create", params))
        assert.strictEqual(elicited.reason._tag, "MissingCapability")
        // This request skips the check of the declared capabilities.
        const answer = yield* first(server.messages)
        yield* settled
        yield* server.send(server.buildElicitUrl("Visit", { url: params.url, elicitationId: "1" }))
        assert.deepStrictEqual((yield* Fiber.join(answer)).map(codeOf), [-32602])
      }).pipe(Effect.scoped))

    it.effect("[ELI-10] [ELI-12] [ELI-14] elicitation in URL mode", () =>
      Effect.gen(function*() {
        const { client, server } = yield* connect({
          pair,
          client: { capabilities: { elicitation: { form: {}, url: {} } } }
        })
        assert.strictEqual(
          (yield* server.elicitUrl("Visit", { url: "https://example.com", elicitationId: "1" })).action,
          "accept"
        )
        const received = yield* first(client.notifications("notifications/elicitation/complete"))
        yield* settled
        yield* server.elicitationComplete("1")
        assert.deepStrictEqual(yield* Fiber.join(received), [{ elicitationId: "1" }])
        const { reason } = yield* Effect.flip(client.callTool("visit"))
        assert.deepStrictEqual(
          reason._tag === "ErrorResponse" ? Elicitation.requiredUrls(reason.error)?.map(({ url }) => url) : reason,
          ["https://example.com"]
        )
      }).pipe(Effect.scoped))

    it.effect("[ROOT-02] roots/list_changed reaches the server", () =>
      Effect.gen(function*() {
        const { client, server } = yield* connect({ pair, client: { capabilities: { roots: { listChanged: true } } } })
        const received = yield* first(server.notifications("notifications/roots/list_changed"))
        yield* settled
        yield* client.rootsListChanged
        assert.deepStrictEqual(yield* Fiber.join(received), [{}])
      }).pipe(Effect.scoped))
  })
}

describe("low-level members of a session", () => {
  it.effect("hasCapability checks sub-capabilities, and the values of experimental ones", () =>
    Effect.gen(function*() {
      const { server } = yield* connect({
        client: { capabilities: { experimental: { acme: { level: 2 } }, roots: { listChanged: true } } }
      })
      assert.isTrue(yield* server.hasCapability({}))
      assert.isTrue(yield* server.hasCapability({ roots: { listChanged: true }, sampling: {} }))
      assert.isTrue(yield* server.hasCapability({ experimental: { acme: { level: 2 } } }))
      assert.isFalse(yield* server.hasCapability({ experimental: { acme: { level: 3 } } }))
      assert.isFalse(yield* server.hasCapability({ sampling: { tools: {} } }))
      assert.isTrue(yield* server.hasCapability({ experimental: {} }))
      const bare = yield* connect()
      assert.isFalse(yield* bare.server.hasCapability({ experimental: {} }))
    }).pipe(Effect.scoped))

  it.effect("build members return requests with new ids, and do not send them", () =>
    Effect.gen(function*() {
      const { server } = yield* connect()
      const built = server.buildElicitForm("Who?", form, { relatedTaskId: "t", task: { ttl: 1 } })
      assert.strictEqual(built.method, "elicitation/create")
      assert.match(String(built.id), /^task-t-\d+$/)
      assert.deepStrictEqual(built.params?.["_meta"], { "io.modelcontextprotocol/related-task": { taskId: "t" } })
      assert.deepStrictEqual(built.params?.["task"], { ttl: 1 })
      const other = server.buildElicitUrl("Visit", { url: "https://example.com", elicitationId: "1" })
      const another = server.buildCreateMessage({ messages: [], maxTokens: 1 })
      assert.strictEqual(new Set([built.id, other.id, another.id]).size, 3)
      assert.deepStrictEqual(yield* server.inFlight, { sent: 0, served: 0 })
    }).pipe(Effect.scoped))

  it.effect("progress of a client session reports with the token of a request of the server", () =>
    Effect.gen(function*() {
      const operating = yield* Deferred.make<ClientSession.ClientSessionShape>()
      const handlers: typeof clientHandlers = {
        "roots/list": Effect.fnUntraced(function*() {
          const { meta } = yield* ClientRequestContext.ClientRequestContext
          const { progress } = yield* Deferred.await(operating)
          yield* Effect.orDie(progress(meta?.progressToken ?? "none", { progress: 1, total: 2 }))
          return { roots: [] }
        })
      }
      const { client, server } = yield* connect({ client: { handlers } })
      yield* Deferred.succeed(operating, client)
      const steps: Array<unknown> = []
      yield* server.listRoots({ onProgress: ({ progress, total }) => Effect.sync(() => steps.push([progress, total])) })
      assert.deepStrictEqual(steps, [[1, 2]])
    }).pipe(Effect.scoped))

  it.effect("send sends a message unchecked, and messages streams all received ones", () =>
    Effect.gen(function*() {
      const { client, server } = yield* connect()
      const seen = yield* first(server.messages)
      yield* settled
      yield* client.ping()
      assert.deepStrictEqual((yield* Fiber.join(seen)).map((message) => "method" in message && message.method), [
        "ping"
      ])
      const received = yield* first(client.notifications("notifications/message"))
      yield* settled
      yield* server.send({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: 1 } })
      assert.deepStrictEqual(yield* Fiber.join(received), [{ level: "info", data: 1 }])
    }).pipe(Effect.scoped))

  it.effect("a notification related to a request that has ended fails with ExchangeEnded", () =>
    Effect.gen(function*() {
      const { server } = yield* connect()
      const { reason } = yield* Effect.flip(server.log({ level: "info", data: 1 }, { relatedRequestId: 99 }))
      assert.deepStrictEqual(reason, { _tag: "ExchangeEnded" })
    }).pipe(Effect.scoped))
})

describe("elicitation and completion by revision", () => {
  for (const revision of Revision.legacy) {
    it.effect(`[INIT-13] ${revision}`, () =>
      Effect.gen(function*() {
        const { client, server } = yield* connect({ client: { revisions: [revision] } })
        const isAtLeast = (since: Revision.LegacyRevision) => Revision.isAtLeast(revision, since)
        const elicited = yield* Effect.result(server.elicitForm("Who?", form))
        assert.strictEqual(elicited._tag === "Success", isAtLeast("2025-06-18"))
        if (elicited._tag === "Failure") assert.strictEqual(elicited.failure.reason._tag, "NotInRevision")
        assert.strictEqual((yield* server.profile).revision, revision)
        // In the oldest revision, completion exists but has no capability.
        const completed = yield* client.complete({
          ref: { type: "ref/prompt", name: "greet" },
          argument: { name: "who", value: "A" }
        })
        assert.strictEqual(completed.completion.values.length, 1)
      }).pipe(Effect.scoped))
  }

  it("every revision is supported by both sides", () => {
    assert.isTrue(Schema.is(Schema.Literals(Revision.legacy))(Revision.latestLegacy))
  })
})
