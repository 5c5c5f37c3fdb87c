/** A server over stdio with many tools, as its client lists and calls them. */
import { sumIn } from "../applications/Application.ts"
import { initialize } from "../load.ts"
import { type Server, start } from "../StdioProcess.ts"

export interface ListingServer {
  /** Calls the tool `add`, and checks the sum. */
  readonly add: () => Promise<void>
  /** Lists all tools, page by page, and returns the responses. */
  readonly list: () => Promise<ReadonlyArray<Buffer>>
  readonly notify: (notification: object) => Promise<void>
  readonly stop: () => Promise<void>
}

const beforeCursor = "\"nextCursor\":\""

/** Returns the cursor in a page. Only a search, because parsing a long list takes longer than to send it. */
const cursorIn = (page: Buffer): string | undefined => {
  const at = page.indexOf(beforeCursor)
  if (at < 0) return undefined
  const from = at + beforeCursor.length
  return page.toString("utf8", from, page.indexOf("\"", from))
}

/** Starts a server, and opens its session. */
export const open = async (server: Server): Promise<ListingServer> => {
  const { exchange, send, stop } = start(server)
  await exchange(JSON.stringify(initialize))
  const notify = (notification: object) => send(JSON.stringify({ jsonrpc: "2.0", ...notification }))
  await notify({ method: "notifications/initialized" })
  let ids = 0
  const request = async (method: string, params: string): Promise<Buffer> =>
    Buffer.concat(await exchange(`{"jsonrpc":"2.0","id":${++ids},"method":"${method}","params":${params}}`))
  return {
    add: async () => {
      const answer = await request("tools/call", `{"name":"add","arguments":{"a":${ids},"b":1}}`)
      const { id, result } = JSON.parse(answer.toString())
      if (id !== ids || sumIn(result) !== ids) throw new Error(`wrong result: ${answer.toString()}`)
    },
    list: async () => {
      const pages = [await request("tools/list", "{}")]
      for (let cursor = cursorIn(pages[0] ?? Buffer.alloc(0)); cursor !== undefined;) {
        const page = await request("tools/list", `{"cursor":"${cursor}"}`)
        pages.push(page)
        cursor = cursorIn(page)
      }
      return pages
    },
    notify,
    stop
  }
}

/** Returns the results of pages, and checks the number of their tools. */
export const resultsIn = (pages: ReadonlyArray<Buffer>, tools: number): ReadonlyArray<object> => {
  const results = pages.map((page) => JSON.parse(page.toString()).result)
  const listed = results.reduce((sum, { tools }) => sum + tools.length, 0)
  if (listed !== tools) throw new Error(`${listed} of ${tools} tools are listed`)
  return results
}
