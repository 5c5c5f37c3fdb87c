import { spawn } from "node:child_process"
import type { MessageConnection } from "./load.ts"
import * as servers from "./servers.ts"

const compiler = import.meta.resolve("effect/schema/SchemaJITCompiler/enable")

/** A server over stdio: a program in `servers`. */
export interface Server {
  readonly name: string
  readonly program: string
  readonly arguments?: ReadonlyArray<string>
  /** Whether the server's process compiles Effect's schemas. */
  readonly compiled?: boolean
}

/** A server in a process of its own, whose standard streams carry the messages. */
export interface StdioProcess {
  /** Reads the output as lines of text, from now on. */
  readonly lines: () => MessageConnection
  /** Sends one line, and returns the bytes of the next line of output in pieces. */
  readonly exchange: (line: string) => Promise<ReadonlyArray<Buffer>>
  /** Sends one line that is not answered. */
  readonly send: (line: string) => Promise<void>
  readonly stop: () => Promise<void>
}

const lineFeed = 10

/** Starts a server. Its output is read either as lines of text or by exchanges. */
export const start = ({ arguments: given = [], compiled, name, program }: Server): StdioProcess => {
  const options = [...process.execArgv, ...(compiled === true ? ["--import", compiler] : [])]
  const child = spawn(process.execPath, [...options, servers.fromBuild(program), ...given], {
    stdio: ["pipe", "pipe", "inherit"]
  })
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve())
  })
  const closed = new Promise<never>((_, reject) => {
    child.on("error", reject).on("exit", (code) => reject(new Error(`${name} exited with ${code}`)))
    child.stdin.on("error", reject)
  })
  // The process exits on request as well.
  closed.catch(() => {})
  return {
    lines: () => {
      let rest = ""
      return {
        write: (messages) => void child.stdin.write(`${messages.join("\n")}\n`),
        subscribe: (receive) => {
          child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
            const lines = (rest + chunk).split("\n")
            rest = lines.pop() ?? ""
            if (lines.length > 0) receive(lines)
          })
        },
        closed
      }
    },
    exchange: (line) => {
      const answer = new Promise<ReadonlyArray<Buffer>>((resolve) => {
        const pieces: Array<Buffer> = []
        const receive = (piece: Buffer) => {
          pieces.push(piece)
          // Only the response is awaited, so that the line feed is the last byte.
          if (piece.at(-1) !== lineFeed) return
          child.stdout.off("data", receive)
          resolve(pieces)
        }
        child.stdout.on("data", receive)
      })
      child.stdin.write(`${line}\n`)
      return Promise.race([answer, closed])
    },
    send: (line) =>
      new Promise((resolve) => {
        child.stdin.write(`${line}\n`, () => resolve())
      }),
    stop: async () => {
      child.stdin.end()
      await exited
    }
  }
}
