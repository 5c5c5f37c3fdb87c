import { CloseReason } from "@effect-mcp/protocol"
import { assert, it } from "@effect/vitest"
import * as CloseCode from "../../../src/internal/websocket/CloseCode.ts"

const reasons: ReadonlyArray<CloseReason.CloseReason> = [
  CloseReason.requested,
  { _tag: "PeerEnded", exit: undefined },
  { _tag: "PeerStalled", afterMillis: 1 },
  { _tag: "RepliesOverflow", waiting: 1, bytes: 1, limit: "MemoryBudget" },
  { _tag: "TransportFailed", cause: new Error("of this side") },
  { _tag: "HandshakeFailed", problem: "ü".repeat(1000) },
  { _tag: "HandshakeTimeout", afterMillis: 1 },
  { _tag: "Expired", afterMillis: 1, of: "age" },
  { _tag: "Evicted", afterMillis: 1, of: "idle" },
  CloseReason.superseded
]

it("every close reason has a code that browsers permit, and a text that fits into a close frame", () => {
  for (const side of ["client", "server", "server shutting down"] as const) {
    for (const reason of reasons) {
      const { code, text } = CloseCode.closeFrame(reason, side)
      assert.isAtMost(Buffer.byteLength(text), 123)
      assert.notInclude(text, "�")
      // Browsers permit 1000, and codes from 3000 on.
      assert.isTrue(
        code === 1000 || (code >= 4000 && code < 5000) || (side === "server shutting down" && code === 1001)
      )
    }
  }
})

it("every failure has another code", () => {
  const codes = reasons.map((reason) => CloseCode.closeFrame(reason, "client").code).filter((code) => code !== 1000)
  assert.strictEqual(new Set(codes).size, reasons.length - 2)
})

it("the error of a received code has its meaning", () => {
  for (const reason of reasons) {
    const { code, text } = CloseCode.closeFrame(reason, "server")
    const problem = CloseCode.problem(code, text)
    if (code === 1000) assert.isUndefined(problem)
    else assert.include(problem?.message, `code ${code} (${reason._tag}): ${text}`)
  }
  assert.strictEqual(CloseCode.problem(1006, "")?.message, "the connection broke without a close frame")
})
