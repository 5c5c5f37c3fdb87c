/** Reverse proxies that run here with configurations from the documentation. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { freePort } from "../freePort.ts"
import { read } from "../workspace.ts"

/** A proxy: the language of its block in the page, its program, and the arguments that run it in the foreground. */
export interface Proxy {
  readonly language: string
  readonly command: string
  readonly args: (configuration: string, folder: string) => ReadonlyArray<string>
}

/** The error of a proxy that does not do what the documentation says. */
export class ProxyFault extends Data.TaggedError("ProxyFault")<{ readonly proxy: string; readonly problem: string }> {
  override get message(): string {
    return `${this.proxy}: ${this.problem}`
  }
}

/** Returns whether the program of a proxy is in `PATH`. */
export const isInstalled = ({ command }: Proxy): boolean => spawnSync("which", [command]).status === 0

/** Returns the configuration of a proxy: the block of a page in its language. */
const configurationOf = (page: string, { language }: Proxy): string => {
  const [, block] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(read(page)) ?? []
  if (block === undefined) throw new Error(`${page} has no block in ${language}`)
  return block
}

const isListening = (port: number): Effect.Effect<void, string> =>
  Effect.callback<void, string>((resume) => {
    const socket = net.connect(port, "127.0.0.1")
    socket.once("connect", () => resume(Effect.void)).once("error", ({ message }) => resume(Effect.fail(message)))
    return Effect.sync(() => socket.destroy())
  })

const stop = (child: ChildProcess): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
    process.kill(-child.pid, "SIGKILL")
  })

/**
 * Runs a proxy with the configuration of a page while the scope is open. It gets these ports instead of 3000 and 3001,
 * and a free one instead of 8080, which is returned.
 */
export const start = Effect.fnUntraced(function*(
  page: string,
  proxy: Proxy,
  ports: readonly [first: number, second: number]
) {
  const port = yield* freePort
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "proxy-"))),
    (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
  )
  const configuration = path.join(folder, "configuration")
  const text = configurationOf(page, proxy)
    .replaceAll("8080", String(port))
    .replaceAll("3000", String(ports[0]))
    .replaceAll("3001", String(ports[1]))
  fs.writeFileSync(configuration, text)
  const log: Array<string> = []
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(proxy.command, proxy.args(configuration, folder), {
        // A process group of its own, because worker processes of some proxies outlive the process that is killed.
        detached: true,
        stdio: ["ignore", "ignore", "pipe"],
        env: { ...process.env, MODULES: "/usr/lib/apache2/modules", HOME: folder }
      })
      child.stderr.setEncoding("utf8").on("data", (text: string) => log.push(text))
      return child
    }),
    stop
  )
  yield* isListening(port).pipe(
    Effect.retry(Schedule.max([Schedule.spaced("50 millis"), Schedule.recurs(100)])),
    Effect.mapError((problem) =>
      new ProxyFault({ proxy: proxy.command, problem: `does not listen: ${problem}\n${log.join("")}` })
    )
  )
  return port
})
