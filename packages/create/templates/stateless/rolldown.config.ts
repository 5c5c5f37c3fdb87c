/** Bundles the server twice, each time into one file: for Node, and for workers, which have no modules of Node. */
import { defineConfig } from "rolldown"

const output = { format: "esm", codeSplitting: false, minify: true } as const

export default defineConfig([
  { input: "src/main.ts", platform: "node", output: { ...output, file: "dist/server.mjs" } },
  { input: "src/worker.ts", platform: "browser", output: { ...output, file: "dist/worker.js" } }
])
