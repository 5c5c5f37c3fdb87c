import type { Server } from "node:http"
import { report } from "./supervised.ts"

/** Listens on a free loopback port, and returns the port. */
export const listen = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      report(port)
      resolve(port)
    })
  })
