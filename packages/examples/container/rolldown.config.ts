import { defineConfig } from "rolldown"

export default defineConfig({
  input: "src/server.ts",
  platform: "node",
  output: { file: "dist/server.mjs", format: "esm", codeSplitting: false, minify: true }
})
