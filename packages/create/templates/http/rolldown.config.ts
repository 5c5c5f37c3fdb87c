/** Bundles the program into one file, which runs without `node_modules`. */
import { defineConfig } from "rolldown"

export default defineConfig({
  input: "src/main.ts",
  platform: "node",
  output: { file: "dist/server.mjs", format: "esm", codeSplitting: false, minify: true }
})
