import { assert, describe, it } from "@effect/vitest"
import { messagesPath } from "../../../../../src/internal/http/server/sse/messagesPath.ts"

describe("the path for POSTs", () => {
  const pathFor = messagesPath("/sse", "/messages")

  it("keeps the prefix of the stream's URL", () => {
    assert.strictEqual(pathFor("/sse"), "/messages")
    assert.strictEqual(pathFor("/sse/"), "/messages")
    assert.strictEqual(pathFor("/sse?a=/b#c"), "/messages")
    assert.strictEqual(pathFor("/a/b/sse"), "/a/b/messages")
    assert.strictEqual(pathFor("https://example.com/a/sse?x"), "/a/messages")
    assert.strictEqual(messagesPath("/old/sse", "/old/messages/in")("/x/old/sse"), "/x/old/messages/in")
    assert.strictEqual(messagesPath("/old/sse", "/messages")("/x/old/sse"), "/x/messages")
    assert.strictEqual(messagesPath("/mcp", "/mcp")("/x/mcp"), "/x/mcp")
    assert.strictEqual(messagesPath("/mcp", "/mcp/messages")("/x/mcp"), "/x/mcp/messages")
    assert.strictEqual(messagesPath("/", "/messages")("/"), "/messages")
  })

  it("never names another server", () => {
    assert.strictEqual(pathFor("//evil.example/sse"), "/evil.example/messages")
    assert.strictEqual(pathFor("/\\evil.example/sse"), "/evil.example/messages")
    assert.strictEqual(pathFor("/"), "/messages")
  })
})
