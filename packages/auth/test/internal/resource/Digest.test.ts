import { assert, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import * as Digest from "../../../src/internal/resource/Digest.ts"

const texts = ["", "a token", "München 日本 \u{1F600}", "lone \uD800 surrogate", "x".repeat(16_384)]

it("a platform without node:crypto makes the same digests", () => {
  const module = new URL("../../../src/internal/resource/Digest.ts", import.meta.url).href
  const program = `
    process.getBuiltinModule = undefined
    const { of } = await import(${JSON.stringify(module)})
    console.log(JSON.stringify(${JSON.stringify(texts)}.map(of)))
  `
  const portable = JSON.parse(
    execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" })
  )
  assert.deepStrictEqual(portable, texts.map(Digest.of))
})
