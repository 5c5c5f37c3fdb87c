/** The behaviours of hostile servers that a gateway proxies. */
import type { Behaviour } from "../Behaviour.ts"
import * as Frames from "../frames.ts"
import { forgedLine } from "../VictimLog.ts"

/** Lines that look like those of the gateway's own log, with escape sequences of terminals. */
const lines = (bytes: number): string => `x\n${forgedLine}\u001b[2J`.repeat(Math.ceil(bytes / 40))

const linesOf64Kb = JSON.stringify(lines(65_536))

const linesOf1Mb = JSON.stringify(lines(Frames.MiB))

const many = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => item(index)).join(",")

const tool = (name: string, description = ""): string =>
  `{"name":${JSON.stringify(name)},"description":${JSON.stringify(description)},"inputSchema":{"type":"object"}}`

const listChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

/** Makes a server with this list of tools, which may be a page. */
const listing = (list: (index: number) => string, others: Behaviour = {}): Behaviour => ({
  ...others,
  result: (method, index) => method === "tools/list" ? list(index) : undefined
})

const overAnyTransport: Readonly<Record<string, Behaviour>> = {
  "log messages of 64 KB of lines and escapes": { endless: () => Frames.log(linesOf64Kb) },
  "log messages of 60 KB of nested arrays": { endless: () => Frames.log(Frames.nested(60_000)) },
  "responses to no request, with ids of 1 MB of lines and escapes": {
    endless: () => `{"jsonrpc":"2.0","id":${linesOf1Mb},"result":{}}`
  },
  "results that are none, with 64 KB of lines and escapes": {
    result: (method) => method === "tools/call" ? `{"content":${linesOf64Kb}}` : undefined
  },
  "lists of 10,000 tools, which change without end": listing(
    () => `{"tools":[${tool("x")},${many(10_000, (index) => tool(`tool-${index}`, "d".repeat(250)))}]}`,
    { endless: () => listChanged, everyMillis: 10 }
  ),
  "lists of tools with names of lines and escapes, which change without end": listing(
    () => `{"tools":[${tool("x")},${many(500, (index) => tool(`${index}${lines(4000)}`))}]}`,
    { endless: () => listChanged, everyMillis: 10 }
  ),
  "pages of 200 tools without end": listing((index) =>
    `{"tools":[${tool("x")},${many(200, (one) => tool(`tool-${index}-${one}`, "d".repeat(1000)))}],` +
    `"nextCursor":"c${index}"}`
  ),
  "progress without end": {
    progress: (token, index) =>
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":${index},` +
      `"message":${linesOf64Kb}}}`
  },
  "questions of 60 KB of nested arrays": {
    endless: (index) =>
      `{"jsonrpc":"2.0","id":"q${index}","method":"elicitation/create","params":{"message":"Continue?",` +
      `"requestedSchema":{"type":"object","properties":{}},"_meta":{"x":${Frames.nested(60_000)}}}}`
  }
}

const overStdio: Readonly<Record<string, Behaviour>> = {
  "lines on standard error without end": { standardError: lines(65_536) },
  "standard error without a newline": { standardError: "x".repeat(65_536) }
}

export const proxiedBehaviours = (transport: string): Readonly<Record<string, Behaviour>> =>
  transport === "stdio" ? { ...overAnyTransport, ...overStdio } : overAnyTransport
