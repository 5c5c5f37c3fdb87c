import { assert, describe, it } from "@effect/vitest"
import * as Headers from "effect/http/Headers"
import * as ForwardedHeaders from "../../../../src/internal/http/server/forwarding/ForwardedHeaders.ts"

const request = (headers: Record<string, string>, originalUrl = "/mcp") => ({
  headers: Headers.fromRecordUnsafe(headers),
  originalUrl
})

describe("the headers of a forwarded request", () => {
  it("are those of the client, without those of its connection", () => {
    const sent = ForwardedHeaders.ofRequest(
      request({
        host: "api.example",
        authorization: "Bearer t",
        "mcp-session-id": "s",
        connection: "keep-alive, X-Hop, Authorization, Mcp-Session-Id, Host, Content-Length",
        "keep-alive": "timeout=5",
        "transfer-encoding": "chunked",
        te: "trailers",
        upgrade: "h2c",
        "proxy-authorization": "Basic x",
        expect: "100-continue",
        "x-hop": "1",
        "content-length": "3"
      }),
      { "content-length": undefined, "mcp-forwarded": "p" }
    )
    assert.deepStrictEqual(sent, {
      host: "api.example",
      authorization: "Bearer t",
      "mcp-session-id": "s",
      "mcp-forwarded": "p"
    })
  })

  it("have the host of a request of HTTP/2, and none of its pseudo-headers", () => {
    const sent = ForwardedHeaders.ofRequest(
      request({ ":authority": "api.example", ":method": "POST", ":path": "/mcp", accept: "*/*" }),
      {}
    )
    assert.deepStrictEqual(sent, { accept: "*/*", host: "api.example" })
    assert.deepStrictEqual(
      ForwardedHeaders.ofRequest(request({}, "https://web.example:8443/mcp"), {}),
      { host: "web.example:8443" }
    )
  })
})

it.each(
  [
    ["/mcp?a=%20", "/mcp?a=%20"],
    ["http://evil.example/mcp?a=1", "/mcp?a=1"],
    ["https://user:secret@evil.example", "/"],
    ["//evil.example/mcp", "//evil.example/mcp"],
    ["*", undefined],
    ["evil.example:443", undefined],
    ["file:///etc/passwd", undefined]
  ] as const
)("the target %s is sent as %s", (originalUrl, target) => {
  assert.strictEqual(ForwardedHeaders.targetOf({ originalUrl }), target)
})

it.each(
  [
    ["http://10.0.0.3:3000", "http://10.0.0.3:3000/"],
    ["https://user:secret@p.example/path?query", "https://p.example/"],
    ["http://[::1]:3000", "http://[::1]:3000/"],
    ["file:///etc/passwd", undefined],
    ["10.0.0.3:3000", undefined],
    ["", undefined]
  ] as const
)("the address %s is that of %s", (address, origin) => {
  assert.strictEqual(ForwardedHeaders.addressOf(address)?.href, origin)
})
