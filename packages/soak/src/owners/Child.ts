/** Processes that listen on a port of HTTP, and requests to them. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import * as http from "node:http"
import { createInterface } from "node:readline"

/** A process that listens. */
export interface Child {
  readonly process: ChildProcess
  readonly port: number
}

/** Starts a program, and waits until it has printed `port PORT`. */
export const start = async (program: string, args: ReadonlyArray<string>): Promise<Child> => {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] })
  for await (const line of createInterface({ input: child.stdout })) {
    const [, port] = /^port (\d+)$/.exec(line) ?? []
    if (port !== undefined) {
      child.stdout.resume()
      return { process: child, port: Number(port) }
    }
  }
  throw new Error(`${program} ended before it listened`)
}

/** Ends a process, and waits for its end. */
export const end = async ({ process: child }: Child, signal: NodeJS.Signals = "SIGKILL"): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, "exit")
  child.kill(signal)
  await ended
}

const agent = new http.Agent({ keepAlive: true })

/** An answer to a request. */
export interface Answer {
  readonly status: number
  readonly text: string
}

/** Sends a request over a kept connection, with a limit for its answer. */
export const get = (port: number, path: string, millis = 30_000): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const request = http.get({ host: "127.0.0.1", port, path, agent, timeout: millis }, (response) => {
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (part: string) => (text += part))
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }))
      response.on("error", reject)
    })
    request.on("timeout", () => request.destroy(new Error(`no answer within ${millis} ms`)))
    request.on("error", reject)
  })
