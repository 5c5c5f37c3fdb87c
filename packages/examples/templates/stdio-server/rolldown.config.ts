import { defineConfig } from "rolldown"

export default defineConfig({
  input: "src/server.ts",
  platform: "node",
  output: {
    file: "dist/server.mjs",
    format: "esm",
    // `npx` and shells start the file by this line.
    banner: "#!/usr/bin/env node",
    codeSplitting: false,
    minify: true
  }
})
