/** The words of a failed request for another party. */
import { CloseReason, McpError } from "@effect-mcp/protocol"
import { RequestError, TransportError, UnsupportedSchemaError } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"

const secret = "postgres://app:dbPassw0rd@db.internal"
const error = new McpError.McpError({ code: -32000, message: secret })
const transportError = TransportError.make({ _tag: "ConnectFailed", target: secret, cause: new Error(secret) })
const exit: CloseReason.ProcessExit = { exitCode: 1, signal: undefined, stderr: [secret] }

const secretive: ReadonlyArray<RequestError.RequestErrorReason> = [
  { _tag: "ErrorResponse", error },
  { _tag: "Closed", reason: { _tag: "PeerEnded", exit }, isSent: true },
  { _tag: "Closed", reason: { _tag: "TransportFailed", cause: secret }, isSent: false },
  { _tag: "InvalidResult", problem: secret },
  { _tag: "MalformedResponse", problem: secret },
  {
    _tag: "UnusableSchema",
    tool: secret,
    error: new UnsupportedSchemaError.UnsupportedSchemaError({ reason: { _tag: "Rejected", problem: secret } })
  },
  { _tag: "InvalidParams", problem: secret },
  { _tag: "QuestionFailed", method: "roots/list", error },
  { _tag: "NotSubscribable", uri: secret },
  { _tag: "SendFailed", error: transportError },
  { _tag: "OutcomeUnknown", error: transportError }
]

it("the words of an error for another party have its kind, and no text of the peer, cause or close reason", () => {
  for (const reason of secretive) {
    const failed = RequestError.make("tools/call", reason)
    assert.include(failed.message, secret)
    assert.notInclude(RequestError.withoutCause(failed), "db")
    assert.match(RequestError.withoutCause(failed), /^tools\/call: \w/)
  }
  const timeout = RequestError.make("tools/call", { _tag: "Timeout", afterMillis: 5 })
  assert.strictEqual(RequestError.withoutCause(timeout), timeout.message)
})

it("the words state whether the peer may have carried out the request", () => {
  const closed = (isSent: boolean) =>
    RequestError.withoutCause(RequestError.make("ping", { _tag: "Closed", reason: CloseReason.requested, isSent }))
  assert.strictEqual(closed(false), "ping: the session has ended")
  assert.strictEqual(closed(true), "ping: the session has ended, and the peer may have carried out the request")
})
