import { Revision } from "@effect-mcp/protocol"
import { ClientSession, Transport } from "@effect-mcp/session"
import {
  ClientAuthorization,
  HttpFallbackClient,
  HttpSseClient,
  StreamableHttpClient
} from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import {
  connect,
  notification,
  profile,
  quickReconnect,
  reasonOf,
  request,
  until
} from "../../support/httpClientConnection.ts"
import { type Handler, type Received, response, serve, withHandshake } from "../../support/scriptedHttpServer.ts"
import { respondOnStream } from "../../support/scriptedSseServer.ts"

/** Returns the redirect of a request; `undefined` if it is served. */
type RedirectOf = (received: Received) => readonly [status: number, location: string] | undefined

const redirecting = (redirectOf: RedirectOf, rest: Handler): Handler => (received, reply) => {
  const redirect = redirectOf(received)
  if (redirect === undefined) return rest(received, reply)
  reply.raw(redirect[0], { location: redirect[1] }, "moved")
}

/** Redirects to the path with a slash, as a Starlette app that is mounted at `/mcp` does. */
const mounted = (status: number): RedirectOf => ({ path }) => path === "/mcp" ? [status, "/mcp/"] : undefined

/** Serves every request, and a standalone stream for each session. */
const streamableServer = (): Handler => {
  const others = withHandshake((received, reply) => reply.json(response(received, { content: [] })))
  return (received, reply) => {
    if (received.kind !== "GET") return others(received, reply)
    reply.stream().event(notification("standalone"))
  }
}

const requestsOf = ({ received }: { readonly received: ReadonlyArray<Received> }) =>
  received.map(({ path, kind }) => `${kind} ${path.replace(/\?.*/, "")}`)

const sessionOver = (layer: Layer.Layer<Transport.Transport>) =>
  Effect.map(
    Layer.build(Layer.provide(ClientSession.layer({ info: profile.info, revisions: Revision.legacy }), layer)),
    (context) => Context.get(context, ClientSession.ClientSession)
  )

describe.concurrent("a server that redirects within its origin", () => {
  for (
    const [name, layer] of [
      ["undici", StreamableHttpClient.layerNode],
      ["fetch", StreamableHttpClient.layerFetch],
      ["the fallback client", HttpFallbackClient.layerNode]
    ] as const
  ) {
    for (const status of [307, 308]) {
      it.live(`with ${status} is followed, and serves the whole session at the new URL (${name})`, () =>
        Effect.gen(function*() {
          const peer = yield* serve(redirecting(mounted(status), streamableServer()))
          yield* Effect.scoped(Effect.gen(function*() {
            const session = yield* sessionOver(layer({ url: peer.url, headers: { "x-example": "yes" } }))
            yield* session.callTool("x")
            yield* until(() => peer.kinds().includes("GET"))
          }))
          yield* until(() => peer.kinds().includes("DELETE"))
          assert.deepStrictEqual(
            new Set(requestsOf(peer)),
            new Set([
              "initialize /mcp",
              "initialize /mcp/",
              "notifications/initialized /mcp/",
              "tools/call /mcp/",
              "GET /mcp/",
              "DELETE /mcp/"
            ])
          )
          assert.lengthOf(peer.received, 6)
          for (const { headers } of peer.received) assert.strictEqual(headers["x-example"], "yes")
        }))
    }
  }

  it.live("receives later sessions at the new URL after 308, and at the first URL after 307", () =>
    Effect.gen(function*() {
      for (const [status, second] of [[307, "/mcp"], [308, "/mcp/"]] as const) {
        const peer = yield* serve(redirecting(mounted(status), streamableServer()))
        const transport = Context.get(
          yield* Layer.build(StreamableHttpClient.layerNode({ url: peer.url, standalone: false })),
          Transport.Transport
        )
        const open = Effect.provideService(
          ClientSession.make({ info: profile.info, revisions: Revision.legacy }),
          Transport.Transport,
          transport
        )
        yield* open
        yield* open
        const handshakes = peer.received.filter(({ kind }) => kind === "initialize")
        assert.deepStrictEqual(handshakes.slice(0, 3).map(({ path }) => path), ["/mcp", "/mcp/", second])
      }
    }))

  it.live("with a permanent redirect after a temporary one has not moved permanently", () =>
    Effect.gen(function*() {
      const peer = yield* serve(redirecting(
        ({ path }) => path === "/mcp" ? [307, "/b"] : path === "/b" ? [308, "/c"] : undefined,
        streamableServer()
      ))
      const transport = Context.get(
        yield* Layer.build(StreamableHttpClient.layerNode({ url: peer.url, standalone: false })),
        Transport.Transport
      )
      for (const _ of [1, 2]) {
        const connection = yield* transport.connect
        yield* connection.request?.(request(0, "initialize")) ?? Effect.void
        yield* connection.request?.(request(1)) ?? Effect.void
      }
      const oneSession = ["initialize /mcp", "initialize /b", "initialize /c", "tools/call /c"]
      assert.deepStrictEqual(requestsOf(peer), [...oneSession, ...oneSession])
    }))

  it.live("receives a renewed session at the first URL", () =>
    Effect.gen(function*() {
      let path = "/one"
      const peer = yield* serve((received, reply) => {
        if (received.path === "/mcp") return reply.raw(307, { location: path }, "")
        if (received.path !== path) return reply.status(404)
        return streamableServer()(received, reply)
      })
      const client = yield* connect(peer, { standalone: false })
      yield* client.handshake
      path = "/two"
      yield* client.request(request(1))
      assert.deepStrictEqual(requestsOf(peer).slice(3), [
        "tools/call /one",
        "initialize /mcp",
        "initialize /two",
        "notifications/initialized /two",
        "tools/call /two"
      ])
    }))

  for (const status of [301, 302, 303, 307, 308]) {
    it.live(`with ${status} is followed for a stream, and messages go to the first URL`, () =>
      Effect.gen(function*() {
        let opened = 0
        const others = withHandshake((received, reply) => reply.json(response(received)))
        const peer = yield* serve(redirecting(
          ({ method, path }) => method === "GET" && path === "/mcp" ? [status, "/mcp/stream"] : undefined,
          (received, reply) =>
            received.kind === "GET"
              ? void reply.stream().event(notification(++opened), String(opened)).end()
              : others(received, reply)
        ))
        const client = yield* connect(peer, { reconnect: quickReconnect })
        yield* client.handshake
        yield* until(() => client.messages().length >= 2)
        yield* client.request(request(1))
        const gets = peer.received.filter(({ method }) => method === "GET")
        assert.deepStrictEqual(gets.slice(0, 3).map(({ path }) => path), ["/mcp", "/mcp/stream", "/mcp/stream"])
        assert.strictEqual(gets[2]?.headers["last-event-id"], "1")
        assert.strictEqual(peer.received.findLast(({ kind }) => kind === "tools/call")?.path, "/mcp")
      }))
  }

  it.live("with 301, 302 or 303 is not followed for a message, because it would become a GET", () =>
    Effect.gen(function*() {
      for (const status of [301, 302, 303]) {
        const peer = yield* serve(redirecting(mounted(status), streamableServer()))
        const client = yield* connect(peer, { standalone: false })
        const reason = yield* reasonOf(client.request(request(0, "initialize")))
        assert.isTrue(
          reason._tag === "Rejected" && reason.status === status &&
            reason.problem.startsWith(`the redirect to Location ${peer.url}/ is not followed`),
          JSON.stringify(reason)
        )
        assert.lengthOf(peer.received, 1)
      }
    }))

  it.live("is followed at most five times in a row", () =>
    Effect.gen(function*() {
      const hops = (count: number): RedirectOf => ({ path }) => {
        const hop = path === "/mcp" ? 0 : Number(path.slice(1))
        return hop < count ? [307, `/${hop + 1}`] : undefined
      }
      const five = yield* serve(redirecting(hops(5), streamableServer()))
      yield* (yield* connect(five, { standalone: false })).request(request(0, "initialize"))
      assert.deepStrictEqual(five.received.map(({ path }) => path), ["/mcp", "/1", "/2", "/3", "/4", "/5"])
      const circle = yield* serve((_, reply) => reply.raw(308, { location: "/mcp" }, ""))
      const client = yield* connect(circle, { standalone: false })
      const reason = yield* reasonOf(client.request(request(0, "initialize")))
      assert.isTrue(reason._tag === "Rejected" && reason.status === 308 && reason.problem.includes("5 times"))
      assert.lengthOf(circle.received, 6)
    }))

  it.live("to a URL that fails receives the next request at the first URL", () =>
    Effect.gen(function*() {
      let fails = true
      const peer = yield* serve(redirecting(
        ({ path }) => fails && path === "/mcp" ? [308, "/broken"] : undefined,
        (received, reply) => received.path === "/broken" ? reply.status(503) : streamableServer()(received, reply)
      ))
      const client = yield* connect(peer, { standalone: false })
      yield* reasonOf(client.request(request(0, "initialize")))
      fails = false
      yield* client.request(request(0, "initialize"))
      assert.strictEqual(peer.received.at(-1)?.path, "/mcp")
    }))

  it.live("receives no credentials from its Location", () =>
    Effect.gen(function*() {
      const peer = yield* serve((received, reply) =>
        received.path === "/mcp"
          ? reply.raw(307, { location: `http://ada:secret@${received.headers.host}/in` }, "")
          : streamableServer()(received, reply)
      )
      const client = yield* connect(peer, { standalone: false })
      yield* client.request(request(0, "initialize"))
      assert.isUndefined(peer.received[1]?.headers.authorization)
    }))

  it.live("receives the headers of an authorization at the new URL", () =>
    Effect.gen(function*() {
      const peer = yield* serve(redirecting(mounted(307), (received, reply) =>
        received.headers.authorization === undefined
          ? reply.raw(401, { "www-authenticate": "Bearer" }, "")
          : streamableServer()(received, reply)))
      const client = yield* connect(peer, {
        standalone: false,
        authorization: ClientAuthorization.fromChallenge(() =>
          Effect.succeed({ authorization: "Bearer abc" })
        )
      })
      yield* client.handshake
      assert.deepStrictEqual(requestsOf(peer), [
        "initialize /mcp",
        "initialize /mcp/",
        "initialize /mcp",
        "initialize /mcp/",
        "notifications/initialized /mcp/"
      ])
    }))
})

describe.concurrent("a server that redirects to another origin", () => {
  it.live("is not followed, and the error names the Location", () =>
    Effect.gen(function*() {
      const elsewhere = yield* serve(streamableServer())
      const { host, port } = new URL(elsewhere.url)
      for (
        const [location, shown] of [
          [`http://${host}/mcp?key=secret`, `http://${host}/mcp`],
          [`//localhost:${port}/mcp`, `http://localhost:${port}/mcp`],
          [`https://${host}/mcp`, `https://${host}/mcp`],
          ["file:///etc/passwd", "file:"],
          ["javascript:alert(1)", "javascript:"],
          [`https://a.example/${"x".repeat(300)}`, `https://a.example/${"x".repeat(181)}… is`],
          [`http://[/${"x".repeat(300)}`, `"http://[/${"x".repeat(190)}…" is`]
        ] as const
      ) {
        const peer = yield* serve((_, reply) => reply.raw(307, { location }, ""))
        const client = yield* connect(peer, { standalone: false })
        const reason = yield* reasonOf(client.request(request(0, "initialize")))
        assert.isTrue(reason._tag === "Rejected" && reason.status === 307)
        const problem = reason._tag === "Rejected" ? reason.problem : ""
        assert.include(problem, `Location ${shown}`)
        assert.notInclude(problem, "secret")
      }
      const nowhere = yield* serve((_, reply) => reply.status(307))
      const reason = yield* reasonOf((yield* connect(nowhere)).request(request(0, "initialize")))
      assert.isTrue(reason._tag === "Rejected" && reason.problem === "the redirect has no Location")
      assert.lengthOf(elsewhere.received, 0)
    }))
})

describe.concurrent("a server of HTTP+SSE that redirects", () => {
  const older = () => {
    const streams: Array<Parameters<typeof respondOnStream>[2][number]> = []
    const handler: Handler = (received, reply) => {
      if (received.method === "GET") {
        streams.push(reply.stream().raw(`event: endpoint\ndata: in?session=${streams.length + 1}\n\n`))
      } else if (received.path.startsWith("/sub/moved")) respondOnStream(received, reply, streams)
      else if (received.path.startsWith("/sub/in")) {
        reply.raw(307, { location: received.path.replace("in", "moved") }, "")
      } else reply.status(405)
    }
    return redirecting(
      ({ method, path }) => path === "/mcp" ? [method === "GET" ? 302 : 307, "/sub/mcp"] : undefined,
      handler
    )
  }

  for (
    const [name, layer, first] of [
      ["HTTP+SSE", HttpSseClient.layerNode, []],
      ["HTTP+SSE over fetch", HttpSseClient.layerFetch, []],
      ["a client that falls back", HttpFallbackClient.layerNode, ["initialize /mcp", "initialize /sub/mcp"]]
    ] as const
  ) {
    it.live(`is followed, and names an endpoint relative to the new URL (${name})`, () =>
      Effect.gen(function*() {
        const peer = yield* serve(older())
        const session = yield* sessionOver(layer({ url: peer.url }))
        yield* session.callTool("x")
        assert.deepStrictEqual(requestsOf(peer), [
          ...first,
          "GET /mcp",
          "GET /sub/mcp",
          "initialize /sub/in",
          "initialize /sub/moved",
          "notifications/initialized /sub/moved",
          "tools/call /sub/moved"
        ])
      }))
  }
})
