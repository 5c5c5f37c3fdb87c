import { CloseReason } from "@effect-mcp/protocol"
import { assert, it } from "@effect/vitest"

type Reason = CloseReason.CloseReason

const exit = (part: Partial<CloseReason.ProcessExit>): Reason => ({
  _tag: "PeerEnded",
  exit: { exitCode: undefined, signal: undefined, stderr: [], ...part }
})

const messages: ReadonlyArray<readonly [Reason, string]> = [
  [CloseReason.requested, "closed by this side"],
  [{ _tag: "PeerEnded", exit: undefined }, "the peer ended the connection"],
  [exit({}), "the peer closed its output"],
  [exit({ exitCode: 0 }), "the peer exited with code 0"],
  [exit({ exitCode: 137, signal: "SIGKILL" }), "the peer was killed by SIGKILL"],
  [exit({ exitCode: 1, stderr: ["one", "two"] }), "the peer exited with code 1; last lines of stderr:\none\ntwo"],
  [{ _tag: "PeerStalled", afterMillis: 30_000 }, "the peer read no bytes for 30000 ms"],
  [
    { _tag: "RepliesOverflow", waiting: 16_385, bytes: 4096, limit: "maxOutgoingReplies" },
    "the peer kept sending requests while 16385 replies of 4096 bytes waited for it (limit: maxOutgoingReplies)"
  ],
  [
    { _tag: "RepliesOverflow", waiting: 3, bytes: 4096, limit: "MemoryBudget" },
    "the process ran short of memory while this peer left most of it unread: 4096 bytes, with 3 replies " +
    "(limit: MemoryBudget)"
  ],
  [{ _tag: "TransportFailed", cause: new Error("socket hang up") }, "socket hang up"],
  [{ _tag: "TransportFailed", cause: "EPIPE" }, "the transport failed: EPIPE"],
  [{ _tag: "TransportFailed", cause: undefined }, "the transport failed: undefined"],
  [{ _tag: "TransportFailed", cause: Symbol("broken") }, "the transport failed: Symbol(broken)"],
  [{ _tag: "TransportFailed", cause: new Error("") }, "the transport failed"],
  [{ _tag: "TransportFailed", cause: "" }, "the transport failed"],
  [{ _tag: "HandshakeFailed", problem: "no common revision" }, "the handshake failed: no common revision"],
  [{ _tag: "HandshakeTimeout", afterMillis: 1 }, "the handshake did not finish within 1 ms"],
  [{ _tag: "Expired", afterMillis: 1_800_000, of: "idle" }, "expired: unused for 1800000 ms"],
  [{ _tag: "Expired", afterMillis: 1000, of: "age" }, "expired: open for 1000 ms, the maximum age"],
  [{ _tag: "Evicted", afterMillis: 300_000, of: "idle" }, "evicted to make room: unused for 300000 ms"],
  [
    { _tag: "Evicted", afterMillis: 4000, of: "held" },
    "evicted to make room: connected for 4000 ms; its client held more than half of all slots"
  ],
  [
    { _tag: "Evicted", afterMillis: 3000, of: "handshake" },
    "evicted to make room: the handshake was not finished after 3000 ms"
  ],
  [CloseReason.superseded, "another process has the session now"]
]

it.each(messages.map(([reason, message]) => ({ reason, message })))(
  "$reason._tag: $message",
  ({ message, reason }) => {
    assert.strictEqual(CloseReason.describe(reason), message)
  }
)

it("every kind of reason has a message above", () => {
  const kinds: { readonly [Tag in Reason["_tag"]]: true } = {
    Requested: true,
    PeerEnded: true,
    PeerStalled: true,
    RepliesOverflow: true,
    TransportFailed: true,
    HandshakeFailed: true,
    HandshakeTimeout: true,
    Expired: true,
    Evicted: true,
    Superseded: true
  }
  assert.deepStrictEqual(Array.from(new Set(messages.map(([{ _tag }]) => _tag))), Object.keys(kinds))
})

it("[INIT-16] the message of a failed handshake contains its problem", () => {
  assert.include(
    CloseReason.describe({ _tag: "HandshakeFailed", problem: "the server chose 1999-01-01" }),
    "1999-01-01"
  )
})

it("a cause without a prototype does not make describe throw", () => {
  assert.include(CloseReason.describe({ _tag: "TransportFailed", cause: Object.create(null) }), "the transport failed")
})
