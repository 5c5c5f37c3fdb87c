/** A connection of HTTP/1.1 on which a client writes what it likes, and reads when it likes. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as net from "node:net"

export class RawConnection {
  readonly socket: net.Socket
  received = ""
  /** It has ended, or was broken off; seen only while it is read. */
  gone = false

  constructor(port: number) {
    this.socket = net.connect(port, "127.0.0.1")
    this.socket.setEncoding("latin1").on("data", (chunk: string) => {
      this.received += chunk
    })
    this.socket.on("error", () => {}).on("close", () => {
      this.gone = true
    })
  }

  get statuses(): ReadonlyArray<number> {
    return Array.from(this.received.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status]) => Number(status))
  }

  /** Takes nothing any more. */
  stall(): void {
    this.socket.pause()
  }

  write(text: string): void {
    this.socket.write(text, "latin1")
  }
}

/** Connects. What is open when the scope closes is cut. */
export const connectRaw = ({ port }: { readonly port: number }): Effect.Effect<RawConnection, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<RawConnection>((resume) => {
      const connection = new RawConnection(port)
      connection.socket.once("connect", () => resume(Effect.succeed(connection)))
    }),
    ({ socket }) => Effect.sync(() => socket.destroy())
  )

/** The text of a POST with this body, of which less may be sent than is declared. */
export const postText = (
  body: string,
  headers: Readonly<Record<string, string>> = {},
  path = "/mcp"
): string => {
  const all = {
    host: "127.0.0.1",
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...("transfer-encoding" in headers ? undefined : { "content-length": String(Buffer.byteLength(body)) }),
    ...headers
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return [`POST ${path} HTTP/1.1`, ...lines, "", body].join("\r\n")
}
