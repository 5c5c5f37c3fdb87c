/** A POST of revision 2026-07-28 by hand. */
import { RequestMetadata } from "@effect-mcp/protocol"
import { RequestHeaders } from "@effect-mcp/protocol/internal"

export const version = "2026-07-28"

const metadata: RequestMetadata.RequestMetadata = {
  protocolVersion: version,
  clientCapabilities: {},
  clientInfo: { name: "client", version: "1" },
  logLevel: undefined
}

/** Returns a request with its headers. */
export const post = (
  method: string,
  params: { readonly [name: string]: unknown } = {},
  more: { readonly meta?: object; readonly headers?: Readonly<Record<string, string | undefined>> } = {}
) => {
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method,
    params: { ...params, _meta: { ...RequestMetadata.write(metadata), ...more.meta } }
  }
  return { body, headers: { ...RequestHeaders.encode({ method, params, version }), ...more.headers } }
}
