import * as Effect from "effect/Effect"
import * as Arbitrary from "effect/Arbitrary"
import { arbitrary } from "../../src/internal/eras/Generator.ts"
import * as EraRun from "../../src/internal/eras/EraRun.ts"
import * as Script from "../../src/internal/eras/Script.ts"
const drawn = Effect.runSync(Arbitrary.sampleEffect(arbitrary, { count: 500, size: Number(process.argv[2]), seed: 5 }))
const t = Date.now()
const hist: Record<string, number> = {}; const sizes: Array<number> = []; const ends: Record<string, number> = {}
for (const trial of drawn) {
  const m = EraRun.observeVirtually(trial, "2026-07-28")
  const r = Math.max(...m.journal.runs.values()) - 1
  hist[r] = (hist[r] ?? 0) + 1
  sizes.push(Script.flatten(trial.script).length)
  const e = m.ends[0]!.slice(0, 18); ends[e.startsWith("[") ? "ok" : e] = (ends[e.startsWith("[") ? "ok" : e] ?? 0) + 1
}
console.log(hist, ends, sizes.sort((a,b)=>a-b)[250], sizes.at(-1), Date.now() - t)
