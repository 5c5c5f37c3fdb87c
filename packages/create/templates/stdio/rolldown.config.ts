/** Bundles the program into one file, and describes it for hosts that install bundles. */
import { defineConfig } from "rolldown"
import manifest from "./package.json" with { type: "json" }

/** The `manifest.json` of a bundle (`.mcpb`). Add the settings that your server asks its user for as `user_config`. */
const bundle = {
  manifest_version: "0.3",
  name: manifest.name.replace(/^@[^/]*\//, ""),
  version: manifest.version,
  description: manifest.description,
  author: { name: "The author" },
  server: {
    type: "node",
    entry_point: "server.mjs",
    mcp_config: { command: "node", args: ["${__dirname}/server.mjs"] }
  },
  // The server has to list its tools only if a host shall show them before the installation.
  tools_generated: true,
  compatibility: { runtimes: { node: manifest.engines.node } }
}

export default defineConfig({
  input: "src/main.ts",
  platform: "node",
  plugins: [{
    name: "manifest of the bundle",
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "manifest.json", source: JSON.stringify(bundle, null, 2) })
    }
  }],
  output: {
    dir: "dist",
    entryFileNames: "server.mjs",
    format: "esm",
    // `npx` and shells start the file by this line.
    banner: "#!/usr/bin/env node",
    codeSplitting: false,
    minify: true
  }
})
