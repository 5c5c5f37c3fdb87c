/** The ciphers of both interfaces of Node, which read each other's results. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Cipher } from "../../../src/internal/ciphers/Cipher.ts"
import * as NodeCipher from "../../../src/internal/ciphers/NodeCipher.ts"
import * as WebCipher from "../../../src/internal/ciphers/WebCipher.ts"
import * as webCrypto from "../../../src/internal/webCrypto.ts"

const context = webCrypto.bytesOf("ada")
const text = webCrypto.bytesOf("approved: Zürich")

const nodeCipher = (first: string, others: ReadonlyArray<string>): Cipher => {
  const cipher = NodeCipher.make(first, others)
  if (cipher === undefined) throw new Error("Node has no node:crypto")
  return cipher
}

const ciphers = { "node:crypto": nodeCipher, "Web Crypto": WebCipher.make }

for (const [sealing, makeSealing] of Object.entries(ciphers)) {
  for (const [opening, makeOpening] of Object.entries(ciphers)) {
    describe(`what ${sealing} has encrypted, ${opening}`, () => {
      it.effect("decrypts with the same secret, first or not", () =>
        Effect.gen(function*() {
          const sealed = yield* makeSealing("one", ["two"]).encrypt(text, context)
          for (const cipher of [makeOpening("one", []), makeOpening("two", ["three", "one"])]) {
            assert.deepStrictEqual(Uint8Array.from((yield* cipher.decrypt(sealed, context)) ?? []), text)
          }
        }))

      it.effect("does not decrypt with another secret, in another context, or changed in any byte", () =>
        Effect.gen(function*() {
          const cipher = makeOpening("one", ["two"])
          const sealed = yield* makeSealing("one", []).encrypt(text, context)
          assert.isUndefined(yield* makeOpening("two", []).decrypt(sealed, context))
          assert.isUndefined(yield* cipher.decrypt(sealed, webCrypto.bytesOf("bob")))
          for (let at = 0; at < sealed.length; at++) {
            assert.isUndefined(
              yield* cipher.decrypt(sealed.map((byte, index) => index === at ? byte ^ 1 : byte), context)
            )
            assert.isUndefined(yield* cipher.decrypt(sealed.subarray(0, at), context))
          }
        }))
    })
  }
}

it.effect("both ciphers make the same digest, and different results of the same text", () =>
  Effect.gen(function*() {
    const [node, web] = [nodeCipher("one", []), WebCipher.make("one", [])]
    assert.deepStrictEqual(Uint8Array.from(yield* node.digest(text)), yield* web.digest(text))
    for (const cipher of [node, web]) {
      assert.notDeepEqual(yield* cipher.encrypt(text, context), yield* cipher.encrypt(text, context))
    }
  }))
