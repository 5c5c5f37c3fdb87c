import type { Server } from "node:http"
import { report } from "./supervised.ts"

/** Lets it listen on a port of the loopback interface, whichever is free, and says which. */
export const listen = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      report(port)
      resolve(port)
    })
  })
