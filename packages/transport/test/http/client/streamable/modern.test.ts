/** The client of Streamable HTTP in revision 2026-07-28, and its choice between that revision and older ones. */
import { HeaderValue } from "@effect-mcp/protocol/internal"
import { RequestContext } from "@effect-mcp/session"
import { RemoteTasks } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { allClosed, forkNow, until } from "../../../support/httpClientConnection.ts"
import { connectModern, discoverResult, requestFailure, withDiscovery } from "../../../support/modernClient.ts"
import {
  type Handler,
  idOf,
  response,
  type ScriptedServer,
  serve,
  withHandshake
} from "../../../support/scriptedHttpServer.ts"
import { serve as serveStateful, text, tools } from "../../../support/server.ts"
import { serveStateless } from "../../../support/statelessServer.ts"

const toolsWithHeaders = [
  {
    name: "query",
    inputSchema: {
      type: "object",
      properties: {
        region: { type: "string", "x-mcp-header": "Region" },
        limit: { type: "integer", "x-mcp-header": "Limit" },
        dry: { type: "boolean", "x-mcp-header": "Dry" },
        text: { type: "string" }
      }
    }
  },
  { name: "bad", inputSchema: { type: "object", properties: { a: { type: "number", "x-mcp-header": "A" } } } },
  { name: "plain", inputSchema: { type: "object" } }
]

/** A server of revision 2026-07-28 that answers every request. */
const answering: Handler = withDiscovery((received, reply) =>
  reply.json(response(received, received.kind === "tools/list" ? { tools: toolsWithHeaders } : { content: [] }))
)

const mcpHeadersOf = ({ headers }: Parameters<Handler>[0]) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("mcp-")))

describe.concurrent("a request of 2026-07-28 over HTTP", () => {
  it.live("[SHE-11] [SHE-16] has headers that repeat its version, method and name, and belongs to no session", () =>
    Effect.gen(function*() {
      const peer = yield* serve((received, reply) => {
        reply.json(
          response(received, received.kind === "server/discover" ? discoverResult : { content: [], contents: [] }),
          { "mcp-session-id": "s1" }
        )
      })
      const { session } = yield* connectModern(peer)
      yield* session.callTool("größe")
      yield* session.readResource("file:///a")
      yield* session.close
      assert.deepStrictEqual(peer.received.map(mcpHeadersOf), [
        { "mcp-protocol-version": "2026-07-28", "mcp-method": "server/discover" },
        {
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": "tools/call",
          "mcp-name": HeaderValue.encode("größe")
        },
        { "mcp-protocol-version": "2026-07-28", "mcp-method": "resources/read", "mcp-name": "file:///a" }
      ])
      // Neither a standalone stream nor a DELETE.
      assert.deepStrictEqual(peer.kinds(), ["server/discover", "tools/call", "resources/read"])
    }))

  it.live("[TKX-15] has the id of the task as its name", () =>
    Effect.gen(function*() {
      const peer = yield* serve((received, reply) => {
        reply.json(response(received, received.kind === "server/discover" ? discoverResult : {}))
      })
      const { session } = yield* connectModern(peer)
      const { id, ...task } = RemoteTasks.of(session).of("task-1")
      yield* Effect.exit(task.state)
      yield* Effect.exit(task.cancel)
      yield* session.close
      assert.strictEqual(id, "task-1")
      assert.deepStrictEqual(
        peer.received.slice(1, 3).map(mcpHeadersOf),
        ["tasks/get", "tasks/cancel"].map((method) => ({
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": method,
          "mcp-name": "task-1"
        }))
      )
    }))

  /** A server that answers a call without the header `Region` as one with a wrong header. */
  const demanding = (list: (count: number) => ReadonlyArray<object>): Handler => {
    let lists = 0
    return withDiscovery((received, reply) => {
      if (received.kind === "tools/list") return reply.json(response(received, { tools: list(lists++) }))
      if (received.headers["mcp-param-region"] === "us-west1") return reply.json(response(received, { content: [] }))
      reply.status(400, requestFailure(received, -32020))
    })
  }

  it.live("[SHE-30] lists the tools again and calls once more, if the server rejects the headers of a call", () =>
    Effect.gen(function*() {
      const peer = yield* serve(
        demanding((count) => count === 0 ? [{ name: "query", inputSchema: { type: "object" } }] : toolsWithHeaders)
      )
      const { session } = yield* connectModern(peer)
      yield* session.listTools()
      yield* session.callTool("query", { region: "us-west1" })
      assert.deepStrictEqual(peer.kinds().slice(1), ["tools/list", "tools/call", "tools/list", "tools/call"])
      yield* session.callTool("query", { region: "us-west1" })
      assert.strictEqual(peer.kinds().length, 6)
    }))

  it.live("[SHE-30] fails with the error of the server after the second attempt, or if the tool is gone", () =>
    Effect.gen(function*() {
      const stubborn = yield* serve(demanding(() => [{ name: "query", inputSchema: { type: "object" } }]))
      const first = yield* connectModern(stubborn)
      const refused = yield* Effect.flip(first.session.callTool("query", { region: "us-west1" }))
      assert.include(refused.message, "error -32020")
      assert.deepStrictEqual(stubborn.kinds().slice(1), ["tools/call", "tools/list", "tools/call"])
      const empty = yield* serve(demanding(() => []))
      const second = yield* connectModern(empty)
      const gone = yield* Effect.flip(second.session.callTool("query", { region: "us-west1" }))
      assert.include(gone.message, "error -32020")
      assert.deepStrictEqual(empty.kinds().slice(1), ["tools/call", "tools/list"])
    }))

  it.live("[SHE-25] [SHE-27] repeats the arguments that the listed tool asks for, and omits absent ones and null", () =>
    Effect.gen(function*() {
      const peer = yield* serve(answering)
      const { session } = yield* connectModern(peer)
      yield* session.callTool("query", { region: "before" })
      yield* session.listTools()
      yield* session.callTool("query", { region: "us-west1", limit: 42, dry: false, text: "x" })
      yield* session.callTool("query", { region: null, text: "x" })
      yield* session.callTool("plain", { region: "us-west1" })
      const calls = peer.received.filter(({ kind }) => kind === "tools/call").map(mcpHeadersOf)
      assert.deepStrictEqual(
        calls.map((headers) => Object.entries(headers).filter(([name]) => name.startsWith("mcp-param-"))),
        [
          [],
          [["mcp-param-region", "us-west1"], ["mcp-param-limit", "42"], ["mcp-param-dry", "false"]],
          [],
          []
        ]
      )
    }))

  it.live("[SHE-24] an argument that cannot be its header fails the call before it is sent", () =>
    Effect.gen(function*() {
      const peer = yield* serve(answering)
      const { session } = yield* connectModern(peer)
      yield* session.listTools()
      const { message } = yield* Effect.flip(session.callTool("query", { limit: 2 ** 53 }))
      assert.strictEqual(
        message,
        "tools/call: the argument \"limit\" cannot be the header mcp-param-limit: " +
          "it is not of type integer"
      )
      assert.notInclude(peer.kinds(), "tools/call")
    }))

  it.live("[SHE-26] a tool with invalid annotations is not in the list, and an event names it", () =>
    Effect.gen(function*() {
      const peer = yield* serve(answering)
      const { events, session } = yield* connectModern(peer)
      const { tools } = yield* session.listTools()
      assert.deepStrictEqual(tools.map(({ name }) => name), ["query", "plain"])
      assert.deepInclude(events.filter(({ _tag }) => _tag === "ToolDropped"), {
        _tag: "ToolDropped",
        tool: "bad",
        problem: "x-mcp-header \"A\" is at a property whose type is not boolean, integer or string"
      })
    }))

  it.live("the headers of a tool are those of its last listing", () =>
    Effect.gen(function*() {
      let listings = 0
      const peer = yield* serve(withDiscovery((received, reply) =>
        reply.json(response(
          received,
          received.kind === "tools/list"
            ? { tools: listings++ === 0 ? toolsWithHeaders : [{ name: "query", inputSchema: { type: "object" } }] }
            : { content: [] }
        ))
      ))
      const { session } = yield* connectModern(peer)
      yield* session.listTools()
      yield* session.listTools()
      yield* session.callTool("query", { region: "us-west1" })
      const call = peer.received.find(({ kind }) => kind === "tools/call")
      assert.notProperty(call?.headers, "mcp-param-region")
    }))

  it.live("closing its response cancels it, and nothing else is sent", () =>
    Effect.gen(function*() {
      const peer = yield* serve(withDiscovery((_, reply) => void reply.stream()))
      const { session } = yield* connectModern(peer)
      const calling = yield* forkNow(session.callTool("wait"))
      yield* until(() => peer.openResponses() === 1)
      yield* Fiber.interrupt(calling)
      yield* until(() => peer.openResponses() === 0)
      yield* session.callTool("wait", {}, { timeout: "50 millis" }).pipe(Effect.flip)
      yield* session.close
      yield* allClosed(peer)
      assert.deepStrictEqual(peer.kinds(), ["server/discover", "tools/call", "tools/call"])
    }))

  it.live("[SHE-01] a request of the server in its stream gets no response", () =>
    Effect.gen(function*() {
      const peer = yield* serve(withDiscovery((received, reply) =>
        reply.stream()
          .event({ jsonrpc: "2.0", id: "a", method: "ping" })
          .event({ jsonrpc: "2.0", id: "b", method: "roots/list" })
          .event({ jsonrpc: "2.0", id: "c", method: 1 })
          .event(response(received, { content: [] }))
          .end()
      ))
      const { events, session } = yield* connectModern(peer, {
        handlers: { "roots/list": () => Effect.succeed({ roots: [] }) }
      })
      yield* session.callTool("x")
      yield* session.callTool("x")
      yield* session.close
      assert.deepStrictEqual(peer.kinds(), ["server/discover", "tools/call", "tools/call"])
      const ignored = events.flatMap((event) => event._tag === "RequestIgnored" ? [event.method] : [])
      assert.deepStrictEqual(ignored, ["ping", "roots/list", "ping", "roots/list"])
    }))

  it.live("[SHE-06] comments in its stream have no effect", () =>
    Effect.gen(function*() {
      const peer = yield* serve(withDiscovery((received, reply) =>
        reply.stream()
          .raw(": \n\n:\n\n: data: {}\n\n")
          .raw(`: keep-alive\ndata: ${JSON.stringify(response(received, text("x")))}\n: keep-alive\n\n`)
          .end()
      ))
      const { events, session } = yield* connectModern(peer)
      assert.deepStrictEqual((yield* session.callTool("x")).content, text("x").content)
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), ["StateChanged", "StateChanged"])
    }))

  /** Returns the id and the resumption header of each request after the probe. */
  const sentAfterProbe = (peer: ScriptedServer) =>
    peer.received.slice(1).map((one) => [one.kind, idOf(one), one.headers["last-event-id"]])

  it.live("[SHE-10] a request that reads is sent once more with a new id after its stream is lost", () =>
    Effect.gen(function*() {
      let losses = 1
      const peer = yield* serve(withDiscovery((received, reply) =>
        losses-- > 0
          ? reply.stream().event("", "7").disconnect()
          : reply.json(response(received, { tools: [{ name: "a", inputSchema: { type: "object" } }] }))
      ))
      const { events, session } = yield* connectModern(peer)
      const { tools } = yield* session.listTools()
      assert.deepStrictEqual(tools.map(({ name }) => name), ["a"])
      assert.deepStrictEqual(sentAfterProbe(peer), [["tools/list", 1, undefined], ["tools/list", 2, undefined]])
      assert.deepInclude(events.find(({ _tag }) => _tag === "StreamLost"), { method: "tools/list" })
      losses = 2
      const { reason } = yield* Effect.flip(session.listTools())
      assert.strictEqual(reason._tag, "OutcomeUnknown")
      assert.strictEqual(peer.received.length, 5)
    }))

  it.live("[SHE-10] a call whose stream is lost has an unknown outcome, and is only repeated by the program", () =>
    Effect.gen(function*() {
      let losses = 1
      const peer = yield* serve(withDiscovery((received, reply) =>
        losses-- > 0
          ? reply.stream().event("", "7").disconnect()
          : reply.json(response(received, { content: [] }))
      ))
      const { events, session } = yield* connectModern(peer)
      const call = session.callTool("x")
      const { reason } = yield* Effect.flip(call)
      assert.strictEqual(reason._tag, "OutcomeUnknown")
      assert.deepInclude(events.find(({ _tag }) => _tag === "StreamLost"), { retryAfterMillis: undefined })
      yield* call
      assert.deepStrictEqual(sentAfterProbe(peer), [["tools/call", 1, undefined], ["tools/call", 2, undefined]])
    }))

  it.live("a request that reads is not sent again after a response that is no stream", () =>
    Effect.gen(function*() {
      const peer = yield* serve(withDiscovery((_, reply) => reply.status(500)))
      const { session } = yield* connectModern(peer)
      const { reason } = yield* Effect.flip(session.listTools())
      assert.strictEqual(reason._tag, "OutcomeUnknown")
      assert.deepStrictEqual(peer.kinds(), ["server/discover", "tools/list"])
    }))

  it.live("an error in a 4xx response is the response, whatever its code", () =>
    Effect.gen(function*() {
      const codes = [-32020, -32021, -32022, -32601, -32602]
      let next = 0
      const peer = yield* serve(
        withDiscovery((received, reply) => reply.status(400, requestFailure(received, codes[next++] ?? 0)))
      )
      const { session } = yield* connectModern(peer)
      const errors = yield* Effect.forEach(codes, () => Effect.flip(session.listTools()))
      assert.deepStrictEqual(
        errors.map(({ reason }) => reason._tag === "ErrorResponse" ? reason.error.code : reason._tag),
        codes
      )
    }))
})

describe.concurrent("the choice of a revision over HTTP", () => {
  const legacy = () => withHandshake((received, reply) => reply.json(response(received, { content: [] })))

  const rejections: ReadonlyArray<{ readonly name: string; readonly reject: Handler }> = [
    { name: "400 without a body", reject: (_, reply) => reply.status(400) },
    { name: "400 with text", reject: (_, reply) => reply.raw(400, {}, "Bad Request: no session") },
    {
      name: "[SHE-33] 400 with error -32000",
      reject: (received, reply) => reply.status(400, requestFailure(received, -32000))
    },
    { name: "400 with error -32601", reject: (received, reply) => reply.status(400, requestFailure(received, -32601)) },
    { name: "400 with -32022 alone", reject: (received, reply) => reply.status(400, requestFailure(received, -32022)) },
    { name: "404 with HTML", reject: (_, reply) => reply.raw(404, { "content-type": "text/html" }, "<p>") },
    { name: "404 with error -32001", reject: (received, reply) => reply.status(404, requestFailure(received, -32001)) },
    // Statuses of refusal.
    ...[202, 405, 406, 409, 410, 411, 415, 422, 426, 501].map((status) => ({
      name: String(status),
      reject: ((_, reply) => reply.status(status)) satisfies Handler
    })),
    {
      name: "a redirect that is not followed",
      reject: (_, reply) => reply.status(302, undefined, { location: "/login" })
    },
    // A JSON-RPC error, whatever its status is.
    ...[402, 404, 409, 429, 500, 501, 502, 503].map((status) => ({
      name: `${status} with error -32601`,
      reject: ((received, reply) => reply.status(status, requestFailure(received, -32601))) satisfies Handler
    })),
    {
      name: "500 with error -32603",
      reject: (received, reply) => reply.status(500, requestFailure(received, -32603))
    },
    {
      name: "404 with an error without id",
      reject: (_, reply) => reply.status(404, { jsonrpc: "2.0", id: null, error: { code: -32000, message: "no" } })
    },
    { name: "200 with error -32601", reject: (received, reply) => reply.json(requestFailure(received, -32601)) },
    { name: "200 with another result", reject: (received, reply) => reply.json(response(received, {})) }
  ]
  for (const { name, reject } of rejections) {
    it.live(`${name} leads to initialize`, () =>
      Effect.gen(function*() {
        const rest = legacy()
        const peer = yield* serve((received, reply) =>
          received.kind === "server/discover" ? reject(received, reply) : rest(received, reply)
        )
        const { events, session } = yield* connectModern(peer)
        yield* session.callTool("x")
        assert.strictEqual(session.profile.revision, "2025-11-25")
        yield* until(() => peer.kinds().length >= 5)
        assert.sameMembers(
          [...peer.kinds()],
          ["server/discover", "initialize", "notifications/initialized", "GET", "tools/call"]
        )
        const [, initialize, ...others] = peer.received
        assert.deepStrictEqual(initialize === undefined ? {} : mcpHeadersOf(initialize), {})
        for (const other of others) {
          assert.deepInclude(mcpHeadersOf(other), { "mcp-protocol-version": "2025-11-25", "mcp-session-id": "s1" })
          assert.notProperty(other.headers, "mcp-method")
        }
        assert.lengthOf(events.filter(({ _tag }) => _tag === "FellBack"), 1)
      }))
  }

  const json = { "content-type": "application/json" }
  const failures: ReadonlyArray<{ readonly name: string; readonly reject: Handler; readonly message: string }> = [
    {
      name: "401",
      reject: (_, reply) => reply.status(401, undefined, { "www-authenticate": "Bearer" }),
      message: "requires authentication"
    },
    { name: "403", reject: (received, reply) => reply.status(403, requestFailure(received, -32000)), message: "403" },
    { name: "429", reject: (_, reply) => reply.status(429), message: "429" },
    {
      name: "403 with error -32601",
      reject: (received, reply) => reply.status(403, requestFailure(received, -32601)),
      message: "403"
    },
    // A full server answers so, in any revision.
    ...[429, 503].map((status) => ({
      name: `${status} with error -32000`,
      reject: ((received, reply) => reply.status(status, requestFailure(received, -32000))) satisfies Handler,
      message: String(status)
    })),
    // Statuses of authorization, size, time and frequency, and of a server that may have done anything.
    ...[402, 407, 408, 413, 421, 423, 425, 431, 451, 500, 502, 503, 504].map((status) => ({
      name: String(status),
      reject: ((_, reply) => reply.status(status)) satisfies Handler,
      message: String(status)
    })),
    { name: "an empty body", reject: (_, reply) => reply.raw(200, json, ""), message: "is not JSON" },
    {
      name: "HTML",
      reject: (_, reply) => reply.raw(200, { "content-type": "text/html" }, "<p>"),
      message: "text/html"
    },
    { name: "a stream that ends", reject: (_, reply) => reply.stream().raw(": \n\n").end(), message: "the stream" },
    {
      name: "[SHE-33] 400 with error -32020",
      reject: (received, reply) => reply.status(400, requestFailure(received, -32020)),
      message: "rejected server/discover with error -32020"
    },
    {
      name: "[SHE-33] 400 with error -32021",
      reject: (received, reply) =>
        reply.status(400, requestFailure(received, -32021, { requiredCapabilities: { roots: {} } })),
      message: "rejected server/discover with error -32021"
    },
    {
      name: "[SHE-33] 400 with error -32022",
      reject: (received, reply) => reply.status(400, requestFailure(received, -32022, { supported: ["2030-01-01"] })),
      message: "the server supports 2030-01-01; this client supports 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, " +
        "2026-07-28"
    }
  ]
  for (const { message, name, reject } of failures) {
    it.live(`${name} decides nothing, and fails the connection`, () =>
      Effect.gen(function*() {
        const rest = legacy()
        const peer = yield* serve((received, reply) =>
          received.kind === "server/discover" ? reject(received, reply) : rest(received, reply)
        )
        const error = yield* Effect.flip(connectModern(peer))
        assert.include(error.message, message)
        assert.deepStrictEqual(peer.kinds(), ["server/discover"])
        yield* allClosed(peer)
      }))
  }

  it.live("a lost connection is followed by one more attempt, and by no third", () =>
    Effect.gen(function*() {
      const dropping = (losses: number) => {
        let left = losses
        const rest = withDiscovery((received, reply) => reply.json(response(received, { content: [] })))
        return serve((received, reply) => left-- > 0 ? reply.disconnect() : rest(received, reply))
      }
      const once = yield* dropping(1)
      const { session } = yield* connectModern(once)
      assert.strictEqual(session.profile.revision, "2026-07-28")
      assert.deepStrictEqual(once.kinds(), ["server/discover", "server/discover"])
      const always = yield* dropping(3)
      const error = yield* Effect.flip(connectModern(always))
      assert.include(error.message, "lost")
      assert.deepStrictEqual(always.kinds(), ["server/discover", "server/discover"])
    }))

  it.live("silence fails the connection after handshakeTimeout", () =>
    Effect.gen(function*() {
      const peer = yield* serve(() => {})
      const error = yield* Effect.flip(connectModern(peer, { limits: { handshakeTimeout: "1 second" } }))
      assert.include(error.message, "did not respond to server/discover within 1000 ms")
      assert.deepStrictEqual(peer.kinds(), ["server/discover"])
    }))

  it.live("a client of older revisions only sends no header of the new one", () =>
    Effect.gen(function*() {
      const peer = yield* serve(legacy())
      const { session } = yield* connectModern(peer, { revisions: ["2025-11-25"] })
      yield* session.callTool("x")
      assert.notInclude(peer.kinds(), "server/discover")
      assert.isFalse(peer.received.some(({ headers }) => "mcp-method" in headers))
    }))
})

describe.concurrent("this library's servers", () => {
  it.live("without sessions serve a client of each era", () =>
    Effect.gen(function*() {
      const server = yield* serveStateless(tools({
        count: Effect.andThen(
          Effect.forEach([1, 2, 3], (progress) => RequestContext.progress({ progress })),
          Effect.succeed(text("3"))
        ),
        ask: Effect.gen(function*() {
          const { content } = yield* Effect.orDie(RequestContext.elicit({
            message: "Name?",
            requestedSchema: { type: "object", properties: { name: { type: "string" } } }
          }))
          return text(`Hello, ${String(content?.["name"])}`)
        })
      }))
      const url = { url: `http://127.0.0.1:${server.port}/mcp` }
      const modern = yield* connectModern(url, {
        handlers: { "elicitation/create": () => Effect.succeed({ action: "accept", content: { name: "Ada" } }) }
      })
      assert.strictEqual(modern.session.profile.revision, "2026-07-28")
      const steps: Array<number> = []
      const counted = yield* modern.session.callTool("count", {}, {
        onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress))
      })
      assert.deepStrictEqual([counted.content, steps], [text("3").content, [1, 2, 3]])
      assert.deepStrictEqual((yield* modern.session.callTool("ask")).content, text("Hello, Ada").content)
      const legacy = yield* connectModern(url, { revisions: ["2025-11-25"] })
      assert.strictEqual(legacy.session.profile.revision, "2025-11-25")
      assert.deepStrictEqual((yield* legacy.session.callTool("count")).content, text("3").content)
    }))

  it.live("without sessions interrupt the handler of a call whose caller is interrupted", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const server = yield* serveStateless(tools({
        wait: Effect.suspend(() => {
          seen.push("started")
          return Effect.onInterrupt(Effect.never, () => Effect.sync(() => void seen.push("interrupted")))
        })
      }))
      const { session } = yield* connectModern({ url: `http://127.0.0.1:${server.port}/mcp` })
      const calling = yield* forkNow(session.callTool("wait"))
      yield* until(() => seen.length === 1)
      yield* Fiber.interrupt(calling)
      yield* until(() => seen.length === 2)
      assert.deepStrictEqual(seen, ["started", "interrupted"])
    }))

  it.live("with sessions serve the client in some revision", () =>
    Effect.gen(function*() {
      const server = yield* serveStateful(tools({ now: Effect.succeed(text("now")) }))
      const { session } = yield* connectModern({ url: `http://127.0.0.1:${server.port}/mcp` })
      assert.deepStrictEqual((yield* session.callTool("now")).content, text("now").content)
    }))
})
