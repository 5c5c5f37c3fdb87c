/** Workers of workerd, without compatibility with Node. */
import * as path from "node:path"
import * as Tools from "./tools.ts"

/**
 * Serves a module in a worker on the loopback address. Its environment has the bindings. The worker ends after the URL
 * was used.
 */
export const serving = async <A>(
  file: string,
  bindings: Readonly<Record<string, string>>,
  use: (url: URL) => Promise<A>
): Promise<A> => {
  const { Miniflare } = await import(path.join(await Tools.install(Tools.miniflare), "dist", "src", "index.js"))
  const worker = new Miniflare({
    modules: true,
    modulesRoot: path.dirname(file),
    scriptPath: file,
    modulesRules: [{ type: "ESModule", include: ["**/*.js"] }],
    compatibilityDate: "2026-07-01",
    bindings,
    host: "127.0.0.1",
    port: 0
  })
  try {
    const url: URL = await worker.ready
    return await use(url)
  } finally {
    await worker.dispose()
  }
}
