/** The server in a worker, and the calls of a worker. */
import * as protectedWorker from "../packages/programs/protectedWorker.ts"
import server from "../packages/programs/worker.ts"
import { everywhere } from "./calls.ts"

const call = async (parameters: URLSearchParams): Promise<Response> => {
  const client = everywhere[parameters.get("client") ?? ""]
  if (client === undefined) return new Response("no such client", { status: 404 })
  try {
    const [http = "", ws = "", guarded = "", issuer = ""] = parameters.getAll("address")
    await client(http, ws, guarded, issuer)
    return new Response("yes")
  } catch (error) {
    return new Response(`no: ${String(error)}`)
  }
}

let handler: ReturnType<typeof protectedWorker.handlerOf> | undefined

export default {
  fetch: (request: Request, { ISSUER }: { readonly ISSUER: string }): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === "/call") return call(searchParams)
    if (pathname === "/mcp") return server.fetch(request)
    handler ??= protectedWorker.handlerOf(ISSUER)
    return handler(request)
  }
}
