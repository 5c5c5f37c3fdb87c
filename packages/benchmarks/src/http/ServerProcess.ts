import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { Question, State } from "./servers/supervised.ts"

/** A server in a process of its own. */
export interface ServerProcess {
  readonly port: number
  /** Returns the memory and the load of the process. */
  readonly state: (question: Question) => Promise<State>
  readonly stop: () => Promise<void>
}

const compiler = import.meta.resolve("effect/schema/SchemaJITCompiler/enable")

/**
 * Starts a server on a loopback port. It inherits Node's options from this process, so that `node --cpu-prof …`
 * profiles the servers as well.
 */
export const start = async ({ compiled, mode, name, program }: {
  readonly name: string
  readonly program: string
  readonly mode: string
  readonly compiled: boolean
}): Promise<ServerProcess> => {
  const file = fileURLToPath(new URL(`servers/${program}.ts`, import.meta.url))
  const child = fork(file, [mode], {
    execArgv: [...process.execArgv, "--expose-gc", ...(compiled ? ["--import", compiler] : [])]
  })
  const ended = new Promise<never>((_, reject) => {
    child.on("error", reject).on("exit", (code) => reject(new Error(`${name} exited with ${code}`)))
  })
  // Pending requests fail with the exit. Without a pending request, an exit is expected.
  ended.catch(() => {})
  const next = async (): Promise<unknown> => (await Promise.race([once(child, "message"), ended]))[0]
  const port = await next()
  if (typeof port !== "number") throw new Error(`${name} said ${JSON.stringify(port)} instead of its port`)
  const isState = (said: unknown): said is State => typeof said === "object" && said !== null && "busy" in said
  return {
    port,
    state: async (question) => {
      const said = next()
      child.send(question)
      const state = await said
      if (!isState(state)) throw new Error(`${name} said ${JSON.stringify(state)} instead of its state`)
      return state
    },
    stop: async () => {
      const exit = once(child, "exit")
      child.disconnect()
      await exit
    }
  }
}
