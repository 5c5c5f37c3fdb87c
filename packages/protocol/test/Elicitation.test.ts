import { Elicitation, ErrorCode, JsonRpc, McpError } from "@effect-mcp/protocol"
import { assert, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { overTheWire } from "./wire.ts"

const signIn: Elicitation.UrlParams = {
  mode: "url",
  message: "Sign in",
  url: "https://example.com/sign-in",
  elicitationId: "1"
}

/** The error as the peer receives it. */
const overTheWireError = (error: McpError.McpError): McpError.McpError => {
  const { error: { code, data, message } } = JsonRpc.failure(1, error)
  return McpError.received({ code, message, data: overTheWire(data) })
}

it("[ELI-14] the error carries the URL elicitations and a message", () => {
  const error = Elicitation.urlRequired([signIn], "Sign in first")
  assert.strictEqual(error.code, -32042)
  assert.strictEqual(error.message, "Sign in first")
  assert.deepStrictEqual(error.data, { elicitations: [signIn] })
  assert.isNotEmpty(Elicitation.urlRequired([signIn]).message)
})

it.prop(
  "[ELI-14] the peer reads the URL elicitations of an error",
  [Schema.Array(Elicitation.UrlParams)],
  ([params]) => {
    const received = overTheWireError(Elicitation.urlRequired(params))
    assert.deepStrictEqual<unknown>(Elicitation.requiredUrls(received), overTheWire(params))
  }
)

it.prop(
  "[ELI-14] an error of another code has no URL elicitations, whatever its data",
  [Schema.Int, Schema.Unknown],
  ([code, data]) => {
    if (code === ErrorCode.UrlElicitationRequired) return
    const { data: params } = Elicitation.urlRequired([signIn])
    assert.strictEqual(Elicitation.requiredUrls(new McpError.McpError({ code, message: "", data })), undefined)
    assert.strictEqual(Elicitation.requiredUrls(new McpError.McpError({ code, message: "", data: params })), undefined)
  }
)

const wrong: ReadonlyArray<unknown> = [
  undefined,
  null,
  "https://example.com",
  [],
  [signIn],
  {},
  { elicitations: null },
  { elicitations: signIn },
  { elicitations: [null] },
  { elicitations: [signIn, { ...signIn, mode: "form" }] },
  { elicitations: [{ message: "", requestedSchema: { type: "object", properties: {} } }] },
  ...["mode", "message", "url", "elicitationId"].map((missing) => ({
    elicitations: [Object.fromEntries(Object.entries(signIn).filter(([name]) => name !== missing))]
  }))
]

it.each(wrong.map((data) => [JSON.stringify(data) ?? "no data", data] as const))(
  "[ELI-14] invalid URL elicitations are ignored: %s",
  (_, data) => {
    const error = McpError.received({ code: ErrorCode.UrlElicitationRequired, message: "", data })
    assert.strictEqual(Elicitation.requiredUrls(error), undefined)
  }
)

it.prop("[ELI-14] reading any data does not throw", [Schema.Unknown], ([data]) => {
  const urls = Elicitation.requiredUrls(
    McpError.received({ code: ErrorCode.UrlElicitationRequired, message: "", data })
  )
  assert.isTrue(urls === undefined || Array.isArray(urls))
})

it("[ELI-14] unknown members do not hide the URL elicitations", () => {
  const data = { elicitations: [{ ...signIn, "acme/extra": 1 }], "acme/extra": 1 }
  const error = McpError.received({ code: ErrorCode.UrlElicitationRequired, message: "", data })
  assert.strictEqual(Elicitation.requiredUrls(error)?.[0]?.url, signIn.url)
})
