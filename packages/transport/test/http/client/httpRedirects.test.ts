import { ClientSession, Transport } from "@effect-mcp/session"
import { HttpFallbackClient, HttpSseClient, StreamableHttpClient } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { connect, notification, profile, quick, reasonOf, request, until } from "../../fixtures/httpConnection.ts"
import { type Handler, mcp, type Received, response, serve } from "../../fixtures/httpPeer.ts"
import { answering } from "../../fixtures/ssePeer.ts"

/** Where a request of this kind is redirected to; `undefined` if it is served. */
type Redirected = (received: Received) => readonly [status: number, location: string] | undefined

const redirecting = (redirected: Redirected, rest: Handler): Handler => (received, reply) => {
  const redirect = redirected(received)
  if (redirect === undefined) return rest(received, reply)
  reply.raw(redirect[0], { location: redirect[1] }, "moved")
}

/** The server of a Starlette app that is mounted at `/mcp`: it redirects to the path with a slash. */
const mounted = (status: number): Redirected => ({ path }) => path === "/mcp" ? [status, "/mcp/"] : undefined

/** A server with one standalone stream for each session, which answers everything. */
const newer = (): Handler => {
  const others = mcp((received, reply) => reply.json(response(received, { content: [] })))
  return (received, reply) => {
    if (received.what !== "GET") return others(received, reply)
    reply.stream().event(notification("standalone"))
  }
}

const waysOf = ({ received }: { readonly received: ReadonlyArray<Received> }) =>
  received.map(({ path, what }) => `${what} ${path.replace(/\?.*/, "")}`)

const sessionOver = (layer: Layer.Layer<Transport.Transport>) =>
  Effect.map(
    Layer.build(Layer.provide(ClientSession.layer({ info: profile.info }), layer)),
    (context) => Context.get(context, ClientSession.ClientSession)
  )

describe.concurrent("a server that redirects within its origin", () => {
  for (
    const [name, layer] of [
      ["undici", StreamableHttpClient.layerNode],
      ["fetch", StreamableHttpClient.layerFetch],
      ["a client that may fall back", HttpFallbackClient.layerNode]
    ] as const
  ) {
    for (const status of [307, 308]) {
      it.live(`is followed with ${status}, and serves the whole session where it led to (${name})`, () =>
        Effect.gen(function*() {
          const peer = yield* serve(redirecting(mounted(status), newer()))
          yield* Effect.scoped(Effect.gen(function*() {
            const session = yield* sessionOver(layer({ url: peer.url, headers: { "x-example": "yes" } }))
            yield* session.callTool("x")
            yield* until(() => peer.asked().includes("GET"))
          }))
          yield* until(() => peer.asked().includes("DELETE"))
          assert.deepStrictEqual(
            new Set(waysOf(peer)),
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

  it.live("is asked at the new URL by later sessions after 308, and at the first one after 307", () =>
    Effect.gen(function*() {
      for (const [status, second] of [[307, "/mcp"], [308, "/mcp/"]] as const) {
        const peer = yield* serve(redirecting(mounted(status), newer()))
        const transport = Context.get(
          yield* Layer.build(StreamableHttpClient.layerNode({ url: peer.url, standalone: false })),
          Transport.Transport
        )
        const open = Effect.provideService(
          ClientSession.make({ info: profile.info }),
          Transport.Transport,
          transport
        )
        yield* open
        yield* open
        const openings = peer.received.filter(({ what }) => what === "initialize")
        assert.deepStrictEqual(openings.slice(0, 3).map(({ path }) => path), ["/mcp", "/mcp/", second])
      }
    }))

  it.live("has not moved for good where a permanent redirect follows a temporary one", () =>
    Effect.gen(function*() {
      const peer = yield* serve(redirecting(
        ({ path }) => path === "/mcp" ? [307, "/b"] : path === "/b" ? [308, "/c"] : undefined,
        newer()
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
      const once = ["initialize /mcp", "initialize /b", "initialize /c", "tools/call /c"]
      assert.deepStrictEqual(waysOf(peer), [...once, ...once])
    }))

  it.live("is asked at the first URL again when its session is lost", () =>
    Effect.gen(function*() {
      let place = "/one"
      const peer = yield* serve((received, reply) => {
        if (received.path === "/mcp") return reply.raw(307, { location: place }, "")
        if (received.path !== place) return reply.status(404)
        return newer()(received, reply)
      })
      const client = yield* connect(peer, { standalone: false })
      yield* client.shake
      place = "/two"
      yield* client.request(request(1))
      assert.deepStrictEqual(waysOf(peer).slice(3), [
        "tools/call /one",
        "initialize /mcp",
        "initialize /two",
        "notifications/initialized /two",
        "tools/call /two"
      ])
    }))

  for (const status of [301, 302, 303, 307, 308]) {
    it.live(`is followed with ${status} for a stream, which moves no message`, () =>
      Effect.gen(function*() {
        let opened = 0
        const others = mcp((received, reply) => reply.json(response(received)))
        const peer = yield* serve(redirecting(
          ({ method, path }) => method === "GET" && path === "/mcp" ? [status, "/mcp/stream"] : undefined,
          (received, reply) =>
            received.what === "GET"
              ? void reply.stream().event(notification(++opened), String(opened)).end()
              : others(received, reply)
        ))
        const client = yield* connect(peer, { reconnect: quick })
        yield* client.shake
        yield* until(() => client.messages().length >= 2)
        yield* client.request(request(1))
        const gets = peer.received.filter(({ method }) => method === "GET")
        assert.deepStrictEqual(gets.slice(0, 3).map(({ path }) => path), ["/mcp", "/mcp/stream", "/mcp/stream"])
        assert.strictEqual(gets[2]?.headers["last-event-id"], "1")
        assert.strictEqual(peer.received.findLast(({ what }) => what === "tools/call")?.path, "/mcp")
      }))
  }

  it.live("is not followed with 301, 302 or 303 for a message, which would become a GET", () =>
    Effect.gen(function*() {
      for (const status of [301, 302, 303]) {
        const peer = yield* serve(redirecting(mounted(status), newer()))
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

  it.live("is followed five times in a row, and no more", () =>
    Effect.gen(function*() {
      const hops = (count: number): Redirected => ({ path }) => {
        const hop = path === "/mcp" ? 0 : Number(path.slice(1))
        return hop < count ? [307, `/${hop + 1}`] : undefined
      }
      const five = yield* serve(redirecting(hops(5), newer()))
      yield* (yield* connect(five, { standalone: false })).request(request(0, "initialize"))
      assert.deepStrictEqual(five.received.map(({ path }) => path), ["/mcp", "/1", "/2", "/3", "/4", "/5"])
      const circle = yield* serve((_, reply) => reply.raw(308, { location: "/mcp" }, ""))
      const client = yield* connect(circle, { standalone: false })
      const reason = yield* reasonOf(client.request(request(0, "initialize")))
      assert.isTrue(reason._tag === "Rejected" && reason.status === 308 && reason.problem.includes("5 times"))
      assert.lengthOf(circle.received, 6)
    }))

  it.live("is not remembered where it led to a failure", () =>
    Effect.gen(function*() {
      let fails = true
      const peer = yield* serve(redirecting(
        ({ path }) => fails && path === "/mcp" ? [308, "/broken"] : undefined,
        (received, reply) => received.path === "/broken" ? reply.status(503) : newer()(received, reply)
      ))
      const client = yield* connect(peer, { standalone: false })
      yield* reasonOf(client.request(request(0, "initialize")))
      fails = false
      yield* client.request(request(0, "initialize"))
      assert.strictEqual(peer.received.at(-1)?.path, "/mcp")
    }))

  it.live("is asked without the credentials that it puts into its Location", () =>
    Effect.gen(function*() {
      const peer = yield* serve((received, reply) =>
        received.path === "/mcp"
          ? reply.raw(307, { location: `http://ada:secret@${received.headers.host}/in` }, "")
          : newer()(received, reply)
      )
      const client = yield* connect(peer, { standalone: false })
      yield* client.request(request(0, "initialize"))
      assert.isUndefined(peer.received[1]?.headers.authorization)
    }))

  it.live("gets the proof of who asks at the URL that it redirects to", () =>
    Effect.gen(function*() {
      const peer = yield* serve(redirecting(mounted(307), (received, reply) =>
        received.headers.authorization === undefined
          ? reply.raw(401, { "www-authenticate": "Bearer" }, "")
          : newer()(received, reply)))
      const client = yield* connect(peer, {
        standalone: false,
        authorize: () =>
          Effect.succeed({ authorization: "Bearer abc" })
      })
      yield* client.shake
      assert.deepStrictEqual(waysOf(peer), [
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
      const elsewhere = yield* serve(newer())
      const { host, port } = new URL(elsewhere.url)
      for (
        const [location, shown] of [
          [`http://${host}/mcp?key=secret`, `http://${host}/mcp`],
          [`//localhost:${port}/mcp`, `http://localhost:${port}/mcp`],
          [`https://${host}/mcp`, `https://${host}/mcp`],
          ["file:///etc/passwd", "file:"],
          ["javascript:alert(1)", "javascript:"],
          [`https://a.example/${"x".repeat(300)}`, `https://a.example/${"x".repeat(182)} is`],
          [`http://[/${"x".repeat(300)}`, `"http://[/${"x".repeat(191)}" is`]
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
    const streams: Array<Parameters<typeof answering>[2][number]> = []
    const handler: Handler = (received, reply) => {
      if (received.method === "GET") {
        streams.push(reply.stream().raw(`event: endpoint\ndata: in?session=${streams.length + 1}\n\n`))
      } else if (received.path.startsWith("/sub/moved")) answering(received, reply, streams)
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
    it.live(`is followed, and names where to POST to from where its stream is (${name})`, () =>
      Effect.gen(function*() {
        const peer = yield* serve(older())
        const session = yield* sessionOver(layer({ url: peer.url }))
        yield* session.callTool("x")
        assert.deepStrictEqual(waysOf(peer), [
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
