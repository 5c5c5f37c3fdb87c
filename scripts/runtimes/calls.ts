/** The calls of clients that run on every platform, by the name of the part that they try. */
import * as page from "../packages/programs/page.ts"
import * as pageOverWebSocket from "../packages/programs/pageOverWebSocket.ts"
import * as pageWithServers from "../packages/programs/pageWithServers.ts"

/** Throws unless this is the content of the greeting. */
export const check = (content: unknown): void => {
  const text = JSON.stringify(content)
  if (!text.includes("Hello, Ada!")) throw new Error(`the call returned ${text}`)
}

/** Calls the tool of a server of HTTP, or of one of WebSocket. */
type Call = (http: string, ws: string) => Promise<unknown>

export const everywhere: Readonly<Record<string, Call>> = {
  "HTTP client `layerFetch`": (http) => page.greet(http, "Ada").then(check),
  "WebSocket client `layerGlobal`": (_, ws) => pageOverWebSocket.greet(ws, "Ada").then(check),
  "`McpClients` with a URL": (http) => pageWithServers.greet(http, "Ada").then(check)
}
