import { assert, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { fixture } from "../../transport/test/support/process.ts"

/** Returns the URLs of the modules that an entry point loads. */
const loadedBy = (name: string): ReadonlyArray<string> =>
  JSON.parse(
    execFileSync(process.execPath, [
      fixture("loadedModules.mjs"),
      new URL(`../src/${name}.ts`, import.meta.url).href
    ], { encoding: "utf8" })
  )

const libraries = /\/(?:jose|oauth4webapi|undici|koa|oidc-provider)\/|NodeHttpClient/

/** The modules of transports: neither the ports of the authorization, nor what those import. */
const transports = /\/transport\/src\/(?:index|\w+(?:Client|Server)\.ts|internal\/(?:http|socket|stdio|websocket)\/)/

it.each(["index", "NodeTokenStore", "NodeUserAgent"])(
  "the libraries of OAuth and the HTTP client are loaded on first use, and no transport is loaded at all (%s)",
  (name) => {
    const loaded = loadedBy(name)
    assert.isNotEmpty(loaded)
    assert.deepStrictEqual(loaded.filter((url) => libraries.test(url) || transports.test(url)), [])
  }
)

it("the client of OAuth loads no module of Node", () => {
  assert.deepStrictEqual(loadedBy("OAuth").filter((url) => url.startsWith("node:")), [])
})
