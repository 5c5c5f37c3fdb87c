import type { Inbound } from "@effect-mcp/session/Transport"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { InboundBuffer } from "../../../src/internal/shared/InboundBuffer.ts"

const frame = (n: number): Inbound => ({ frame: Result.succeed(n), bytes: 1 })

/** Records the frames that a buffer delivers, as numbers. */
const recorder = () => {
  const delivered: Array<unknown> = []
  return { delivered, deliver: ({ frame }: Inbound) => void delivered.push(Result.getOrThrow(frame)) }
}

describe("a buffer of inbound frames", () => {
  it("delivers the frames from before the subscription first, and each later frame at once", () => {
    const buffer = new InboundBuffer()
    const { deliver, delivered } = recorder()
    buffer.deliver(frame(1))
    buffer.deliver(frame(2))
    buffer.subscribe(deliver)
    assert.deepStrictEqual(delivered, [1, 2])
    buffer.deliver(frame(3))
    assert.deepStrictEqual(delivered, [1, 2, 3])
  })

  it("delivers a frame that arrives during the subscription after the buffered ones", () => {
    const buffer = new InboundBuffer()
    const { deliver, delivered } = recorder()
    buffer.deliver(frame(1))
    buffer.deliver(frame(2))
    buffer.subscribe((inbound) => {
      if (delivered.length === 0) buffer.deliver(frame(3))
      deliver(inbound)
    })
    assert.deepStrictEqual(delivered, [1, 2, 3])
    buffer.deliver(frame(4))
    assert.deepStrictEqual(delivered, [1, 2, 3, 4])
  })

  it("discards its frames and later ones after it was closed", () => {
    const buffer = new InboundBuffer()
    const { deliver, delivered } = recorder()
    buffer.deliver(frame(1))
    buffer.close()
    buffer.subscribe(deliver)
    buffer.deliver(frame(2))
    assert.deepStrictEqual(delivered, [])
  })

  it("delivers nothing more if it is closed during the subscription", () => {
    const buffer = new InboundBuffer()
    const { deliver, delivered } = recorder()
    buffer.deliver(frame(1))
    buffer.deliver(frame(2))
    buffer.subscribe((inbound) => {
      deliver(inbound)
      buffer.close()
    })
    buffer.deliver(frame(3))
    assert.deepStrictEqual(delivered, [1])
  })
})
