/** Endpoints whose path parameters have patterns. */
import * as McpHttpApi from "@effect-mcp/server/McpHttpApi"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as PathPattern from "../src/internal/httpApi/PathPattern.ts"
import { describeForBothEras } from "./support/eras.ts"

const Files = HttpApiGroup.make("files").add(
  HttpApiEndpoint.get("read", "/files/:name([a-z]+(?:\\.[a-z]+)?)", {
    params: { name: Schema.String },
    success: Schema.String
  }),
  HttpApiEndpoint.get("page", "/pages/:number(^[1-9][0-9]{0,2}$)", {
    params: { number: Schema.FiniteFromString },
    success: Schema.String
  })
)

const Api = HttpApi.make("api").add(Files)

const tools = McpHttpApi.layer(Api).pipe(Layer.provide(
  HttpApiBuilder.group(Api, "files", (handlers) =>
    handlers
      .handle("read", ({ params: { name } }) =>
        Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => `${name} ${url}`))
      .handle("page", ({ params: { number } }) =>
        Effect.succeed(String(number))))
))

describeForBothEras("a path parameter with a pattern", ({ connect }) => {
  it.effect("has it in the description of its schema, and accepts what the router would", () =>
    Effect.gen(function*() {
      const session = yield* connect(tools)
      const read = (yield* session.listTools()).tools.find(({ name }) => name === "files.read")
      assert.deepStrictEqual(read?.inputSchema["properties"], {
        name: { type: "string", description: "a string matching the RegExp ^(?:[a-z]+(?:\\.[a-z]+)?)$" }
      })
      const text = (name: string) =>
        Effect.map(session.callTool("files.read", { name }), ({ content: [block], isError }) =>
          isError === true || block?.type !== "text" ? undefined : block.text)
      assert.strictEqual(yield* text("abc.txt"), "abc.txt /files/abc.txt")
      for (const name of ["../../etc/passwd", "ABC", "a/b", "a\r\nb", "abc\n", "%2e%2e", "a.b.c", ""]) {
        assert.isUndefined(yield* text(name), JSON.stringify(name))
      }
    }).pipe(Effect.scoped))

  it.effect("is matched as HTTP carries it, if its schema is no text", () =>
    Effect.gen(function*() {
      const session = yield* connect(tools)
      const isError = (number: number) =>
        Effect.map(session.callTool("files.page", { number }), ({ isError }) => isError === true)
      assert.deepStrictEqual(
        yield* Effect.forEach([1, 999, 0, 1_000, 1.5, -1], isError),
        [false, false, true, true, true, true]
      )
    }).pipe(Effect.scoped))
})

describe("the path of an endpoint", () => {
  it("is written with the values of its parameters", () => {
    const written = (path: string, params: Readonly<Record<string, string>>) =>
      PathPattern.write(PathPattern.parse(path), params)
    assert.strictEqual(written("/a/:b", { b: "c/d" }), "/a/c%2Fd")
    assert.strictEqual(written("/a/:b?", {}), "/a")
    assert.strictEqual(written("/a/:b((?:x|\\)|[)])+)?/c", { b: "x)" }), "/a/x)/c")
    assert.strictEqual(written("/a::b/:c-:d", { c: "1", d: "2" }), "/a:b/1-2")
  })
})
