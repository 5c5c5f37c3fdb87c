/** The server in a worker, and the calls of a worker. */
import server from "../packages/programs/worker.ts"
import { everywhere } from "./calls.ts"

const call = async (parameters: URLSearchParams): Promise<Response> => {
  const client = everywhere[parameters.get("client") ?? ""]
  if (client === undefined) return new Response("no such client", { status: 404 })
  try {
    await client(parameters.get("http") ?? "", parameters.get("ws") ?? "")
    return new Response("yes")
  } catch (error) {
    return new Response(`no: ${String(error)}`)
  }
}

export default {
  fetch: (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url)
    return pathname === "/call" ? call(searchParams) : server.fetch(request)
  }
}
