import { assert, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { fixture } from "../../../fixtures/process.ts"

const modules = ["HttpFallbackClient", "HttpSseClient", "StreamableHttpClient"]

it.each(modules)(
  "what speaks HTTP is loaded when it is used, so that a program over stdio does not pay for it (%s)",
  (name) => {
    const module = new URL(`../../../../src/${name}.ts`, import.meta.url).href
    const loaded: ReadonlyArray<string> = JSON.parse(
      execFileSync(process.execPath, [fixture("loaded.mjs"), module], { encoding: "utf8" })
    )
    assert.include(loaded, module)
    assert.deepStrictEqual(loaded.filter((url) => /\/effect\/(src|dist)\/http\/|undici|NodeHttpClient/.test(url)), [])
  }
)
