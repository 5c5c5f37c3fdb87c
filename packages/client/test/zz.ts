import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import { problems, programs } from "./support/Restarts.ts"
const r: any = await Effect.runPromise(Arbitrary.checkEffect(programs, (p) => problems(p).length === 0, { runs: Number(process.argv[2]), seed: Number(process.argv[3]), maxShrinks: 3000, size: 30 }))
console.log(r._tag, r.runs)
if (r._tag === "Falsified") console.log(problems(r.shrunkInput).join("\n"), JSON.stringify(r.shrunkInput))
