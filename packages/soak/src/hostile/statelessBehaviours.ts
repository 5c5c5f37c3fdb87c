/** The attacks of hostile servers of revision 2026-07-28 on their clients. */
import type { Behaviour } from "./Behaviour.ts"
import { MiB } from "./frames.ts"

const discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],` +
  `"capabilities":{"tools":{"listChanged":true}},"ttlMs":1e308,"cacheScope":"public"}`

/** Makes a server that answers `server/discover`, and other requests with these results. */
const stateless = (
  result: (method: string, index: number) => string | undefined,
  others: Omit<Behaviour, "result"> = {}
): Behaviour => ({
  ...others,
  isStateless: true,
  result: (method, index) => method === "server/discover" ? discovered : result(method, index)
})

/** Makes a server that answers each call of a tool with questions. */
const asking = (required: () => string): Behaviour =>
  stateless((method) => method === "tools/call" ? `{"resultType":"input_required",${required()}}` : undefined)

const many = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => item(index)).join(",")

const roots = `{"method":"roots/list"}`
const state = (characters: number): string => `"requestState":"${"s".repeat(characters)}"`

const changed = (id: number): string =>
  `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:${id}",` +
  `"_meta":{"io.modelcontextprotocol/subscriptionId":"${id}"}}}`

/** Behaviours over every transport. */
export const statelessBehaviours: Readonly<Record<string, Behaviour>> = {
  "rounds of 30,000 questions": asking(() => `"inputRequests":{${many(30_000, (index) => `"k${index}":${roots}`)}}`),
  "rounds with states of 4 MB": asking(() => state(4_000_000)),
  "rounds of 200 questions with states of 1 MB": asking(() =>
    `"inputRequests":{${many(200, (index) => `"k${index}":${roots}`)}},${state(MiB)}`
  ),
  "pages for ever, each for a day, with cursors of 60 KB": stateless((method, index) =>
    method === "tools/list"
      ? `{"tools":[],"ttlMs":${index % 2 === 0 ? 0 : 1e308},"nextCursor":"${String(index).padEnd(60_000, "c")}"}`
      : undefined
  ),
  "answers to server/discover with 100,000 revisions": {
    result: (method) =>
      method === "server/discover"
        ? `{"supportedVersions":[${many(100_000, (index) => `"${index}"`)}],"capabilities":{}}`
        : undefined
  }
}

/** Behaviours over transports with one connection for all messages. */
export const connectionBehaviours: Readonly<Record<string, Behaviour>> = {
  "notifications of streams that do not exist": stateless(() => undefined, { endless: changed })
}
