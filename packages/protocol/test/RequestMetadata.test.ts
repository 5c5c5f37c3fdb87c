import { RequestMetadata } from "@effect-mcp/protocol"
import { assert, it } from "@effect/vitest"
import * as Result from "effect/Result"

const version = "io.modelcontextprotocol/protocolVersion"
const capabilities = "io.modelcontextprotocol/clientCapabilities"
const whole: RequestMetadata.RequestMetadata = {
  protocolVersion: "2026-07-28",
  clientCapabilities: { elicitation: { url: {} } },
  clientInfo: { name: "a", version: "1" },
  logLevel: "warning"
}

it("is read as it was written", () => {
  assert.deepStrictEqual(RequestMetadata.write(whole), {
    [version]: "2026-07-28",
    [capabilities]: { elicitation: { url: {} } },
    "io.modelcontextprotocol/clientInfo": { name: "a", version: "1" },
    "io.modelcontextprotocol/logLevel": "warning"
  })
  assert.deepStrictEqual(Result.getOrThrow(RequestMetadata.read(RequestMetadata.write(whole))), whole)
})

it("needs neither the name of the client nor a level", () => {
  const least = { ...whole, clientInfo: undefined, logLevel: undefined }
  assert.deepStrictEqual(Object.keys(RequestMetadata.write(least)), [version, capabilities])
  assert.deepStrictEqual(Result.getOrThrow(RequestMetadata.read(RequestMetadata.write(least))), least)
})

it.each<readonly [unknown, string]>([
  [undefined, version],
  [{ [capabilities]: {} }, version],
  [{ [version]: "2026-07-28" }, capabilities],
  [{ [version]: 5, [capabilities]: {} }, version],
  [{ [version]: "2026-07-28", [capabilities]: [] }, capabilities],
  [{ ...RequestMetadata.write(whole), "io.modelcontextprotocol/logLevel": "loud" }, "logLevel"],
  [{ ...RequestMetadata.write(whole), "io.modelcontextprotocol/clientInfo": { name: "a" } }, "version"],
  ["text", "Expected object"]
])("%j is rejected, and the problem names the field", (meta, named) => {
  const read = RequestMetadata.read(meta)
  assert(Result.isFailure(read))
  assert.include(read.failure, named)
})
