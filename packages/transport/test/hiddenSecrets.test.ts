/** Secrets that a server repeats in its errors and on its standard error. */
import { ClientSession } from "@effect-mcp/session"
import type { Connection, Transport } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import {
  ClientAuthorization,
  HiddenSecrets,
  HttpFallbackClient,
  HttpSseClient,
  StdioClient,
  StreamableHttpClient,
  WebSocketClient
} from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { inspect } from "node:util"

const info = { name: "test", version: "0.0.0" }
const secret = "sk-live/abc\"def 0123"

/** Returns the text that the servers repeat: the secret in each form that they may have got. */
const echoed = (given: string): string =>
  [given, secret, encodeURIComponent(secret), JSON.stringify(secret), btoa(`ada:${secret}`)].join(" ")

const answers: Readonly<Record<string, (echo: string, id: unknown, response: ServerResponse) => void>> = {
  challenge: (echo, _id, response) => {
    response.writeHead(401, { "www-authenticate": `Bearer realm="${echo}"` }).end(echo)
  },
  "challenge of 403": (echo, _id, response) => {
    response.writeHead(403, { "www-authenticate": `Bearer realm="${echo}"` }).end(echo)
  },
  error: (echo, _id, response) => {
    response.writeHead(500, { "content-type": "text/plain" }).end(echo)
  },
  response: (echo, id, response) => {
    const error = { code: -32000, message: echo, data: { deep: [{ [echo]: echo }] } }
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, error }))
  },
  "cut error": (echo, _id, response) => {
    response.writeHead(500, { "content-type": "text/plain" }).end(`${"x".repeat(194)}${secret} ${echo}`)
  },
  "cut encoding": (echo, _id, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-encoding": `${"x".repeat(94)}${secret}` })
      .end(echo)
  },
  "cut redirect": (_echo, _id, response) => {
    response.writeHead(307, { location: `http://localhost:1/${"x".repeat(175)}${encodeURIComponent(secret)}` }).end()
  },
  "result of initialize": (_echo, id, response) => {
    const serverInfo = { name: "echo", version: "1.0.0" }
    const capabilities = { experimental: { [secret]: 5 } }
    const result = { protocolVersion: "2025-11-25", capabilities, serverInfo }
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, result }))
  },
  "chosen revision": (echo, id, response) => {
    const result = { protocolVersion: echo, capabilities: {}, serverInfo: { name: "echo", version: "1.0.0" } }
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, result }))
  },
  "offered revisions": (echo, id, response) => {
    const result = { supportedVersions: [echo], capabilities: {} }
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id, result }))
  },
  page: (echo, _id, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end(`<p>${echo}`)
  },
  redirect: (echo, _id, response) => {
    response.writeHead(307, { location: `http://localhost:1/${encodeURIComponent(echo)}` }).end()
  }
}

const idIn = (body: string): unknown => {
  try {
    return JSON.parse(body).id
  } catch {
    return 1
  }
}

/** Serves errors that repeat the authorization of the client. The path chooses the kind of the error. */
const echo = Effect.acquireRelease(
  Effect.promise(() =>
    new Promise<{ readonly url: (path: string) => string; readonly close: () => void }>((resolve) => {
      const serve = (request: IncomingMessage, response: ServerResponse) => {
        let body = ""
        request.on("data", (part) => (body += part))
        request.on("end", () => {
          answers[decodeURIComponent(request.url?.slice(1) ?? "")]?.(
            echoed(String(request.headers.authorization)),
            idIn(body),
            response
          )
        })
      }
      const server = createServer(serve)
      server.on("upgrade", (request, socket) => {
        socket.end(
          `HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n${
            echoed(String(request.headers.authorization))
          }`
        )
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        const close = () => {
          server.closeAllConnections()
          server.close()
        }
        resolve({ url: (path) => `http://127.0.0.1:${port}/${path}`, close })
      })
    })
  ),
  ({ close }) => Effect.sync(close)
)

/** Returns everything that the failed connection shows. */
const shownBy = (transport: Layer.Layer<Transport>): Effect.Effect<string> =>
  ClientSession.make({ info, limits: { handshakeTimeout: "2 seconds" } }).pipe(
    Effect.flip,
    Effect.map((error) => `${error.message} ${inspect(error, { depth: 20 })} ${JSON.stringify(error)}`),
    Effect.scoped,
    Effect.provide(Layer.fresh(transport)),
    Effect.orDie
  )

const assertHidden = (shown: string): void => {
  for (const form of ["sk-live", "abc", "0123", btoa(`ada:${secret}`)]) assert.notInclude(shown, form)
  assert.include(shown, "<redacted>")
}

describe("a secret that a server repeats is in no error", () => {
  const headers = {
    authorization: Redacted.make(`Bearer ${secret}`),
    "x-basic": Redacted.make(`Basic ${btoa(`ada:${secret}`)}`)
  }

  for (const [name, { layerNode }] of Object.entries({ StreamableHttpClient, HttpFallbackClient })) {
    for (const kind of Object.keys(answers)) {
      it.live(`of ${name}: ${kind}`, () =>
        Effect.gen(function*() {
          const url = (yield* echo).url(kind)
          const shown = yield* shownBy(layerNode({ url, headers }))
          if (kind === "redirect" || kind === "page") assert.notInclude(shown, "sk-live")
          else assertHidden(shown)
        }).pipe(Effect.scoped))
    }
  }

  it.live("of HttpFallbackClient, HTTP+SSE and WebSocket, with headers of an effect or of an authorization", () =>
    Effect.gen(function*() {
      const { url } = yield* echo
      const authorization = ClientAuthorization.fromChallenge(() => Effect.succeed(headers))
      assertHidden(
        yield* shownBy(HttpFallbackClient.layerNode({ url: url("error"), headers: Effect.succeed(headers) }))
      )
      assertHidden(yield* shownBy(HttpFallbackClient.layerNode({ url: url("challenge"), authorization })))
      assertHidden(yield* shownBy(HttpSseClient.layerNode({ url: url("error"), headers })))
      assertHidden(yield* shownBy(WebSocketClient.layerNode({ url: url("socket"), headers })))
    }).pipe(Effect.scoped))

  class Problem extends Error {
    readonly reason: unknown

    constructor(message: string, reason: unknown) {
      super(message)
      this.reason = reason
    }
  }
  const shownCauses: Readonly<Record<string, readonly [cause: Error, isKept: boolean]>> = {
    "texts without secrets is kept": [new Problem("no scope", { _tag: "SignInRequired", scopes: ["read"] }), true],
    "a secret in its message is copied": [new Problem(secret, undefined), false],
    "a secret in a member is copied": [new Problem("no scope", { scopes: ["read", { of: secret }] }), false],
    "a secret in a name is copied": [new Problem("no scope", { [secret]: 1 }), false],
    "an object of another class is copied": [new Problem("no scope", new Map([[secret, 1]])), false],
    "a cause of another class is copied": [new Error("no scope", { cause: new Error(secret) }), false]
  }
  for (const [name, [cause, isKept]] of Object.entries(shownCauses)) {
    it.effect(`the error of an authorization with ${name}`, () =>
      Effect.gen(function*() {
        const failure = TransportError.make({ _tag: "AuthorizationFailed", target: "x", problem: "no scope", cause })
        const { transport } = HiddenSecrets.make([secret])
        const { reason } = yield* Effect.flip(Effect.scoped(transport({ connect: Effect.fail(failure) }).connect))
        assert.strictEqual(reason._tag === "AuthorizationFailed" && reason.cause === cause, isKept)
        assert.notInclude(inspect(reason, { depth: 9 }), secret)
        assert.include(inspect(reason, { depth: 9 }), "no scope")
      }))
  }

  const repeating = (text: string) =>
    TransportError.make({
      _tag: "AuthorizationFailed",
      target: "x",
      problem: text,
      cause: new Error(text)
    })
  const failures: Readonly<Record<string, (text: string) => TransportError.TransportError>> = {
    "fails": repeating,
    "waits for a person in vain": (text) =>
      TransportError.make({
        _tag: "AuthorizationRequired",
        target: "x",
        since: 0,
        authorized: Effect.fail(repeating(text))
      })
  }
  for (const [name, failure] of Object.entries(failures)) {
    it.live(`of an authorization that ${name}`, () =>
      Effect.gen(function*() {
        const authorization: ClientAuthorization.ClientAuthorization["Service"] = {
          of: () =>
            Effect.succeed({
              headers: () => Effect.succeed(headers),
              rejected: ({ header }) => Effect.fail(failure(header("www-authenticate") ?? ""))
            })
        }
        const shown = yield* shownBy(
          StreamableHttpClient.layerNode({ url: (yield* echo).url("challenge"), authorization })
        )
        assert.include(shown, "could not authorize this client")
        assertHidden(shown)
      }).pipe(Effect.scoped))
  }

  it.live("of headers that identify by their names, although they are not redacted", () =>
    Effect.gen(function*() {
      const { url } = yield* echo
      const plain = { Authorization: `Bearer ${secret}`, "x-basic": Redacted.make(`Basic ${btoa(`ada:${secret}`)}`) }
      assertHidden(yield* shownBy(StreamableHttpClient.layerNode({ url: url("error"), headers: plain })))
    }).pipe(Effect.scoped))

  const printed: Readonly<Record<string, string>> = {
    "a line": "starts with ${process.env.KEY}",
    "a line that is cut within a secret": "${'x'.repeat(190)}${process.env.KEY}",
    "JSON that is no message": "${JSON.stringify({ key: process.env.KEY, [process.env.KEY]: [process.env.KEY] })}",
    "a JSON string": "${JSON.stringify(process.env.KEY)}"
  }
  for (const [name, text] of Object.entries(printed)) {
    it.live(`of what a child process prints in place of a message: ${name}`, () =>
      Effect.gen(function*() {
        const shown: Array<unknown> = []
        const error = yield* ClientSession.make({ info, observe: (event) => void shown.push(event) }).pipe(
          Effect.scoped,
          Effect.provide(StdioClient.layerNode({
            command: process.execPath,
            args: ["-e", `console.log(\`${text}\`); process.exit(3)`],
            env: { KEY: Redacted.make(secret) },
            stderr: () => {}
          })),
          Effect.provide(Logger.layer([Logger.make(({ message }) => void shown.push(message))])),
          Effect.flip
        )
        const all = inspect([...shown, error, error.message], { depth: 20 })
        assert.include(all, "StrayText")
        assert.include(all, "<redacted>")
        assert.notInclude(all, secret.slice(0, 6))
        assert.notInclude(all, encodeURIComponent(secret).slice(0, 9))
      }))
  }

  it.live("of a child process, nor in its lines of standard error", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const script = "console.error(`bad ${process.env.KEY} ${process.argv.at(-1)} ${process.env.MODE}`);" +
        "console.error('x'.repeat(65_500) + ' '.repeat(28) + process.env.KEY);" +
        "console.error('x'.repeat(990) + process.env.KEY); process.exit(3)"
      const shown = yield* shownBy(StdioClient.layerNode({
        command: process.execPath,
        args: ["-e", script, Redacted.make("argum3nt")],
        env: { KEY: Redacted.make(secret), MODE: "visible" },
        stderr: (line) => void lines.push(line)
      }))
      assert.notMatch(shown, /sk-live|argum3nt/)
      assert.include(shown, "bad <redacted> <redacted> visible")
      assert.notInclude(shown, "sk-l")
      assert.include(shown, `${"x".repeat(990)}<redacted>…`)
      assert.deepStrictEqual([...new Set(lines)], [
        "bad <redacted> <redacted> visible",
        `${"x".repeat(65_500)}${" ".repeat(28)}<redacted>…`,
        `${"x".repeat(990)}<redacted>`
      ])
    }))
})

describe("hidden secrets", () => {
  it("are hidden as they are written in URLs, JSON and base64, and after a scheme", () => {
    const { text } = HiddenSecrets.make([`Bearer ${secret}`, Redacted.make(`Basic ${btoa("ada:p4ss word")}`)])
    for (
      const form of [
        secret,
        encodeURIComponent(secret),
        JSON.stringify(secret),
        btoa(secret),
        "p4ss word",
        "p4ss%20word"
      ]
    ) assert.strictEqual(text(`a ${form} b`).replaceAll("\"", ""), "a <redacted> b")
  })

  it("are hidden where an ellipsis cuts them, from the first character on", () => {
    const { text } = HiddenSecrets.make(["sk-live-1234", "abcdsk-l", "wait…ing"])
    assert.strictEqual(
      HiddenSecrets.make(["sk-live-1234"]).text("a sk-li… b sk-live-1… sk-l"),
      "a <redacted>… b <redacted>… sk-l"
    )
    assert.strictEqual(HiddenSecrets.make(["sk-live-1234", "abcdsk-l"]).text("abcdsk-l…"), "<redacted>…")
    assert.strictEqual(text("wait…ing"), "<redacted>")
  })

  it("have at least 4 characters, and are no common words", () => {
    const { text } = HiddenSecrets.make(["abc", "true", "", "abcd"])
    assert.strictEqual(text("abc is true: abcd"), "abc is true: <redacted>")
  })

  it("are those of the construction, and the last 64 that were added", () => {
    const hidden = HiddenSecrets.make(Array.from({ length: 70 }, (_, index) => `static-${1_000 + index}`))
    for (let index = 0; index < 100; index++) {
      hidden.add("kept-token")
      hidden.add(`token-${1_000 + index}`)
    }
    assert.strictEqual(
      hidden.text("static-1000 static-1069 kept-token token-1036 token-1037 token-1099"),
      "<redacted> <redacted> <redacted> token-1036 <redacted> <redacted>"
    )
  })

  it("are hidden from their first 64 characters on, as far as a text agrees with them", () => {
    const { text } = HiddenSecrets.make(["key-".repeat(50)])
    assert.strictEqual(text(`a ${"key-".repeat(49)}b`), "a <redacted>b")
    assert.strictEqual(text(`a ${"key-".repeat(15)}b`), `a ${"key-".repeat(15)}b`)
  })
})

/** Returns the frames as they arrive through a transport that hides these secrets. */
const received = Effect.fnUntraced(function*(secrets: ReadonlyArray<string>, frames: ReadonlyArray<unknown>) {
  const connection: Connection = {
    run: (deliver) =>
      Effect.sync(() => {
        for (const frame of frames) deliver({ frame: Result.succeed(frame) })
        return { exit: undefined, writable: false }
      }),
    send: () => Effect.void
  }
  const shown: Array<unknown> = []
  const { run } = yield* HiddenSecrets.make(secrets).transport({ connect: Effect.succeed(connection) }).connect
  yield* run(({ frame }) => void shown.push(Result.getOrThrow(frame)))
  return shown
}, Effect.scoped)

describe("frames of a server that repeats secrets", () => {
  it.effect("keep the data of errors, of which a program reads addresses and revisions", () =>
    Effect.gen(function*() {
      const errors = [
        { code: -32042, message: "visit", data: { elicitations: [{ url: "https://api.example.com/auth/1" }] } },
        { code: -32022, message: "use", data: { supported: ["2026-07-28"], "2026-07-28": 1 } }
      ]
      const [visit, use, batch] = yield* received(["https://api.example.com", "2026-07-28"], [
        { jsonrpc: "2.0", id: 1, error: { ...errors[0], message: "visit https://api.example.com" } },
        { jsonrpc: "2.0", id: 1, error: { ...errors[1], message: "use 2026-07-28", more: ["2026-07-28"] } },
        [{ jsonrpc: "2.0", id: 1, error: { code: 1, message: "2026-07-28", data: "2026-07-28" } }]
      ])
      assert.deepStrictEqual<unknown>(visit, {
        jsonrpc: "2.0",
        id: 1,
        error: { ...errors[0], message: "visit <redacted>" }
      })
      assert.deepStrictEqual<unknown>(use, {
        jsonrpc: "2.0",
        id: 1,
        error: { ...errors[1], message: "use <redacted>", more: ["<redacted>"] }
      })
      assert.deepStrictEqual<unknown>(batch, [
        { jsonrpc: "2.0", id: 1, error: { code: 1, message: "<redacted>", data: "2026-07-28" } }
      ])
    }))

  it.effect("keep the code and a message of each error, however long the errors are", () =>
    Effect.gen(function*() {
      const long = "x".repeat(70_000)
      const [error, batch, more] = yield* received(["sk-live-1234"], [
        { jsonrpc: "2.0", id: 1, error: { message: long, code: -32000 } },
        [1, 2, 3].map((id) => ({ jsonrpc: "2.0", id, error: { code: -32000, message: long, data: { id } } })),
        { jsonrpc: "2.0", id: 1, error: { details: [long, "sk-live-1234"], code: -1, message: "boom" } }
      ])
      const cut = `${long.slice(0, 65_535)}…`
      assert.deepStrictEqual<unknown>(error, { jsonrpc: "2.0", id: 1, error: { code: -32000, message: cut } })
      assert.deepStrictEqual<unknown>(
        batch,
        [1, 2, 3].map((id) => ({
          jsonrpc: "2.0",
          id,
          error: {
            code: -32000,
            message: id === 1 ? cut : "<redacted>",
            data: { id }
          }
        }))
      )
      assert.deepInclude(more, { id: 1 })
      const shown = JSON.stringify(more)
      assert.include(shown, "\"code\":-1,\"message\":\"boom\",\"details\":[")
      assert.notInclude(shown, "sk-live")
    }))

  it.effect("are searched up to 65,536 characters, so that a large one does not stop the event loop", () =>
    Effect.gen(function*() {
      const secrets = Array.from({ length: 8 }, (_, index) => `Bearer sk-live-${"x".repeat(20)}${index}`)
      const [secret = ""] = secrets
      const strings = Array.from({ length: 1_000_000 }, () => "a")
      const texts = `${secret} `.repeat(100_000)
      // The time of the processor, because the tests of other files may take this one's.
      const begun = process.cpuUsage()
      const [stray, error, long, dots, data] = yield* received(secrets, [
        { strings },
        { id: 1, error: { code: 1, message: "m", more: strings } },
        { id: 1, error: { code: 1, message: texts } },
        { id: 1, error: { code: 1, message: `${"Bear…".repeat(600_000)}${secret}` } },
        { id: 1, error: { code: 1, message: "m", data: strings } }
      ])
      assert.isBelow(process.cpuUsage(begun).user / 1_000, 1_000)
      for (const frame of [stray, error]) {
        const shown = JSON.stringify(frame)
        assert.isBelow(shown.length, 65_536)
        assert.include(shown, "\"a\",\"<redacted>\"]")
      }
      for (const frame of [long, dots]) {
        const shown = JSON.stringify(frame)
        assert.isBelow(shown.length, 200_000)
        assert.notInclude(shown, "sk-live")
        assert.include(shown, "<redacted>")
      }
      assert.deepStrictEqual<unknown>(data, { id: 1, error: { code: 1, message: "m", data: strings } })
    }))
})
