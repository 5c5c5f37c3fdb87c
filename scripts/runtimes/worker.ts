/** The greeter in a worker, and the calls of a worker. */
import * as Effect from "effect/Effect"
import { everywhere } from "./calls.ts"
import { handle } from "./web.ts"

const call = async (parameters: URLSearchParams): Promise<Response> => {
  const client = everywhere[parameters.get("client") ?? ""]
  if (client === undefined) return new Response("no such client", { status: 404 })
  const exit = await Effect.runPromiseExit(
    Effect.scoped(client(parameters.get("http") ?? "", parameters.get("ws") ?? ""))
  )
  return new Response(exit._tag === "Success" ? "yes" : String(exit.cause))
}

export default {
  fetch: (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url)
    return pathname === "/call" ? call(searchParams) : handle(request)
  }
}
