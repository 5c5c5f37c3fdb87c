/** The list of laws that a subject has. */
import { TransportLaws } from "@effect-mcp/testing/laws"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

const subject: TransportLaws.Subject = { serve: Effect.never }

it("the laws of a subject are those of both eras, and their names say which", () => {
  const laws = TransportLaws.laws(subject)
  assert.strictEqual(new Set(laws.map(({ name }) => name)).size, laws.length)
  assert.deepStrictEqual(new Set(laws.map(({ era }) => era)), new Set(["legacy", "modern"]))
  for (const { era, name, topic } of laws) {
    assert.deepStrictEqual([name, topic].map((text) => text.endsWith(" (2026-07-28)")), [
      era === "modern",
      era === "modern"
    ])
  }
})

it("a subject that exists only with a handshake has the laws of that era, and the same ones", () => {
  const legacy = TransportLaws.laws(subject).filter(({ era }) => era === "legacy")
  assert.deepStrictEqual(
    TransportLaws.laws({ ...subject, handshakeOnly: true }).map(({ name }) => name),
    legacy.map(({ name }) => name)
  )
})

it("a law of a lossy connection is checked in both eras", () => {
  const laws = TransportLaws.laws({ ...subject, lossy: true })
  const of = (wanted: string) => laws.filter(({ era }) => era === wanted).length
  assert.isAbove(of("modern"), 0)
  assert.strictEqual(of("modern"), of("legacy"))
})
