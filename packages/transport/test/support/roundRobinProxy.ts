/** A reverse proxy in front of several servers, which forwards each request to the next of them. */
import * as Effect from "effect/Effect"
import * as http from "node:http"
import * as Loopback from "./loopback.ts"

/** A request that the proxy has forwarded. */
export interface Forwarded {
  /** The index of the server. */
  readonly server: number
  /** The method of the MCP message, as its header says. */
  readonly method: string | undefined
}

/**
 * Starts a proxy of the servers at these ports. It remembers nothing of a client or a connection. If a server does not
 * answer, the response is 502. `cutOff` breaks the connections to a server, which then answers no more.
 */
export const serve = Effect.fnUntraced(function*(ports: ReadonlyArray<number>) {
  const forwarded: Array<Forwarded> = []
  const open = new Map<http.ClientRequest, number>()
  const cut = new Set<number>()
  const server = http.createServer((request, response) => {
    const next = forwarded.length % ports.length
    const { headers, method, url } = request
    const name = headers["mcp-method"]
    forwarded.push({ server: next, method: typeof name === "string" ? name : undefined })
    if (cut.has(next)) return void response.writeHead(502).end()
    const onward = http.request(
      { host: "127.0.0.1", port: ports[next], path: url, method, headers, agent: false },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        response.flushHeaders()
        answer.on("error", () => response.destroy())
        answer.pipe(response)
      }
    )
    onward.on("error", () => {
      if (response.headersSent) response.destroy()
      else response.writeHead(502).end()
    })
    open.set(onward, next)
    response.on("close", () => {
      open.delete(onward)
      onward.destroy()
    })
    request.pipe(onward)
  })
  const port = yield* Loopback.listen(server)
  const cutOff = (index: number): void => {
    cut.add(index)
    for (const [onward, to] of open) if (to === index) onward.destroy(new Error("cut off"))
  }
  return { port, cutOff, url: `http://127.0.0.1:${port}/mcp`, forwarded }
})
