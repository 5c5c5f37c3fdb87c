import { Elicitation, ErrorCode, JsonRpc, McpError } from "@effect-mcp/protocol"
import { assert, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { overTheWire } from "./wire.ts"

const page: Elicitation.UrlParams = {
  mode: "url",
  message: "Sign in",
  url: "https://example.com/sign-in",
  elicitationId: "1"
}

/** An error as the other side receives it. */
const overTheWireError = (error: McpError.McpError): McpError.McpError => {
  const { error: { code, data, message } } = JsonRpc.failure(1, error)
  return McpError.received({ code, message, data: overTheWire(data) })
}

it("[ELI-14] the error says which pages to visit, and why", () => {
  const error = Elicitation.urlRequired([page], "Sign in first")
  assert.strictEqual(error.code, -32042)
  assert.strictEqual(error.message, "Sign in first")
  assert.deepStrictEqual(error.data, { elicitations: [page] })
  assert.isNotEmpty(Elicitation.urlRequired([page]).message)
})

it.prop(
  "[ELI-14] the pages that an error lists arrive on the other side",
  [Schema.Array(Elicitation.UrlParams)],
  ([pages]) => {
    const received = overTheWireError(Elicitation.urlRequired(pages))
    assert.deepStrictEqual<unknown>(Elicitation.requiredUrls(received), overTheWire(pages))
  }
)

it.prop(
  "[ELI-14] no error of another code lists pages, whatever its data",
  [Schema.Int, Schema.Unknown],
  ([code, data]) => {
    if (code === ErrorCode.UrlElicitationRequired) return
    const { data: pages } = Elicitation.urlRequired([page])
    assert.strictEqual(Elicitation.requiredUrls(new McpError.McpError({ code, message: "", data })), undefined)
    assert.strictEqual(Elicitation.requiredUrls(new McpError.McpError({ code, message: "", data: pages })), undefined)
  }
)

const wrong: ReadonlyArray<unknown> = [
  undefined,
  null,
  "https://example.com",
  [],
  [page],
  {},
  { elicitations: null },
  { elicitations: page },
  { elicitations: [null] },
  { elicitations: [page, { ...page, mode: "form" }] },
  { elicitations: [{ message: "", requestedSchema: { type: "object", properties: {} } }] },
  ...["mode", "message", "url", "elicitationId"].map((missing) => ({
    elicitations: [Object.fromEntries(Object.entries(page).filter(([name]) => name !== missing))]
  }))
]

it.each(wrong.map((data) => [JSON.stringify(data) ?? "no data", data] as const))(
  "[ELI-14] pages that cannot be visited are none: %s",
  (_, data) => {
    const error = McpError.received({ code: ErrorCode.UrlElicitationRequired, message: "", data })
    assert.strictEqual(Elicitation.requiredUrls(error), undefined)
  }
)

it.prop("[ELI-14] whatever a peer puts into the data, reading it does not throw", [Schema.Unknown], ([data]) => {
  const urls = Elicitation.requiredUrls(
    McpError.received({ code: ErrorCode.UrlElicitationRequired, message: "", data })
  )
  assert.isTrue(urls === undefined || Array.isArray(urls))
})

it("[ELI-14] what a peer puts beside the pages is no reason to overlook them", () => {
  const data = { elicitations: [{ ...page, "acme/extra": 1 }], "acme/extra": 1 }
  const error = McpError.received({ code: ErrorCode.UrlElicitationRequired, message: "", data })
  assert.strictEqual(Elicitation.requiredUrls(error)?.[0]?.url, page.url)
})
