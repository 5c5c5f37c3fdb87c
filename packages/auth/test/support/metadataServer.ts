/** An HTTP server on a socket that answers each path as a test says, and remembers the requests. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as http from "node:http"

/** A request that has arrived. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

/** The response to a request: JSON, or whatever a function writes. */
export type Route =
  | { readonly json: unknown; readonly status?: number }
  | ((response: http.ServerResponse, received: Received) => void)

/** The server. */
export interface MetadataServer {
  readonly port: number
  /** The origin with the name `localhost`. */
  readonly origin: string
  readonly requests: Array<Received>
  /** The paths of the requests, in their order. */
  readonly paths: () => ReadonlyArray<string>
  /** The routes by path; others are answered with 404. */
  readonly routes: Map<string, Route>
}

/** Starts a server on a free port of this machine. */
export const start: Effect.Effect<MetadataServer, never, Scope.Scope> = Effect.acquireRelease(
  Effect.callback<MetadataServer & { readonly close: () => void }>((resume) => {
    const requests: Array<Received> = []
    const routes = new Map<string, Route>()
    const server = http.createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const { headers, method = "", url = "" } = request
        const received = { method, path: url, headers, body: Buffer.concat(chunks).toString() }
        requests.push(received)
        const route = routes.get(url)
        if (route === undefined) return response.writeHead(404).end()
        if (typeof route === "function") return route(response, received)
        response.writeHead(route.status ?? 200, { "content-type": "application/json" }).end(JSON.stringify(route.json))
      })
    })
    server.listen(0, "localhost", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const close = () => {
        server.closeAllConnections()
        server.close()
      }
      const paths = () => requests.map(({ path }) => path)
      resume(Effect.succeed({ port, origin: `http://localhost:${port}`, requests, paths, routes, close }))
    })
  }),
  ({ close }) => Effect.sync(close)
)
