import { connect } from "node:net"
import { BodyReader } from "./BodyReader.ts"

/** A persistent connection that reads bodies as bytes, with one exchange at a time. */
export interface RawConnection {
  /** Sends a request of ASCII, and returns the pieces of the response's body. Fails for a status other than 200. */
  readonly exchange: (request: string) => Promise<ReadonlyArray<Buffer>>
  readonly close: () => void
}

/** Connects to a local port. */
export const open = async (port: number): Promise<RawConnection> => {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true })
  let reader = new BodyReader()
  let settle: { readonly resolve: (body: ReadonlyArray<Buffer>) => void; readonly reject: (cause: Error) => void } = {
    resolve: () => {},
    reject: () => {}
  }
  await new Promise<void>((resolve, reject) => {
    settle = { resolve: () => {}, reject }
    socket.once("connect", resolve).on("error", (cause) => settle.reject(cause))
  })
  socket.on("close", () => settle.reject(new Error("the server closed the connection")))
  socket.on("data", (piece: Buffer) => {
    try {
      if (!reader.read(piece)) return
    } catch (cause) {
      return settle.reject(new Error("the response is no HTTP", { cause }))
    }
    const { body, head } = reader
    reader = new BodyReader()
    if (head.startsWith("http/1.1 200 ")) settle.resolve(body)
    else settle.reject(new Error(`unexpected response: ${head}`))
  })
  return {
    exchange: (request) =>
      new Promise((resolve, reject) => {
        settle = { resolve, reject }
        socket.write(request, "latin1")
      }),
    close: () => socket.destroy()
  }
}
