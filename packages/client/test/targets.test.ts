/** The places of servers as values: their URLs and their descriptions. */
import { McpServersConfig, McpTarget } from "@effect-mcp/client"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

const problemOf = (url: string, options?: McpTarget.UrlOptions): string => {
  try {
    return McpTarget.url(url, options).description
  } catch (error) {
    return error instanceof McpTarget.InvalidUrl ? error.problem : assert.fail(`a defect: ${String(error)}`)
  }
}

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
    assert.include(problemOf(url, { authorize: () => Effect.succeed({}) }), "remove the option authorize")
    assert.strictEqual(problemOf(url, { headers: {}, maxMessageBytes: 1 }), "unix:/run/notes.sock")
  })

  it.effect("is a problem of an entry with headers, and has none of those for all servers", () =>
    Effect.gen(function*() {
      const options: McpServersConfig.Options = {
        env: {},
        headers: { authorization: "Bearer ada" },
        url: { authorize: () => Effect.succeed({}) }
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
