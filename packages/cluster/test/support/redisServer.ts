/** A Redis of its own for a test that stops it: the installed program, in a folder that is deleted. */
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = net.createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/** Waits until a port accepts connections. */
const opened = async (port: number): Promise<void> => {
  for (let attempt = 0; attempt < 200; attempt++) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = net.connect({ host: "127.0.0.1", port })
      socket.once("connect", () => {
        socket.destroy()
        resolve(true)
      })
      socket.once("error", () => resolve(false))
    })
    if (isOpen) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`redis-server does not listen at port ${port}`)
}

/** A server that can be stopped and started again with its data. */
export interface Server {
  readonly port: number
  /** Sends a signal to the server, and waits for its end if the signal ends it. */
  readonly signal: (signal: "SIGCONT" | "SIGKILL" | "SIGSTOP") => Effect.Effect<void>
  readonly start: Effect.Effect<void>
  /** Deletes what the server has stored. */
  readonly forget: Effect.Effect<void>
}

/** Starts a server that stores each write before it confirms it. */
export const startServer = Effect.gen(function*() {
  const port = yield* Effect.promise(freePort)
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "effect-mcp-redis-"))),
    (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
  )
  let running: ChildProcess | undefined
  const end = (child: ChildProcess) =>
    new Promise<void>((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve()
      child.once("exit", () => resolve())
      child.kill("SIGKILL")
    })
  const start = Effect.promise(() => {
    const settings = { port, bind: "127.0.0.1", dir: folder, save: "", appendonly: "yes", appendfsync: "always" }
    const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
    running = spawn("redis-server", options, { stdio: "ignore" })
    return opened(port)
  })
  const server: Server = {
    port,
    signal: (signal) =>
      Effect.promise(async () => {
        if (running === undefined) return
        if (signal === "SIGKILL") await end(running)
        else running.kill(signal)
      }),
    start,
    forget: Effect.sync(() => fs.rmSync(path.join(folder, "appendonlydir"), { recursive: true, force: true }))
  }
  yield* Effect.acquireRelease(start, () => server.signal("SIGKILL"))
  return server
})
