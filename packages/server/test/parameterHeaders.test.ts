/** Arguments of tools that clients of revision 2026-07-28 repeat in headers. */
import { McpServer } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertHeadersChecked, where, whereOf } from "./support/headerArguments.ts"

describe("a tool whose argument is repeated in a header", () => {
  it.live("[SHE-28] of a group rejects a call whose header is missing, differs or is not expected, over HTTP", () =>
    assertHeadersChecked(where))

  const annotated = (header: unknown, type: unknown = "string") => ({ type, "x-mcp-header": header })

  const rules: ReadonlyArray<readonly [rule: string, ReadonlyArray<object>]> = [
    [
      "[SHE-21] the name of a header is a token",
      ["A B", "", "a\r\nb", "a\tb", "a\u0001b", "a\u007f", "a:b", "é", 5].map((header) => ({ a: annotated(header) }))
    ],
    ["[SHE-22] no two arguments have one header", [{ a: annotated("Region"), b: annotated("REGION") }]],
    [
      "[SHE-23] only integers, strings and booleans that `properties` alone lead to have a header",
      [
        { a: annotated("A", "number") },
        { a: annotated("A", "object") },
        { a: annotated("A", ["string", "null"]) },
        { a: { type: "array", items: annotated("A") } },
        { a: { anyOf: [annotated("A")] } }
      ]
    ]
  ]
  for (const [rule, invalid] of rules) {
    it.effect(`${rule}, or the tool is not registered`, () =>
      Effect.gen(function*() {
        for (const properties of invalid) {
          const exit = yield* Effect.exit(Effect.scoped(McpServer.makeStatelessHandlers(whereOf(properties))))
          assert.include(String(exit), "have a header that is not allowed", JSON.stringify(properties))
        }
        const valid = whereOf({
          a: annotated("A"),
          b: { type: "object", properties: { c: annotated("C", "integer") } }
        })
        assert.isDefined(yield* Effect.scoped(McpServer.makeStatelessHandlers(valid)))
      }))
  }
})
