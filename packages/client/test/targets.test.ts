/** The places of servers as values: their URLs and their descriptions. */
import { McpClient, McpServersConfig, McpTarget, ServerStatus } from "@effect-mcp/client/node"
import { ClientAuthorization } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { inspect } from "node:util"

const authorization = ClientAuthorization.fromChallenge(() => Effect.succeed({}))

const problemOf = (url: string, options?: McpTarget.UrlOptions): string => {
  try {
    return McpTarget.url(url, options).description
  } catch (error) {
    return error instanceof McpTarget.InvalidUrlError ? error.problem : assert.fail(`a defect: ${String(error)}`)
  }
}

describe("the description of a command", () => {
  const secret = Redacted.make("s3cr3t")
  const commands: ReadonlyArray<readonly [description: string, ...Parameters<typeof McpTarget.command>]> = [
    ["notes", "notes"],
    ["notes (1 argument)", "notes", ["s3cr3t"]],
    ["notes (2 arguments)", "notes", ["--api-key", "s3cr3t"]],
    ["npx -y @ada/notes (1 more argument)", "npx", ["-y", "@ada/notes", "--api-key=s3cr3t"]],
    ["npx -y @ada/notes", "npx", ["-y", "@ada/notes"]],
    ["/usr/bin/node notes.mjs (2 more arguments)", "/usr/bin/node", ["notes.mjs", "--api-key", secret]],
    ["C:\\node.exe C:\\notes.mjs", "C:\\node.exe", ["C:\\notes.mjs"]],
    ["python3 -m notes (1 more argument)", "python3", ["-m", "notes", "postgres://ada:s3cr3t@localhost/notes"]],
    ["docker run (3 more arguments)", "docker", ["run", "-e", "KEY=s3cr3t", "notes"]],
    ["uvx (3 arguments)", "uvx", ["--from", "git+https://s3cr3t@example.com/notes", "notes"]],
    ["npx (1 argument)", "npx", ["git+https://s3cr3t@example.com/notes"]],
    ["npx (2 arguments)", "npx", ["-y", secret]],
    ["npx (1 argument)", "npx", ["-y"]],
    ["node (2 arguments)", "node", ["--env-file=s3cr3t", "notes.mjs"]],
    ["the notes of Ada", "npx", ["-y", "notes"], { description: "the notes of Ada" }]
  ]

  for (const [description, command, args, options] of commands) {
    it(`is ${description}`, () => {
      assert.strictEqual(McpTarget.command(command, args, options).description, description)
    })
  }

  it.effect("and the errors of a command show no argument that may be a secret", () =>
    Effect.gen(function*() {
      const target = McpTarget.command("/no/such/node", ["notes.mjs", "--api-key=s3cr3t"])
      const client = yield* McpClient.make(target, { info: { name: "app", version: "1.0.0" } })
      const status = yield* Stream.runHead(Stream.filter(client.statuses, ({ _tag }) => _tag === "Down"))
      const words = ServerStatus.describe(Option.getOrThrow(status))
      assert.include(words, "/no/such/node")
      assert.notInclude(words, "s3cr3t")
      const error = yield* Effect.flip(client.callTool("read", {}, { waitTimeout: 0 }))
      assert.include(error.message, "/no/such/node notes.mjs (1 more argument)")
      assert.notInclude(error.message, "s3cr3t")
    }))
})

describe("the error of a URL that leads to no server", () => {
  const absolute = "it is no absolute URL; write one such as https://example.com/mcp"
  const urls: ReadonlyArray<readonly [url: string, shown: string, problem: string]> = [
    ["https://ada:s3cr3t@exa mple.com/mcp?key=s3cr3t#s3cr3t", "https://exa mple.com/mcp", absolute],
    ["//ada:s3cr3t@example.com/mcp", "example.com/mcp", absolute],
    ["https://ada:s3cr3t?s3cr3t@example.com", "https://…", absolute],
    ["https://exa mple.com/?mail=a@s3cr3t", "https://…", absolute],
    ["https://ada:s3cr3t//s3cr3t@example.com", "https://example.com", absolute],
    ["ada:s3cr3t@example.com/mcp", "example.com/mcp", absolute],
    ["/mcp?key=s3cr3t", "/mcp", absolute],
    ["ftp://ada:s3cr3t@example.com/a?b=s3cr3t", "ftp://example.com/a", "ftp: is not supported"],
    ["unix:run/notes.sock?s3cr3t", "unix:run/notes.sock", "it has no absolute path"]
  ]

  for (const [url, shown, problem] of urls) {
    it(`shows ${shown} of ${url}`, () => {
      try {
        McpTarget.url(url)
        assert.fail("the URL is accepted")
      } catch (error) {
        if (!(error instanceof McpTarget.InvalidUrlError)) throw error
        assert.strictEqual(error.url, shown)
        assert.include(error.message, problem)
        assert.notInclude(inspect(error), "s3cr3t")
      }
    })
  }
})

describe("the URL of a Unix socket", () => {
  it("has an absolute path, which is decoded", () => {
    assert.deepStrictEqual(
      ["unix:///run/notes.sock", "unix:/run/notes.sock", "unix:///run/a%20b%3F.sock"].map((url) => problemOf(url)),
      ["unix:/run/notes.sock", "unix:/run/notes.sock", "unix:/run/a b?.sock"]
    )
  })

  const slashes = "write three slashes before the path, as in unix:///run/notes.sock"
  const rejected: ReadonlyArray<readonly [url: string, problem: string, advice: string]> = [
    ["unix://run/notes.sock", "it has a host", slashes],
    ["unix:run/notes.sock", "it has no absolute path", slashes],
    ["unix:///", "it has no absolute path", slashes],
    ["unix:///a%2Fb", "its path cannot be decoded", "write % as %25, and no %2F and %00"],
    ["unix:///a%zz", "its path cannot be decoded", "write % as %25, and no %2F and %00"],
    ["unix:///a%00b", "its path cannot be decoded", "write % as %25, and no %2F and %00"],
    ["unix:///a?b", "it has a query or a fragment", "remove it, or write ? as %3F and # as %23"],
    ["unix:///a#b", "it has a query or a fragment", "remove it, or write ? as %3F and # as %23"]
  ]

  for (const [url, problem, advice] of rejected) {
    it.effect(`${url} is an error, alone and in a configuration`, () =>
      Effect.gen(function*() {
        assert.strictEqual(problemOf(url), `${problem}; ${advice}`)
        const error = yield* Effect.flip(McpServersConfig.decode({ mcpServers: { notes: { url } } }))
        assert.deepStrictEqual(error.problems, [{ path: "mcpServers.notes.url", problem, advice }])
      }))
  }

  it("is rejected with options that would identify the client, because they are not sent", () => {
    const url = "unix:///run/notes.sock"
    assert.strictEqual(
      problemOf(url, { headers: { authorization: "Bearer ada" } }),
      "a Unix socket has no headers; remove the option headers, or use a URL of ws: or http:"
    )
    assert.include(problemOf(url, { headers: Effect.succeed({}) }), "remove the option headers")
    assert.include(problemOf(url, { authorization }), "remove the option authorization")
    assert.strictEqual(problemOf(url, { headers: {}, maxMessageBytes: 1 }), "unix:/run/notes.sock")
  })

  it.effect("is a problem of an entry with headers, and has none of those for all servers", () =>
    Effect.gen(function*() {
      const options: McpServersConfig.Options = {
        env: {},
        headers: { authorization: "Bearer ada" },
        url: { authorization }
      }
      const url = "unix:///run/notes.sock"
      const targets = yield* McpServersConfig.decode({ mcpServers: { notes: { url, headers: {} } } }, options)
      assert.strictEqual(targets["notes"]?.description, url)
      const error = yield* Effect.flip(McpServersConfig.decode({ mcpServers: { notes: { url, headers: { a: "b" } } } }))
      assert.deepStrictEqual(error.problems, [{
        path: "mcpServers.notes.headers",
        problem: "a Unix socket has no headers",
        advice: "remove them, or use a URL of ws: or http:"
      }])
    }))
})
