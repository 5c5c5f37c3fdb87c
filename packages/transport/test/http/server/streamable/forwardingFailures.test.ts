/** A process that forwards requests to owners that are gone, hang, break off, or reply with what no server sends. */
import { SessionOwners } from "@effect-mcp/session"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Hash from "effect/Hash"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as channels from "node:diagnostics_channel"
import * as http from "node:http"
import * as net from "node:net"
import * as NodeForwarder from "../../../../src/internal/http/server/forwarding/NodeForwarder.ts"
import * as NodeMessages from "../../../../src/internal/http/server/NodeMessages.ts"
import { turns } from "../../../support/eventLoop.ts"
import { clientAt, makeStores, startProcess, type Stores } from "../../../support/fleet.ts"
import { connect, exchange, type RequestOptions, send } from "../../../support/httpClient.ts"
import { until } from "../../../support/process.ts"
import { connectRaw, postText } from "../../../support/rawConnection.ts"
import { hostOf, services, type Settings, text, tools } from "../../../support/server.ts"

const handlersOf = (name: string) => tools({ who: Effect.succeed(text(name)) })

/** The head of a request, and the connection on which the owner replies. */
type Script = (socket: net.Socket, received: string) => void

/** Stores the session `s` of a principal. */
const storeSession = ({ sessionStore }: Stores, principal?: string): Effect.Effect<void> => {
  const now = Date.now()
  const session = { id: "s", principal, handshakeMessages: [], openedAt: now, usedAt: now, epoch: 1 }
  return Effect.orDie(sessionStore.create(session))
}

/** Starts an owner that a script plays. It claims the session `s`, and its lease stands. */
const startOwner = Effect.fnUntraced(function*(stores: Stores, script: Script) {
  const requests: Array<string> = []
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    sockets.add(socket)
    socket.on("error", () => {}).on("close", () => sockets.delete(socket))
    let received = ""
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1")
      if (!received.includes("\r\n\r\n")) return
      requests.push(received)
      script(socket, received)
      received = ""
    })
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
    () =>
      Effect.sync(() => {
        for (const socket of sockets) socket.destroy()
        server.close()
      })
  )
  const address = server.address()
  if (address === null || typeof address === "string") return yield* Effect.die(new Error("no port"))
  const owners = yield* SessionOwners.make(stores.ownerStore, { address: `http://127.0.0.1:${address.port}` })
  yield* owners.awaitLease
  assert.strictEqual(yield* owners.claim("s", 0), 1)
  yield* storeSession(stores)
  return { requests, sockets, owners }
})

const json = (body: string, more = "") =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n${more}\r\n${body}`

const ping: RequestOptions = {
  headers: { "mcp-session-id": "s" },
  body: { jsonrpc: "2.0", id: 7, method: "ping" }
}

/** Starts a process, and an owner that a script plays. */
const start = Effect.fnUntraced(function*(script: Script, settings: Settings = {}) {
  const stores = yield* makeStores
  const owner = yield* startOwner(stores, script)
  const process = yield* startProcess(stores, handlersOf("process"), settings)
  return { ...owner, stores, process }
})

const unknown = { code: -31013, data: { outcome: "unknown" } }

describe.concurrent("the answer to a question", () => {
  const answer: RequestOptions = { ...ping, body: { jsonrpc: "2.0", id: 3, result: { action: "decline" } } }
  const firsts: Readonly<Record<string, Script>> = {
    "that may have processed it": (socket) => socket.resetAndDestroy(),
    "that has not stored it": (socket) => socket.write("HTTP/1.1 503 Unavailable\r\ncontent-length: 0\r\n\r\n")
  }
  for (const [name, script] of Object.entries(firsts)) {
    it.live(`is sent again after a process ${name}`, () =>
      Effect.gen(function*() {
        let sent = 0
        const { process, requests } = yield* start((socket, received) => {
          if (sent++ === 0) script(socket, received)
          else socket.write("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
        })
        assert.strictEqual((yield* exchange(process, answer)).status, 202)
        assert.strictEqual(requests.length, 2)
      }))

    it.live(`with a proof that is valid once is sent once, also after a process ${name}`, () =>
      Effect.gen(function*() {
        let uses = 0
        const useUp = Authentication.useOnce(Effect.sync(() => void uses++))
        const authentication: Settings["authentication"] = { identify: () => Effect.as(useUp, "anonymous") }
        const { process, requests } = yield* start(script, { authentication })
        const { status } = yield* exchange(process, answer)
        assert.include([502, 503], status)
        assert.strictEqual(requests.length, 1)
        // Whether the owner has used the proof is not known after a broken connection, so this process uses it.
        assert.strictEqual(uses, status === 502 ? 1 : 0)
      }))
  }
})

describe.concurrent("an owner that", () => {
  const failures: Readonly<Record<string, Script>> = {
    "resets the connection before its response": (socket) => socket.resetAndDestroy(),
    "ends the connection before its response": (socket) => socket.end(),
    "sends no response": () => {},
    "sends an endless row of interim responses": (socket) => {
      const timer = setInterval(() => socket.write("HTTP/1.1 103 Early Hints\r\n\r\n"), 5)
      socket.once("close", () => clearInterval(timer))
    },
    "sends headers of 64 KiB": (socket) => socket.write(json("{}", `x: ${"y".repeat(65_536)}\r\n`)),
    "sends no HTTP": (socket) => socket.write("hello\r\n\r\n"),
    "upgrades the connection": (socket) =>
      socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"),
    "replies with a status that is none": (socket) => socket.write("HTTP/1.1 700 What\r\ncontent-length: 0\r\n\r\n")
  }
  for (const [name, script] of Object.entries(failures)) {
    it.live(`${name} leaves the outcome unknown`, () =>
      Effect.gen(function*() {
        const { process, requests, sockets } = yield* start(script, { http: { forwardTimeout: "300 millis" } })
        const posted = yield* exchange(process, ping)
        assert.strictEqual(posted.status, 502)
        assert.deepInclude(posted.messages[0]?.error, unknown)
        assert.strictEqual(posted.messages[0]?.id, 7)
        assert.strictEqual((yield* exchange(process, { ...ping, method: "DELETE", body: undefined })).status, 502)
        const got = yield* exchange(process, { ...ping, method: "GET", body: undefined })
        assert.deepStrictEqual([got.status, got.headers["retry-after"]], [503, "1"])
        // Each request was sent once.
        assert.strictEqual(requests.length, 3)
        yield* until(() => sockets.size === 0)
      }))
  }

  it.live("breaks off its response breaks off that of the client", () =>
    Effect.gen(function*() {
      const { process } = yield* start((socket) => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        socket.write("9\r\ndata: 1\n\n\r\n")
        setTimeout(() => socket.destroy(), 50)
      })
      const broken = yield* exchange(process, ping)
      assert.strictEqual(broken.status, 200)
      assert.strictEqual(broken.text, "data: 1\n\n")
      assert.isFalse(broken.ended)
    }))

  it.live("sends less than it declares breaks off that of the client", () =>
    Effect.gen(function*() {
      const { process } = yield* start((socket) =>
        socket.end("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{}")
      )
      const broken = yield* exchange(process, ping)
      assert.isFalse(broken.ended)
    }))

  it.live("redirects is not followed", () =>
    Effect.gen(function*() {
      const { process, requests } = yield* start((socket) =>
        socket.write("HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n")
      )
      assert.strictEqual((yield* exchange(process, ping)).status, 307)
      assert.strictEqual(requests.length, 1)
    }))

  it.live("sends headers of its connection keeps them to itself", () =>
    Effect.gen(function*() {
      const { process } = yield* start((socket) =>
        socket.write(json("{}", "connection: keep-alive, x-hop\r\nkeep-alive: timeout=99\r\nx-hop: 1\r\nx-end: 2\r\n"))
      )
      const { headers, status, text } = yield* exchange(process, ping)
      assert.deepStrictEqual([status, text, headers["x-end"], headers["x-hop"]], [200, "{}", "2", undefined])
      assert.notInclude(headers["keep-alive"] ?? "", "99")
    }))

  it.live("does not have the session is asked again, for 5 seconds at most", () =>
    Effect.gen(function*() {
      const { process, requests } = yield* start((socket) =>
        socket.write("HTTP/1.1 421 Misdirected Request\r\ncontent-length: 0\r\n\r\n")
      )
      const since = Date.now()
      const rejected = yield* exchange(process, ping)
      assert.deepStrictEqual([rejected.status, rejected.headers["retry-after"]], [503, "1"])
      assert.isBelow(Date.now() - since, 12_000)
      assert.isAbove(requests.length, 5)
      // A long body is sent once.
      requests.length = 0
      const long = yield* exchange(process, {
        ...ping,
        body: { jsonrpc: "2.0", id: 8, method: "ping", params: { x: "y".repeat(200_000) } }
      })
      assert.strictEqual(long.status, 503)
      assert.strictEqual(requests.filter((request) => request.startsWith("POST")).length, 1)
    }))
})

describe.concurrent("an owner that is paused", () => {
  it.live("leaves the outcome unknown when its lease is over, and not before", () =>
    Effect.gen(function*() {
      const stores = yield* makeStores
      const { ownerStore } = stores
      let isPaused = false
      const renew: SessionOwners.OwnerStore["renew"] = (lease) => isPaused ? Effect.never : ownerStore.renew(lease)
      yield* startOwner({ ...stores, ownerStore: { ...methodsOf(ownerStore), renew } }, () => {})
      const process = yield* startProcess(stores, handlersOf("process"))
      const call = yield* send(process, ping)
      yield* Effect.sleep("3 seconds")
      assert.isFalse(call.ended || call.isClosed)
      // The lease is not renewed any more. The connection of the owner stays open.
      const since = Date.now()
      isPaused = true
      yield* call.awaitEnd
      assert.deepInclude(call.messages[0]?.error, unknown)
      assert.isBelow(Date.now() - since, 12_000)
    }))
})

describe.concurrent("an owner whose response has begun", () => {
  const keepAliveInterval = "50 millis"
  const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
  const get: RequestOptions = { ...ping, method: "GET", body: undefined }

  it.live("and that sends nothing for three keep-alive intervals, has it broken off", () =>
    Effect.gen(function*() {
      const { process, sockets } = yield* start((socket) => {
        socket.write(head + chunk("data: 1\n\n"))
      }, { http: { keepAliveInterval } })
      const broken = yield* exchange(process, get)
      assert.deepStrictEqual([broken.status, broken.text, broken.ended], [200, "data: 1\n\n", false])
      yield* until(() => sockets.size === 0)
    }))

  it.live("and that sends comments, keeps it", () =>
    Effect.gen(function*() {
      const { process } = yield* start((socket) => {
        socket.write(head)
        const timer = setInterval(() => socket.write(chunk(": still here\n\n")), 50)
        socket.once("close", () => clearInterval(timer))
      }, { http: { keepAliveInterval: "500 millis" } })
      const got = yield* send(process, get)
      yield* Effect.sleep("2 seconds")
      assert.isFalse(got.isClosed)
      assert.isAbove(got.comments.length, 5)
    }))

  it.live("keeps it while the client reads nothing", () =>
    Effect.gen(function*() {
      const long = "x".repeat(20_000_000)
      const { process } = yield* start((socket) => {
        socket.write(head)
        socket.write(`${chunk(`data: ${long}\n\n`)}0\r\n\r\n`)
      }, { http: { keepAliveInterval } })
      const got = yield* send(process, get)
      yield* got.awaitHeaders
      got.stall()
      yield* Effect.sleep("600 millis")
      got.response?.resume()
      yield* got.awaitEnd
      assert.deepStrictEqual([got.ended, got.text.length], [true, long.length + 8])
    }))
})

describe.concurrent("an owner that is gone", () => {
  it.live("is looked for until its lease is over, and the next process serves the request", () =>
    Effect.gen(function*() {
      const stores = yield* makeStores
      // A process that is killed neither releases its sessions nor ends its lease.
      const { ownerStore } = stores
      const killed = { ...methodsOf(ownerStore), retire: () => Effect.void, release: () => Effect.void }
      const one = yield* startProcess({ ...stores, ownerStore: killed }, handlersOf("one"))
      const two = yield* startProcess(stores, handlersOf("two"))
      const client = yield* connect(one)
      const other = clientAt(two, client)
      assert.strictEqual((yield* other.ping()).status, 200)
      yield* one.stop
      const [who, got] = yield* Effect.all([other.call(1, "who"), other.get()], { concurrency: 2 })
      yield* who.awaitEnd
      assert.deepStrictEqual([who.status, got.status], [200, 200])
      assert.include(who.text, "two")
      assert.deepStrictEqual(two.logs, [])
    }))

  it.live("and whose session another process has by now is not asked again", () =>
    Effect.gen(function*() {
      const stores = yield* makeStores
      const one = yield* startProcess(stores, handlersOf("one"))
      const two = yield* startProcess(stores, handlersOf("two"))
      const three = yield* startProcess(stores, handlersOf("three"))
      const client = yield* connect(one)
      assert.strictEqual((yield* clientAt(two, client).ping()).status, 200)
      yield* one.stop
      assert.strictEqual((yield* clientAt(three, client).ping()).status, 200)
      const who = yield* clientAt(two, client).call(1, "who")
      yield* who.awaitEnd
      assert.include(who.text, "three")
    }))

  it.live("is not found within 5 seconds: 503, and never 404", () =>
    Effect.gen(function*() {
      const stores = yield* makeStores
      const gone = yield* SessionOwners.make(stores.ownerStore, { address: "http://127.0.0.1:1" })
      yield* gone.awaitLease
      yield* gone.claim("s", 0)
      yield* storeSession(stores)
      const process = yield* startProcess(stores, handlersOf("process"))
      for (const method of ["POST", "GET", "DELETE"]) {
        const { body, ...others } = ping
        const rejected = yield* exchange(process, { ...others, method, ...(method === "POST" ? { body } : {}) })
        assert.deepStrictEqual([rejected.status, rejected.headers["retry-after"]], [503, "1"], method)
      }
    }))

  it.live("[SHS-26] cannot be told from an unknown session by another principal", () =>
    Effect.gen(function*() {
      const stores = yield* makeStores
      const gone = yield* SessionOwners.make(stores.ownerStore, { address: "http://127.0.0.1:1" })
      yield* gone.awaitLease
      yield* gone.claim("s", 0)
      yield* storeSession(stores, "ada")
      let loads = 0
      const sessionStore = {
        ...stores.sessionStore,
        load: (id: string) => Effect.suspend(() => (loads++, stores.sessionStore.load(id)))
      }
      const authentication = {
        identify: ({ headers }: { readonly headers: Readonly<Record<string, string | undefined>> }) =>
          Effect.succeed({ id: headers["x-user"] ?? "bob" })
      }
      const process = yield* startProcess({ ...stores, sessionStore }, handlersOf("process"), { authentication })
      for (const more of [{}, { "last-event-id": "x" }, { "mcp-forwarded": "x" }]) {
        for (const method of ["POST", "GET", "DELETE"]) {
          for (const id of ["s", "unknown"]) {
            const { body } = ping
            const since = Date.now()
            loads = 0
            const options = { headers: { "mcp-session-id": id, ...more }, method }
            const { status, text } = yield* exchange(process, method === "POST" ? { ...options, body } : options)
            assert.deepStrictEqual([status, loads], [404, 1], `${method} ${id}`)
            assert.include(text, "There is no session with this id")
            assert.isBelow(Date.now() - since, 2000)
          }
        }
      }
      const own = { ...ping, headers: { ...ping.headers, "x-user": "ada" } }
      assert.strictEqual((yield* exchange(process, own)).status, 503)
    }))

  it.live("and whose address is none of HTTP is not connected to", () =>
    Effect.gen(function*() {
      const stores = yield* makeStores
      const gone = yield* SessionOwners.make(stores.ownerStore, { address: "file:///etc/passwd" })
      yield* gone.awaitLease
      yield* gone.claim("s", 0)
      yield* storeSession(stores)
      const process = yield* startProcess(stores, handlersOf("process"))
      assert.strictEqual((yield* exchange(process, ping)).status, 503)
    }))
})

describe.concurrent("a process", () => {
  for (const address of ["10.0.0.3:3000", "localhost:3000", "http://fd00::3:3000", "file:///etc/passwd", ""]) {
    it.live(`with the address "${address}" does not start, because no other one could reach it`, () =>
      Effect.gen(function*() {
        const exit = yield* Effect.exit(startProcess(yield* makeStores, handlersOf("process"), { address }))
        assert(Exit.isFailure(exit))
        assert.match(Cause.pretty(exit.cause), /address must be the origin .*, such as http:.*, not "/)
      }))
  }
})

describe.concurrent("a body that is long, or that the client sends slowly,", () => {
  const long = JSON.stringify({ jsonrpc: "2.0", id: 8, method: "ping", params: { x: "y".repeat(100_000) } })

  /** Sends the first 70,000 characters of a POST, and waits until the process has begun to forward them. */
  const begin = Effect.fnUntraced(function*(process: { readonly port: number }, requests: ReadonlyArray<string>) {
    const connection = yield* connectRaw(process)
    connection.write(postText(long, { "mcp-session-id": "s" }).slice(0, -long.length) + long.slice(0, 70_000))
    yield* until(() => requests.length > 0)
    return connection
  })

  it.live("is carried out, whatever the time that the client takes to send it", () =>
    Effect.gen(function*() {
      let received = ""
      const { process, requests } = yield* start((socket, head) => {
        received += head
        socket.removeAllListeners("data").on("data", (chunk) => {
          received += chunk.toString("latin1")
          if (received.includes("y\"}}")) socket.write(json("{}"))
        })
      }, { http: { forwardTimeout: "5 seconds" } })
      const connection = yield* begin(process, requests)
      yield* Effect.sleep("6 seconds")
      connection.write(long.slice(70_000))
      yield* until(() => connection.statuses.length > 0)
      assert.deepStrictEqual(connection.statuses, [200])
    }))

  it.live("was not processed by an owner that did not have all of it, and its connection is closed", () =>
    Effect.gen(function*() {
      const { process, requests } = yield* start((socket) => socket.resetAndDestroy())
      const connection = yield* begin(process, requests)
      yield* until(() => connection.isClosed)
      assert.deepStrictEqual(connection.statuses, [503])
      assert.include(connection.received, "it was not processed")
      assert.include(connection.received.toLowerCase(), "connection: close")
    }))

  it.live("is sent within bodyTimeout and forwardTimeout, or the connection is closed", () =>
    Effect.gen(function*() {
      const options = { http: { bodyTimeout: "2 seconds", forwardTimeout: "200 millis" } } as const
      const { process, requests, sockets } = yield* start((socket) => socket.pause(), options)
      const connection = yield* begin(process, requests)
      yield* until(() => connection.isClosed)
      assert.deepStrictEqual(connection.statuses, [503])
      yield* until(() => sockets.size === 0 || connection.isClosed)
    }))

  it.live("has at most 16,384 chunks in its beginning", () =>
    Effect.gen(function*() {
      const { process, requests } = yield* start((socket) => socket.write(json("{}")))
      const connection = yield* connectRaw(process)
      const chunks = Array.from("y".repeat(16_385), (byte) => `1\r\n${byte}\r\n`).join("")
      connection.write(postText("", { "transfer-encoding": "chunked", "mcp-session-id": "s" }) + chunks)
      yield* until(() => connection.isClosed)
      assert.deepStrictEqual([connection.statuses, requests.length], [[413], 0])
    }))
})

describe.concurrent("a forwarding process", () => {
  it.live("closes the connection of a client that reads nothing of a forwarded response", () =>
    Effect.gen(function*() {
      const { process, sockets } = yield* start(
        (socket) => socket.write(json("x".repeat(16 * 1024 * 1024))),
        { http: { writeTimeout: "200 millis" } }
      )
      const connection = yield* connectRaw(process)
      connection.stall()
      connection.write(postText(JSON.stringify(ping.body), { "mcp-session-id": "s" }))
      yield* until(() => sockets.size === 1)
      yield* until(() => sockets.size === 0)
      connection.socket.resume()
      yield* until(() => connection.isClosed)
      assert.isBelow(connection.received.length, 16 * 1024 * 1024)
    }))

  it.live("looks up the owners of few sessions at a time, whatever the header says", () =>
    Effect.gen(function*() {
      const stores = yield* makeStores
      yield* startOwner(stores, (socket) => socket.write(json("{}")))
      let active = 0
      let most = 0
      const { ownerStore } = stores
      const counting = {
        ...methodsOf(ownerStore),
        locate: (session: string) =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              most = Math.max(most, ++active)
            }),
            () => Effect.delay(Effect.suspend(() => ownerStore.locate(session)), "10 millis"),
            () => Effect.sync(() => active--)
          )
      }
      const process = yield* startProcess({ ...stores, ownerStore: counting }, handlersOf("process"))
      const forged = { ...ping, headers: { ...ping.headers, "mcp-forwarded": "x" } }
      const responses = yield* Effect.replicateEffect(exchange(process, forged), 40, { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(responses.map(({ status }) => status)), new Set([421]))
      assert.isAtMost(most, 4)
    }))

  it.live("closes an idle connection before the time after which the owner closes it", () =>
    Effect.gen(function*() {
      // An owner that never closes it, so the forwarding process does.
      const { process, sockets } = yield* start((socket) => socket.write(json("{}", "keep-alive: timeout=2\r\n")))
      assert.strictEqual((yield* exchange(process, ping)).status, 200)
      assert.strictEqual(sockets.size, 1)
      yield* until(() => sockets.size === 0)
    }))

  it.live("forwards a bounded number of requests at a time, and those of one client leave room for others", () =>
    Effect.gen(function*() {
      const { process } = yield* start(() => {}, { http: { maxForwardedRequests: 3 } })
      const open = yield* Effect.all([send(process, ping), send(process, { ...ping, method: "GET", body: undefined })])
      yield* Effect.sleep("100 millis")
      const rejected = yield* exchange(process, ping)
      assert.deepStrictEqual([rejected.status, rejected.headers["retry-after"]], [503, "1"])
      assert.include(rejected.text, "maxForwardedRequests")
      const other = { ...ping, agent: new http.Agent({ localAddress: "127.0.0.2" }) }
      const others = yield* send(process, other)
      yield* Effect.sleep("100 millis")
      assert.strictEqual(others.status, 0)
      assert.strictEqual((yield* exchange(process, other)).status, 503)
      for (const one of open) one.disconnect()
      yield* Effect.sleep("100 millis")
      const again = yield* send(process, ping)
      yield* Effect.sleep("100 millis")
      assert.strictEqual(again.status, 0)
    }))

  it.live("rejects a target that HTTP/1.1 does not allow with 400, at once", () =>
    Effect.gen(function*() {
      const { owners, requests, stores } = yield* start((socket) => socket.write(json("{}")))
      const others = yield* SessionOwners.make(stores.ownerStore, { address: "http://127.0.0.1:1" })
      yield* others.awaitLease
      const handle = yield* Effect.provide(
        StreamableHttpServer.makeHandler(),
        Layer.mergeAll(NodeForwarder.layer, hostOf(handlersOf("process"), {})).pipe(
          Layer.provideMerge(services({ sessionStore: stores.sessionStore, owners: others }))
        )
      )
      // No server of Node lets such a target through: a middleware has rewritten it.
      const request = new Proxy(
        HttpServerRequest.fromWeb(
          new Request("http://localhost/mcp", { method: "DELETE", headers: { "mcp-session-id": "s" } })
        ),
        { get: (target, name) => name === "originalUrl" ? "/mcp?a b" : Reflect.get(target, name, target) }
      )
      const { status } = yield* handle(request)
      assert.deepStrictEqual([status, requests.length, owners.isAlive()], [400, 0, true])
    }))

  it.live("ends the request to the owner with that of its client, before and after the headers", () =>
    Effect.gen(function*() {
      const { process, sockets } = yield* start((socket, received) => {
        if (!received.startsWith("GET")) return
        socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        socket.write("9\r\ndata: 1\n\n\r\n")
      })
      const posted = yield* send(process, ping)
      const got = yield* send(process, { ...ping, method: "GET", body: undefined })
      yield* got.awaitMessages(1)
      yield* until(() => sockets.size === 2)
      posted.disconnect()
      yield* until(() => sockets.size === 1)
      got.disconnect()
      yield* until(() => sockets.size === 0)
    }))

  it.live("visits nothing that Node can reach from a response that the client or the owner breaks off", () =>
    Effect.gen(function*() {
      let visits = 0
      const watched: Array<string> = []
      const watch = (name: string) => (published: unknown) => {
        for (const member of ["request", "response"]) {
          const message = Predicate.hasProperty(published, member) ? published[member] : undefined
          if (!Predicate.isObject(message)) continue
          watched.push(`${member} of ${name}`)
          Object.defineProperty(message, "visited", { enumerable: true, get: () => visits++ })
        }
      }
      const requests: Array<HttpServerRequest.HttpServerRequest> = []
      const authentication: Settings["authentication"] = {
        identify: (request) => {
          requests.push(request)
          return Effect.succeed("anonymous" as const)
        }
      }
      // Also the messages of other tests, which run meanwhile: none may be visited.
      const watchers = {
        "http.client.response.finish": watch("the owner"),
        "http.server.request.start": watch("the client")
      }
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          for (const [name, watcher] of Object.entries(watchers)) channels.subscribe(name, watcher)
        }),
        () =>
          Effect.sync(() => {
            for (const [name, watcher] of Object.entries(watchers)) channels.unsubscribe(name, watcher)
          })
      )
      const { process, sockets } = yield* start((socket) => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        socket.write("9\r\ndata: 1\n\n\r\n")
      }, { authentication })
      const left = yield* send(process, ping)
      yield* left.awaitMessages(1)
      left.disconnect()
      yield* until(() => sockets.size === 0)
      const broken = yield* send(process, ping)
      yield* broken.awaitMessages(1)
      for (const socket of sockets) socket.destroy()
      yield* broken.awaitEnd
      yield* turns(5)
      for (const name of ["request of the client", "response of the client", "response of the owner"]) {
        assert.include(watched, name)
      }
      // A cause can contain the request as well, also one that a router has made of the same messages.
      assert.strictEqual(requests.length, 2)
      for (const request of requests) Hash.hash([request, request.source, NodeMessages.responseOf(request)])
      assert.strictEqual(visits, 0)
    }))

  it.live("sends no body that is not one: that of a GET cannot become the next request", () =>
    Effect.gen(function*() {
      const { process, requests } = yield* start((socket) => socket.write(json("{}")))
      const smuggled = "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"
      for (const method of ["GET", "DELETE"]) {
        const answered = yield* exchange(process, { ...ping, method, body: undefined, raw: smuggled })
        assert.strictEqual(answered.status, 200)
      }
      assert.strictEqual(requests.length, 2)
      for (const request of requests) {
        assert.notMatch(request, /content-length|transfer-encoding|POST/i)
        assert.isTrue(request.endsWith("\r\n\r\n"))
      }
    }))

  it.live("sends the path and the query of a target in absolute form, and to the owner only", () =>
    Effect.gen(function*() {
      const { process, requests } = yield* start((socket) => socket.write(json("{}")))
      const targets = ["/mcp?a=1&b=%20", "http://other.example/mcp?a=1", "//other.example/../mcp"]
      for (const path of targets) {
        yield* exchange(process, { ...ping, path, headers: { ...ping.headers, host: "127.0.0.1" } })
      }
      const lines = requests.map((request) => request.slice(0, request.indexOf("\r\n")))
      assert.includeMembers(["POST /mcp?a=1&b=%20 HTTP/1.1", "POST /mcp?a=1 HTTP/1.1"], lines)
      assert.include(lines, "POST /mcp?a=1&b=%20 HTTP/1.1")
      for (const request of requests) {
        assert.match(request, /\r\nhost: 127\.0\.0\.1\r\n/i)
        assert.match(request, /\r\nmcp-forwarded: [^\r]+\r\n/i)
        assert.match(request, /\r\ntraceparent: 00-/i)
      }
    }))
})

/** Returns the operations of a store, whose methods are those of a class. */
const methodsOf = (store: SessionOwners.OwnerStore): SessionOwners.OwnerStore => ({
  renew: (lease) => store.renew(lease),
  retire: (process) => store.retire(process),
  locate: (session) => store.locate(session),
  claim: (session, epoch, lease) => store.claim(session, epoch, lease),
  release: (session, epoch) => store.release(session, epoch),
  remove: (session, epoch) => store.remove(session, epoch),
  lost: (process, sessions) => store.lost(process, sessions)
})
