/**
 * Serves the built site on the loopback address: `pnpm docs:preview`, and `--port 4173` for another port. The preview
 * of VitePress listens on every address of a machine.
 */
import * as fs from "node:fs"
import * as http from "node:http"
import * as path from "node:path"
import { parseArgs } from "node:util"
import { createGzip } from "node:zlib"
import { site } from "../../../scripts/addresses.ts"
import { orExit, wholeNumber } from "../../../scripts/commandLine.ts"
import { output } from "./places.ts"

const port = orExit(() => {
  const { values } = parseArgs({ options: { port: { type: "string", default: "4173" } } })
  return wholeNumber("port", values.port)
})

const base = new URL(site).pathname

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".md": "text/markdown; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8"
}

/** Returns the file of an address below the base. Pages have no extension in their addresses. */
const fileOf = (address: string): string | undefined =>
  [address, `${address}.html`, path.join(address, "index.html")]
    .map((file) => path.join(output, file))
    .find((file) => file.startsWith(output) && fs.statSync(file, { throwIfNoEntry: false })?.isFile() === true)

const server = http.createServer((request, response) => {
  const { pathname } = new URL(request.url ?? "/", "http://127.0.0.1")
  if (!pathname.startsWith(base)) {
    response.writeHead(302, { location: base }).end()
    return
  }
  const found = fileOf(decodeURIComponent(pathname.slice(base.length)))
  const file = found ?? path.join(output, "404.html")
  const zips = /\bgzip\b/.test(request.headers["accept-encoding"] ?? "")
  response.writeHead(found === undefined ? 404 : 200, {
    "content-type": types[path.extname(file)] ?? "application/octet-stream",
    ...zips ? { "content-encoding": "gzip" } : {}
  })
  const content = fs.createReadStream(file)
  if (zips) content.pipe(createGzip()).pipe(response)
  else content.pipe(response)
})

if (fs.existsSync(path.join(output, "index.html"))) {
  server.listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}${base}`))
} else {
  console.error("there is no built site; run pnpm docs:build first")
  process.exitCode = 1
}
