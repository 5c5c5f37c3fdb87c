import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as RequestHeaders from "../../../src/internal/headers/RequestHeaders.ts"

const version = "2026-07-28"

describe("the headers of a request", () => {
  it("repeat the version, the method, and the name or the URI", () => {
    const encode = (method: string, params: object) => RequestHeaders.encode({ method, params, version })
    const common = { "mcp-protocol-version": version }
    assert.deepStrictEqual(encode("tools/list", { name: "a" }), { ...common, "mcp-method": "tools/list" })
    assert.deepStrictEqual(encode("tools/call", { name: "größe" }), {
      ...common,
      "mcp-method": "tools/call",
      "mcp-name": "=?base64?Z3LDtsOfZQ==?="
    })
    assert.deepStrictEqual(encode("prompts/get", { name: "a" }), {
      ...common,
      "mcp-method": "prompts/get",
      "mcp-name": "a"
    })
    assert.deepStrictEqual(encode("resources/read", { uri: "file:///a", name: "b" }), {
      ...common,
      "mcp-method": "resources/read",
      "mcp-name": "file:///a"
    })
  })

  it("repeat the member that an extension names", () => {
    const sources = { ...RequestHeaders.nameSources, "acme/get": "thing" }
    const request = { method: "acme/get", params: { thing: "t1" }, version }
    const headers = RequestHeaders.encode(request, sources)
    assert.strictEqual(headers["mcp-name"], "t1")
    assert.isUndefined(RequestHeaders.difference(headers, request, sources))
    assert.strictEqual(
      RequestHeaders.difference({ ...headers, "mcp-name": "t2" }, request, sources),
      "the header mcp-name is \"t2\", and \"thing\" of the params is \"t1\""
    )
  })

  it("repeat nothing that the params inherit, for methods of any name", () => {
    for (const method of ["constructor", "__proto__", "toString"]) {
      assert.notProperty(RequestHeaders.encode({ method, params: { name: "a" }, version }), "mcp-name")
    }
    assert.notProperty(
      RequestHeaders.encode({ method: "tools/call", params: Object.create({ name: "a" }), version }),
      "mcp-name"
    )
  })

  it.prop("do not differ from the request that they were written from", [Schema.String], ([name]) => {
    const request = { method: "tools/call", params: { name }, version }
    assert.isUndefined(RequestHeaders.difference(RequestHeaders.encode(request), request))
  }, { arbitrary: { runs: 300 } })

  it("differences show the beginnings of long values only", () => {
    const request = { method: "tools/call", params: { name: "a".repeat(1_000_000) }, version }
    const problem = RequestHeaders.difference({ ...RequestHeaders.encode(request), "mcp-name": "b" }, request) ?? ""
    assert.isTrue(problem.length < 250 && problem.includes("aaa…"))
  })

  it.each<readonly [Record<string, string | undefined>, string]>([
    [{ "mcp-protocol-version": undefined }, "the header mcp-protocol-version is missing"],
    [
      { "mcp-protocol-version": "2025-11-25" },
      "the header mcp-protocol-version is \"2025-11-25\", and the version in the metadata is \"2026-07-28\""
    ],
    [{ "mcp-method": undefined }, "the header mcp-method is missing"],
    [
      { "mcp-method": "tools/Call" },
      "the header mcp-method is \"tools/Call\", and the method of the body is \"tools/call\""
    ],
    [{ "mcp-name": undefined }, "the header mcp-name is missing"],
    [{ "mcp-name": "Add" }, "the header mcp-name is \"Add\", and \"name\" of the params is \"add\""],
    [{ "mcp-name": "=?base64?QUFB=?=" }, "the header mcp-name has a value that is no text"]
  ])("%j is a difference", (changed, problem) => {
    const request = { method: "tools/call", params: { name: "add" }, version }
    assert.strictEqual(RequestHeaders.difference({ ...RequestHeaders.encode(request), ...changed }, request), problem)
  })
})
