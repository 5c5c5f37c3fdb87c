import type { OAuthError, UserAgent } from "@effect-mcp/auth"
import * as NodeUserAgent from "@effect-mcp/auth/NodeUserAgent"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as fs from "node:fs"
import * as Http from "node:http"
import * as Net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { PassThrough } from "node:stream"
import { fileURLToPath } from "node:url"
import { commandOf } from "../src/internal/agents/Opener.ts"
import { isVisitable } from "../src/internal/agents/VisitableUrl.ts"

const request: UserAgent.SignInRequest = {
  server: "https://notes.example/mcp",
  issuer: "https://issuer.example",
  scopes: undefined
}

const isExpected = (parameters: URLSearchParams): boolean => parameters.get("state") === "right"

const redirecting = (agent: UserAgent.UserAgent) => {
  if (agent._tag !== "Redirect") throw new Error("the user agent has no redirect")
  return agent
}

const problemOf = <A>(exit: Exit.Exit<A, OAuthError.OAuthError>): string => {
  const error = Exit.findErrorOption(exit)
  return error._tag === "Some" && error.value.reason._tag === "UserAgentFailed" ? error.value.reason.problem : "none"
}

interface Answer {
  readonly status: number
  readonly body: string
}

/** Sends a request as it is given, which `fetch` would correct. */
const send = (uri: string, options: Http.RequestOptions): Effect.Effect<Answer> =>
  Effect.callback<Answer>((resume) => {
    const sent = Http.request(uri, { agent: false, ...options }, (response) => {
      let body = ""
      response.on("data", (chunk: Buffer) => {
        body += chunk.toString()
      })
      response.on("end", () => resume(Effect.succeed({ status: response.statusCode ?? 0, body })))
    })
    sent.on("error", (error) => resume(Effect.die(error)))
    sent.end()
  })

const isOpen = (uri: string): Effect.Effect<boolean> =>
  Effect.callback<boolean>((resume) => {
    const socket = Net.connect(Number(new URL(uri).port), "127.0.0.1")
    socket.on("connect", () => {
      socket.destroy()
      resume(Effect.succeed(true))
    })
    socket.on("error", () => resume(Effect.succeed(false)))
  })

const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "agent-"))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true }))
)

const program = fileURLToPath(new URL("./fixtures/browser.mjs", import.meta.url))

const headless = (file: string): NodeUserAgent.BrowserOptions => ({ command: [process.execPath, program, file] })

/** A page at which the redirect begins, as that of an authorization server. */
const authorizationPage = (uri: () => string, query: string) =>
  Effect.acquireRelease(
    Effect.callback<Http.Server>((resume) => {
      const server = Http.createServer((_request, response) => {
        response.writeHead(302, { location: `${uri()}?${query}` }).end()
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  ).pipe(Effect.map((server) => {
    const address = server.address()
    return new URL(`http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/authorize`)
  }))

describe("URLs for a person", () => {
  it.each([
    ["https://issuer.example/authorize", true],
    ["http://127.0.0.1:4000/authorize", true],
    ["http://[::1]:4000/", true],
    ["http://localhost/", true],
    ["http://issuer.example/authorize", false],
    ["http://127.0.0.1.issuer.example/", false],
    ["http://localhost.issuer.example/", false],
    ["https://person:secret@issuer.example/", false],
    ["javascript:alert(1)", false],
    ["file:///etc/passwd", false],
    ["data:text/html,x", false],
    ["vscode://x/", false]
  ])("[AUT-52] %s: a browser opens it: %s", (url, expected) => {
    assert.strictEqual(isVisitable(new URL(url)), expected)
  })

  it("[AUT-53] the command of no platform is a shell", () => {
    const commands = (["linux", "darwin", "win32", "freebsd"] as const).map((platform) =>
      commandOf(platform, { SystemRoot: "C:\\Windows" })
    )
    assert.deepStrictEqual(commands, [
      ["xdg-open"],
      ["/usr/bin/open"],
      ["C:\\Windows\\System32\\rundll32.exe", "url.dll,FileProtocolHandler"],
      ["xdg-open"]
    ])
  })
})

describe("browser", () => {
  it.live("[AUT-53] the URL is one argument, whatever a shell would read in it", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const file = path.join(folder, "arguments.json")
      const { open } = redirecting(NodeUserAgent.browser(headless(file)))
      const redirection = yield* open(undefined)
      const page = yield* authorizationPage(() => redirection.uri, "code=c&state=right")
      page.search = `?x=$(touch ${folder}/touched);\`id\`|%26&y='"z`
      const parameters = yield* redirection.visit(page, request, isExpected)
      assert.strictEqual(parameters.get("code"), "c")
      assert.deepStrictEqual(JSON.parse(fs.readFileSync(file, "utf8")), [page.href])
      assert.deepStrictEqual(fs.readdirSync(folder), ["arguments.json"])
    }))

  it.live("a command that fails, or does not exist, fails the visit", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const failing = redirecting(NodeUserAgent.browser(headless(path.join(folder, "x"))))
      const redirection = yield* failing.open(undefined)
      const url = new URL("https://issuer.example/?fail=1")
      const exit = yield* Effect.exit(redirection.visit(url, request, isExpected))
      assert.include(problemOf(exit), "it exited with status 3")
      const missing = redirecting(NodeUserAgent.browser({ command: ["/missing/browser"] }))
      const other = yield* Effect.exit(
        Effect.flatMap(missing.open(undefined), ({ visit }) => visit(url, request, isExpected))
      )
      assert.include(problemOf(other), "/missing/browser did not open the browser")
    }))

  it.live("[AUT-52] no command starts with a URL that is neither https nor of this machine", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const { open } = redirecting(NodeUserAgent.browser(headless(path.join(folder, "arguments.json"))))
      const { visit } = yield* open(undefined)
      const exit = yield* Effect.exit(visit(new URL("http://issuer.example/"), request, isExpected))
      assert.include(problemOf(exit), "only https URLs")
      assert.deepStrictEqual(fs.readdirSync(folder), [])
    }))

  it.live("the visit can be interrupted, and the listener closes with its scope", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const file = path.join(folder, "arguments.json")
      const scope = yield* Scope.make()
      const { open } = redirecting(NodeUserAgent.browser(headless(file)))
      const redirection = yield* Scope.provide(open(undefined), scope)
      const url = new URL("https://issuer.example/?stay=1")
      const visiting = yield* Effect.forkChild(redirection.visit(url, request, isExpected))
      while (!fs.existsSync(file)) yield* Effect.sleep(10)
      assert.isTrue(yield* isOpen(redirection.uri))
      yield* Fiber.interrupt(visiting)
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(yield* isOpen(redirection.uri))
    }))
})

describe("the listener for the redirect", () => {
  const opened = Effect.gen(function*() {
    const folder = yield* temporary
    const { open } = redirecting(NodeUserAgent.browser(headless(path.join(folder, "arguments.json"))))
    const redirection = yield* open(undefined)
    const visiting = yield* Effect.forkChild(
      redirection.visit(new URL("https://issuer.example/?stay=1"), request, isExpected),
      { startImmediately: true }
    )
    return { uri: redirection.uri, visiting }
  })

  it.live("[AUT-25] wrong requests are answered with 400 without their text, and the sign-in goes on", () =>
    Effect.gen(function*() {
      const { uri, visiting } = yield* opened
      const right = `${uri}?code=c&state=right`
      const wrong: ReadonlyArray<readonly [string, Http.RequestOptions]> = [
        [`${uri}?code=c&state=wrong<script>`, {}],
        [`${uri}?code=c`, {}],
        [uri, {}],
        [right.replace("/callback", "/other"), {}],
        [right.replace("/callback", "/callback/"), {}],
        [right, { method: "POST" }],
        [right, { method: "HEAD" }],
        [right, { headers: { host: "evil.example" } }],
        [right, { headers: { host: "localhost" } }],
        [`${uri}?error=access_denied&error_description=text&state=wrong`, {}]
      ]
      for (const [url, options] of wrong) {
        const { body, status } = yield* send(url, options)
        assert.strictEqual(status, 400, url)
        assert.notMatch(body, /wrong|script|denied|other|text|code=/, url)
      }
      const { body, status } = yield* send(`${right}&error_description=text`, {})
      assert.strictEqual(status, 200)
      assert.notInclude(body, "text<")
      assert.include(body, "Close this window")
      assert.strictEqual((yield* Fiber.join(visiting)).get("code"), "c")
      assert.strictEqual((yield* send(right, {})).status, 400, "a redirect counts once")
    }))

  it.live("a request that is not complete does not hold up the redirect", () =>
    Effect.gen(function*() {
      const { uri, visiting } = yield* opened
      const slow = Array.from({ length: 8 }, () => Net.connect(Number(new URL(uri).port), "127.0.0.1"))
      for (const socket of slow) socket.on("error", () => {}).write("GET /callback?state=")
      assert.strictEqual((yield* send(`${uri}?state=right&code=c`, {})).status, 200)
      yield* Fiber.join(visiting)
      for (const socket of slow) socket.destroy()
    }))

  it.live("connections that another program holds do not hold up the redirect, however many there are", () =>
    Effect.gen(function*() {
      const { uri, visiting } = yield* opened
      const { port } = new URL(uri)
      const held = yield* Effect.promise(() =>
        Promise.all(Array.from({ length: 200 }, () =>
          new Promise<Net.Socket>((resolve) => {
            const socket = Net.connect(Number(port), "127.0.0.1", () => resolve(socket))
            socket.on("error", () => {})
          })))
      )
      assert.strictEqual((yield* send(`${uri}?state=right&code=c`, {})).status, 200)
      yield* Fiber.join(visiting)
      for (const socket of held) socket.destroy()
    }))

  it.live("the port of the registered redirect URI is used again, or a free one if it is in use", () =>
    Effect.gen(function*() {
      const { open } = redirecting(NodeUserAgent.browser({ command: ["/missing"] }))
      const uri = yield* Effect.scoped(Effect.map(open(undefined), ({ uri }) => uri))
      assert.match(uri, /^http:\/\/127\.0\.0\.1:\d+\/callback$/)
      yield* Effect.scoped(Effect.gen(function*() {
        assert.strictEqual((yield* open(uri)).uri, uri)
        const other = yield* open(uri)
        assert.match(other.uri, /^http:\/\/127\.0\.0\.1:\d+\/callback$/)
        assert.notStrictEqual(other.uri, uri)
      }))
      for (const foreign of ["https://app.example/callback", "http://127.0.0.1:99999/callback", "x"]) {
        assert.notStrictEqual(yield* Effect.scoped(Effect.map(open(foreign), ({ uri }) => uri)), foreign)
      }
    }))

  it.live("[AUT-31] of localhost, no other program has one of the two addresses that a browser may choose", () =>
    Effect.gen(function*() {
      const agent = redirecting(NodeUserAgent.browser({ hostname: "localhost" }))
      const { uri } = yield* agent.open(undefined)
      const { port } = new URL(uri)
      for (const host of ["127.0.0.1", "::1"]) {
        const options = { host, headers: { host: `localhost:${port}` } }
        assert.strictEqual((yield* send(`${uri}?state=wrong`, options)).status, 400)
      }
      const thief = yield* Effect.acquireRelease(
        Effect.callback<Net.Server>((resume) => {
          const server = Net.createServer().listen(0, "::1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      const address = thief.address()
      const taken = typeof address === "object" && address !== null ? address.port : 0
      const fixed = redirecting(NodeUserAgent.browser({ hostname: "localhost", port: taken }))
      assert.include(problemOf(yield* Effect.exit(fixed.open(undefined))), `port ${taken} of localhost is in use`)
      // The listener that could not be opened holds nothing.
      assert.include((yield* redirecting(NodeUserAgent.browser({ port: taken })).open(undefined)).uri, String(taken))
      const remembered = `http://localhost:${taken}/callback`
      assert.notStrictEqual((yield* agent.open(remembered)).uri, remembered)
    }))

  it.live("a fixed port that is in use fails, and the error names it", () =>
    Effect.gen(function*() {
      const first = yield* redirecting(NodeUserAgent.browser()).open(undefined)
      const port = Number(new URL(first.uri).port)
      const exit = yield* Effect.exit(redirecting(NodeUserAgent.browser({ port })).open(undefined))
      assert.strictEqual(
        problemOf(exit),
        `port ${port} of 127.0.0.1 is in use; end the program that uses it, or set another port`
      )
    }))
})

describe("paste", () => {
  const terminal = Effect.gen(function*() {
    const input = new PassThrough()
    const output = new PassThrough()
    let printed = ""
    output.on("data", (chunk: Buffer) => {
      printed += chunk.toString()
    })
    const redirection = yield* redirecting(NodeUserAgent.paste({ input, output })).open(undefined)
    const visit = redirection.visit(
      new URL("https://issuer.example/authorize?state=right"),
      { ...request, server: "https://notes.example/\u001b[2J" },
      isExpected
    )
    return { input, printed: () => printed, redirection, visit }
  })

  it.live("the URL is printed, and lines are read until one is the redirect", () =>
    Effect.gen(function*() {
      const { input, printed, redirection, visit } = yield* terminal
      const visiting = yield* Effect.forkChild(visit, { startImmediately: true })
      input.write("hello\n\nhttp://127.0.0.1/callback?state=wrong&code=d\n")
      input.write(`${"x".repeat(20_000)}?state=right&code=long\n`)
      input.write(`  ${redirection.uri}?state=ri`)
      input.write("ght&code=c#fragment\nrest")
      assert.strictEqual((yield* Fiber.join(visiting)).get("code"), "c")
      assert.strictEqual(String(input.read()), "rest")
      assert.include(printed(), "https://issuer.example/authorize?state=right\n")
      assert.notInclude(printed(), "\u001b")
      assert.strictEqual(printed().match(/This is not the address/g)?.length, 3)
    }))

  it.live("the last line needs no line break; an input that ends without the redirect fails", () =>
    Effect.gen(function*() {
      const first = yield* terminal
      first.input.end("state=right&code=c")
      assert.strictEqual((yield* first.visit).get("code"), "c")
      const second = yield* terminal
      second.input.end("nothing\n")
      assert.include(problemOf(yield* Effect.exit(second.visit)), "the input ended")
      assert.include(problemOf(yield* Effect.exit(second.visit)), "the input ended")
    }))

  it.live("a redirect that reaches this machine needs no pasting, and the input is read no more", () =>
    Effect.gen(function*() {
      const { input, redirection, visit } = yield* terminal
      const done = yield* Deferred.make<URLSearchParams, OAuthError.OAuthError>()
      yield* Effect.forkChild(Deferred.into(visit, done), { startImmediately: true })
      yield* send(`${redirection.uri}?state=right&code=c`, {})
      assert.strictEqual((yield* Deferred.await(done)).get("code"), "c")
      assert.strictEqual(input.listenerCount("data"), 0)
      assert.isTrue(input.isPaused())
    }))
})
