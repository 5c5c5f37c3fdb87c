/**
 * A load balancer that sends each HTTP request to a random process, in plain Node. It knows nothing of sessions.
 */
import * as Http from "node:http"

/** The port of a process at this moment. */
export type Port = number

/** Returns the ports in random order. */
const shuffled = (ports: ReadonlyArray<Port>): Array<Port> =>
  ports.map((port) => ({ port, at: Math.random() })).toSorted((one, other) => one.at - other.at).map(({ port }) => port)

const isRefused = (error: Error): boolean => "code" in error && error.code === "ECONNREFUSED"

/** Sends a request to the first of these ports at which a process listens, and its response back. Streams both. */
const forward = (
  request: Http.IncomingMessage,
  response: Http.ServerResponse,
  [port, ...others]: ReadonlyArray<Port>
): void => {
  if (port === undefined) {
    response.writeHead(503, { "retry-after": "1" }).end()
    return
  }
  const { headers, method, url: path } = request
  // A connection of its own for each request: one that is kept can belong to a process that has died, and a request
  // that was sent over it must not be sent again.
  const forwarded = Http.request({ host: "127.0.0.1", port, method, path, headers, agent: false })
  const abandon = () => forwarded.destroy()
  response.once("close", abandon)
  forwarded.on("socket", (socket) => socket.once("connect", () => request.pipe(forwarded)))
  forwarded.on("response", (incoming) => {
    response.writeHead(incoming.statusCode ?? 502, incoming.headers)
    // An event stream that has no event yet has a head.
    response.flushHeaders()
    incoming.on("error", () => response.destroy()).pipe(response)
  })
  forwarded.on("error", (error) => {
    response.off("close", abandon)
    if (isRefused(error)) forward(request, response, others)
    else if (response.headersSent) response.destroy()
    else response.writeHead(502).end()
  })
}

/** Starts a load balancer at a port of this machine, for the processes whose ports the function returns. */
export const listen = (port: Port, livePorts: () => ReadonlyArray<Port>): Promise<Http.Server> =>
  new Promise((resolve, reject) => {
    const server = Http.createServer((request, response) => forward(request, response, shuffled(livePorts())))
    // A client that reads an event stream, or waits for a call, sends nothing for long.
    server.requestTimeout = 0
    server.once("error", reject).listen(port, "127.0.0.1", () => resolve(server))
  })
