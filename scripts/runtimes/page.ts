/** The calls of a page, whose results it posts to its own origin. */
import { everywhere } from "./calls.ts"

/** The address of the page. The types of this repository know no DOM. */
declare const location: { readonly search: string }

const parameters = new URLSearchParams(location.search)
const results: Record<string, string> = {}
for (const [name, client] of Object.entries(everywhere)) {
  const [http = "", ws = "", guarded = "", issuer = ""] = parameters.getAll("address")
  results[name] = await client(http, ws, guarded, issuer).then(
    () => "yes",
    (error: unknown) => `no: ${String(error)}`
  )
}
await fetch("/results", { method: "POST", body: JSON.stringify(results) })
