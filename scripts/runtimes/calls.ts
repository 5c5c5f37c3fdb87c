/** The calls of clients that run on every platform, by the name of the part that they try. */
import * as page from "../packages/programs/page.ts"
import * as pageOverWebSocket from "../packages/programs/pageOverWebSocket.ts"
import * as pageWithServers from "../packages/programs/pageWithServers.ts"
import * as pageWithTokens from "../packages/programs/pageWithTokens.ts"

/** Throws unless this is the content of the greeting. */
export const check = (content: unknown): void => {
  const text = JSON.stringify(content)
  if (!text.includes("Hello, Ada!")) throw new Error(`the call returned ${text}`)
}

/** The servers of a call: one over HTTP, one over WebSocket, and one that needs tokens of an issuer. */
type Call = (http: string, ws: string, guarded: string, issuer: string) => Promise<unknown>

/** The part of a client that gets tokens. */
export const withTokens = "client with tokens (`OAuth`)"

export const everywhere: Readonly<Record<string, Call>> = {
  "HTTP client `layerFetch`": (http) => page.greet(http, "Ada").then(check),
  "WebSocket client `layerGlobal`": (_, ws) => pageOverWebSocket.greet(ws, "Ada").then(check),
  "`McpClients` with a URL": (http) => pageWithServers.greet(http, "Ada").then(check),
  [withTokens]: (_http, _ws, guarded, issuer) => pageWithTokens.greet(guarded, issuer, "Ada").then(check)
}
