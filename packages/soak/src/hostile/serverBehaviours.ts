/** The attacks of hostile servers on their clients. */
import type { Behaviour } from "./Behaviour.ts"
import * as Frames from "./frames.ts"
import { connectionBehaviours, statelessBehaviours } from "./statelessBehaviours.ts"

const tool = (name: string, outputSchema: string): string =>
  `{"name":"${name}","inputSchema":{"type":"object"},"outputSchema":${outputSchema}}`

const repeated = (times: number, text: string): string => Array.from({ length: times }, () => text).join(",")

const nestedItems = (depth: number): string =>
  depth === 0 ? "{}" : `{"allOf":[${repeated(8, `{"items":${nestedItems(depth - 1)}}`)}]}`

/** Schemas whose validation takes long, each with a value that shows it. */
const slowSchemas: Readonly<Record<string, readonly [schema: string, value: string]>> = {
  pattern: [
    `{"type":"object","properties":{"x":{"type":"string","pattern":"^(a+)+$"}}}`,
    `{"x":"${"a".repeat(60)}!"}`
  ],
  unique: [
    `{"type":"object","properties":{"x":{"type":"array","uniqueItems":true}}}`,
    `{"x":[${Array.from({ length: 20_000 }, (_, index) => `{"a":${index}}`).join(",")}]}`
  ],
  items: [
    `{"type":"object","properties":{"x":${nestedItems(4)}}}`,
    `{"x":[${repeated(40, `[${repeated(40, `[${repeated(20, "[1]")}]`)}]`)}]}`
  ]
}

const names = Object.keys(slowSchemas)

/** Behaviours over every transport. */
const overAnyTransport: Readonly<Record<string, Behaviour>> = {
  "pings with ids of 4 MB, unread": { endless: (index) => Frames.ping(index, 4_000_000), unread: true },
  "pings with ids of 4,000 bytes, unread": { endless: (index) => Frames.ping(index, 4000), unread: true },
  "messages of 4 MB of nested arrays": { endless: () => Frames.log(Frames.nested(4_100_000)), everyMillis: 100 },
  "log messages of 60 KB of nested arrays": { endless: () => Frames.log(Frames.nested(60_000)) },
  "batches of 4.2 MB without a message": {
    revision: "2025-03-26",
    endless: () => Frames.badBatch(4_190_000),
    everyMillis: 100
  },
  "results of 4 MB of nested arrays": {
    result: (method) => method === "tools/call" ? `{"content":[],"x":${Frames.nested(4_000_000)}}` : undefined
  },
  "cursors of 1 MB without end": {
    result: (method, index) =>
      method === "tools/list" ? `{"tools":[],"nextCursor":"${String(index).padEnd(1_000_000, "c")}"}` : undefined
  },
  "output schemas that take long to check": {
    result: (method, index) => {
      if (method === "tools/list") {
        return `{"tools":[${names.map((name) => tool(name, slowSchemas[name]?.[0] ?? "")).join(",")}]}`
      }
      const [, value] = slowSchemas[names[index % names.length] ?? ""] ?? []
      return method === "tools/call" ? `{"content":[],"structuredContent":${value}}` : undefined
    }
  }
}

/** Behaviours over HTTP only. */
const overHttp: Readonly<Record<string, Behaviour>> = {
  "loses its sessions": { http: "lose sessions" },
  "streams that end at once, with retry: 0": { http: "retry" },
  "responses of 1 GiB in 1 MB of gzip": { http: "bomb" },
  "responses that never end": { http: "endless response" },
  "events of 4 million empty lines": { http: "empty lines" },
  "responses in chunks of one byte": { http: "bytewise" }
}

export const behaviours = (transport: string): Readonly<Record<string, Behaviour>> =>
  transport === "http"
    ? { ...overAnyTransport, ...statelessBehaviours, ...overHttp }
    : { ...overAnyTransport, ...statelessBehaviours, ...connectionBehaviours }

/** Returns the usual result of a request. */
export const usualResult = (method: string, revision: string): string => {
  switch (method) {
    case "initialize":
      return `{"protocolVersion":"${revision}","capabilities":{"tools":{},"logging":{}},` +
        `"serverInfo":{"name":"hostile","version":"1.0.0"}}`
    case "tools/list":
      return `{"tools":[${tool("x", `{"type":"object"}`)}]}`
    case "tools/call":
      return `{"content":[],"structuredContent":{}}`
    default:
      return "{}"
  }
}
