/** A raw HTTP/1.1 connection, on which a test writes any bytes and decides when it reads. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as net from "node:net"

export class RawConnection {
  readonly socket: net.Socket
  received = ""
  /** Whether it has ended or broken. This is observed only while the connection is read. */
  isClosed = false

  constructor(port: number) {
    this.socket = net.connect(port, "127.0.0.1")
    this.socket.setEncoding("latin1").on("data", (chunk: string) => {
      this.received += chunk
    })
    this.socket.on("error", () => {}).on("close", () => {
      this.isClosed = true
    })
  }

  get statuses(): ReadonlyArray<number> {
    return Array.from(this.received.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status]) => Number(status))
  }

  /** Stops reading. */
  stall(): void {
    this.socket.pause()
  }

  write(text: string): void {
    this.socket.write(text, "latin1")
  }
}

/** Connects. Closing the scope destroys the connection. */
export const connectRaw = ({ port }: { readonly port: number }): Effect.Effect<RawConnection, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<RawConnection>((resume) => {
      const connection = new RawConnection(port)
      connection.socket.once("connect", () => resume(Effect.succeed(connection)))
    }),
    ({ socket }) => Effect.sync(() => socket.destroy())
  )

/** Returns the text of a POST. `headers` may declare a longer body than this one. */
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
