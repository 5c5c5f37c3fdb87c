/** Free ports of this machine. */
import { once } from "node:events"
import * as net from "node:net"

/** Returns a port at which nothing listens. */
export const freePort = async (): Promise<number> => {
  const server = net.createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  if (address === null || typeof address === "string") throw new Error("a listener has no port")
  return address.port
}

/** Returns whether something accepts connections at a port. */
export const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1")
    const answer = (isOpen: boolean) => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.on("connect", () => answer(true)).on("error", () => answer(false))
  })
