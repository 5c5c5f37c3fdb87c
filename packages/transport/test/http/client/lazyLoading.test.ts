import { assert, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { fixture } from "../../support/process.ts"

const modules = ["HttpFallbackClient", "HttpSseClient", "StreamableHttpClient"]

it.each(modules)(
  "the modules of HTTP are loaded on first use, so that a program over stdio starts without them (%s)",
  (name) => {
    const module = new URL(`../../../src/node/${name}.ts`, import.meta.url).href
    const loaded: ReadonlyArray<string> = JSON.parse(
      execFileSync(process.execPath, [fixture("loadedModules.mjs"), module], { encoding: "utf8" })
    )
    assert.include(loaded, module)
    assert.deepStrictEqual(loaded.filter((url) => /\/effect\/(src|dist)\/http\/|undici|NodeHttpClient/.test(url)), [])
  }
)
