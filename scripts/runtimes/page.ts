/** The calls of a page, whose results it posts to its own origin. */
import * as Effect from "effect/Effect"
import { everywhere } from "./calls.ts"

/** The address of the page. The types of this repository know no DOM. */
declare const location: { readonly search: string }

const parameters = new URLSearchParams(location.search)
for (const [name, client] of Object.entries(everywhere)) {
  const exit = await Effect.runPromiseExit(
    Effect.scoped(client(parameters.get("http") ?? "", parameters.get("ws") ?? ""))
  )
  const result = exit._tag === "Success" ? "yes" : String(exit.cause)
  await fetch("/result", { method: "POST", body: JSON.stringify({ name, result }) })
}
await fetch("/result", { method: "POST", body: JSON.stringify({ name: "", result: "" }) })
