import * as Effect from "effect/Effect"
import * as Search from "../../src/internal/eras/Search.ts"
const t=Date.now()
const found = await Effect.runPromise(Search.run({ runs: Number(process.argv[2] ?? 100), seed: process.argv[3] ?? "1" }))
console.log(found === undefined ? "none" : Search.describe(found), Date.now()-t)
process.exit()
