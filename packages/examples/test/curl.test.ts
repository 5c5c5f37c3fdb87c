/** Compares the transcripts in `docs/troubleshooting/by-hand.md` with the responses of the calculator. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as http from "node:http"
import * as path from "node:path"
import { promisify } from "node:util"
import * as Calculator from "../src/listeningCalculator.ts"
import * as Child from "./fixtures/child.ts"

/** A command, and the lines that it must print. */
interface Exchange {
  readonly command: string
  readonly expected: ReadonlyArray<string>
}

/** Returns the commands in the blocks of a page that show a console. */
const exchangesIn = (page: string): ReadonlyArray<Exchange> =>
  Array.from(
    page.matchAll(/^```console\n(.*?)^```$/gms),
    ([, block = ""]) =>
      block.replaceAll(/\\\n\s*/g, "").split(/^\$ /m).slice(1).map((text): Exchange => {
        const [command = "", ...expected] = text.trimEnd().split("\n")
        return { command, expected }
      })
  ).flat()

/** Splits a command into words as a shell does: with quotes, and with variables in double quotes. */
const words = (command: string, variables: Readonly<Record<string, string>>): ReadonlyArray<string> =>
  Array.from(
    command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g),
    ([, single, double, bare]) =>
      single ?? double?.replaceAll(/\$(\w+)/g, (_, name: string) => variables[name] ?? "") ?? bare ?? ""
  )

/** The ports of the calculator: for Streamable HTTP and for HTTP+SSE. */
interface Ports {
  readonly http: number
  readonly sse: number
}

/**
 * Sends a request as `curl -si` does, with the options that the page uses. Returns the head, an empty line, and the
 * body. For a stream that does not end, it returns after the first event and leaves the stream open.
 */
const curl = (argumentsOf: ReadonlyArray<string>, ports: Ports) =>
  Effect.callback<ReadonlyArray<string>, Error>((resume) => {
    const headers: Record<string, string> = {}
    let method = "GET"
    let body: string | undefined
    let url = ""
    for (let at = 0; at < argumentsOf.length; at++) {
      const word = argumentsOf[at] ?? ""
      const next = () => argumentsOf[++at] ?? ""
      if (word === "-H") {
        const [name = "", ...value] = next().split(": ")
        headers[name] = value.join(": ")
      } else if (word === "-X") method = next()
      else if (word === "-d") {
        method = "POST"
        body = next()
      } else if (!word.startsWith("-")) url = word
    }
    const { pathname, port } = new URL(url)
    assert.strictEqual(port, "3000")
    const server = pathname === "/mcp" ? ports.http : ports.sse
    const request = http.request(url.replace("3000", String(server)), { method, headers }, (response) => {
      let text = ""
      const finish = () => {
        const head = [
          `HTTP/${response.httpVersion} ${response.statusCode} ${response.statusMessage}`,
          ...Object.entries(response.headers).map(([name, value]) => `${name}: ${value}`)
        ]
        resume(Effect.succeed([...head, "", ...text.split("\n")]))
      }
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk
        if (pathname === "/sse" && text.includes("\n\n")) finish()
      }).on("end", finish)
    })
    request.on("error", (error) => resume(Effect.fail(error))).end(body)
  })

/** Returns the pattern of a line of the page, in which `…` stands for any text. */
const pattern = (line: string): RegExp =>
  new RegExp(
    `^${line.split("…").map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)).join(".*")}\\s*$`
  )

describe("the transcripts of docs/troubleshooting/by-hand.md", () => {
  const page = fs.readFileSync(`${Child.root}/docs/troubleshooting/by-hand.md`, "utf8")
  const exchanges = exchangesIn(page)

  it.live("[HTTP-06] [SHS-03] [SHS-26] [SSE-02] match the responses of the calculator, line by line", () =>
    Effect.gen(function*() {
      const ports = { http: 0, sse: 0 }
      const announce = (url: string) =>
        Effect.sync(() => {
          const { pathname, port } = new URL(url)
          ports[pathname === "/mcp" ? "http" : "sse"] = Number(port)
        })
      yield* Layer.build(Layer.fresh(Calculator.layer({ http: 0, sse: 0 }, announce)))
      const variables: Record<string, string> = {}
      let commands = 0
      for (const { command, expected } of exchanges) {
        if (/^\w+=/.test(command)) continue
        const [program, ...argumentsOf] = words(command, variables)
        assert.strictEqual(program, "curl")
        const output = yield* curl(argumentsOf, ports)
        const [session] = output.flatMap((line) => /^mcp-session-id: (.*)$/.exec(line)?.[1] ?? [])
        if (session !== undefined) variables["SESSION"] = session
        const [endpoint] = output.flatMap((line) => /^data: (\/messages\?.*)$/.exec(line)?.[1] ?? [])
        if (endpoint !== undefined) variables["ENDPOINT"] = endpoint
        let from = 0
        for (const line of expected) {
          const at = output.findIndex((candidate, index) => index >= from && pattern(line).test(candidate))
          assert.isAtLeast(at, from, `${line}\n\nis not in the output of ${command}:\n\n${output.join("\n")}`)
          from = at + 1
        }
        commands++
      }
      assert.strictEqual(commands, 8)
    }).pipe(Effect.scoped))

  it("the server answers the lines for stdio, and exits", { timeout: 60_000 }, async () => {
    const [, command = ""] = /^```sh\n(printf .*?)^```$/ms.exec(page) ?? []
    const node = path.dirname(process.execPath)
    const { stdout } = await promisify(execFile)("sh", ["-c", command], {
      cwd: Child.root,
      env: { ...process.env, PATH: `${node}${path.delimiter}${process.env["PATH"] ?? ""}` }
    })
    const ids = stdout.trim().split("\n").map((line): unknown => JSON.parse(line).id)
    assert.deepStrictEqual(ids, [0, 1, 2])
    assert.include(stdout, "\"text\":\"42\"")
  })
})
