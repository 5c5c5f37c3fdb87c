/** The words of errors of the handshake. */
import { HandshakeError, TransportError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"

describe("the words about texts that are no messages", () => {
  const words = (stray: HandshakeError.StrayTexts) =>
    HandshakeError.make({ _tag: "Timeout", afterMillis: 100, stray }).message

  it("name standard output only if the transport has started the server", () => {
    const stray = { first: "Welcome", count: 1 }
    assert.match(words({ ...stray, isPrinted: true }), /"Welcome"; a server over stdio must print only messages/)
    assert.match(words(stray), /"Welcome"; check that the address is that of an MCP server$/)
    assert.notInclude(words(stray), "stdio")
  })

  it("escape a text once", () => {
    assert.include(words({ first: "a \\ \u{1b}[2J", count: 1 }), "\"a \\\\ \\u001b[2J\"")
  })
})

it("a challenge does not control the terminal of those who read the error", () => {
  const { message } = TransportError.make({
    _tag: "Unauthenticated",
    challenge: "Bearer realm=\"\u{9b}2Jnotes\u{202e}\"",
    target: "https://notes.example/mcp"
  })
  assert.include(message, "Bearer realm=\"\\u{9b}2Jnotes\\u{202e}\"")
})
