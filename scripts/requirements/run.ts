/**
 * Runs the tests of mutants: each test must pass without its mutant, and fail with it.
 */
import { availableParallelism } from "node:os"
import * as path from "node:path"
import { chapterOf } from "../requirement.ts"
import { sampleOf } from "../sample.ts"
import { changed } from "../sourceChange.ts"
import { type Mutant, readMutants } from "./Mutant.ts"
import type { Outcome } from "./Outcome.ts"
import { makeScratch, type Scratch } from "./Scratch.ts"

/** The selection of the mutants that run. */
export interface Selection {
  /** Ids of rules; all rules if empty. */
  readonly only: ReadonlyArray<string>
  /** Chapters; all chapters if empty. */
  readonly chapters: ReadonlyArray<string>
  /** The size of a sample, which the seed selects. */
  readonly sample: number | undefined
  readonly seed: string
}

/** The verdict on a mutant. */
interface Verdict {
  readonly word: "found" | "FAULT"
  readonly detail: string
}

/**
 * The time limit of one test, in milliseconds: in general, and for a mutant that is known to make its test hang.
 */
const testTimeout = 20_000
const testTimeoutOfHanging = 3000

/** The time limit of a run, in milliseconds: with one mutant, and without mutants. */
const runTimeout = 60_000
const allTimeout = 600_000

const isTimeout = (message: string): boolean => /^(?:Error: )?Test timed out in /.test(message)

const patternOf = ({ name }: Mutant): string => name.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)

/** Returns the tests of a mutant among those that ran. */
const testsOf = ({ name, test }: Mutant, outcome: Outcome) =>
  outcome.tests.filter((one) => one.file.endsWith(`/${test}`) && one.name.includes(name))

const select = (mutants: ReadonlyArray<Mutant>, { chapters, only, sample, seed }: Selection): ReadonlyArray<Mutant> => {
  const chosen = mutants.filter(({ id }) =>
    (only.length === 0 || only.includes(id)) && (chapters.length === 0 || chapters.includes(chapterOf(id)))
  )
  return sample === undefined
    ? chosen
    : sampleOf(chosen, { size: sample, seed, keyOf: ({ broken, id }) => `${id} ${broken}` })
}

/** Runs the tests without mutants, and returns the reasons for failures by mutant. */
const faultsWithout = async (
  mutants: ReadonlyArray<Mutant>,
  scratch: Scratch
): Promise<ReadonlyMap<Mutant, string>> => {
  const outcome = await scratch.run({
    files: Array.from(new Set(mutants.map(({ test }) => test))),
    pattern: Array.from(new Set(mutants.map(patternOf))).join("|"),
    testTimeout,
    timeout: allTimeout
  })
  const faultOf = (mutant: Mutant): string | undefined => {
    if (outcome === undefined) return "the tests do not end without mutants"
    const tests = testsOf(mutant, outcome)
    if (tests.length === 0) {
      return `no test ran without the mutant: ${outcome.errors.join("; ") || "no test has this name"}`
    }
    const failed = tests.find(({ passed }) => !passed)
    return failed === undefined ? undefined : `its test fails without the mutant: ${failed.message}`
  }
  const faults = new Map<Mutant, string>()
  for (const mutant of mutants) {
    const fault = faultOf(mutant)
    if (fault !== undefined) faults.set(mutant, fault)
  }
  return faults
}

const judge = (mutant: Mutant, outcome: Outcome | undefined): Verdict => {
  const fault = (detail: string): Verdict => ({ word: "FAULT", detail })
  const hung = (detail: string): Verdict =>
    mutant.hangs === true
      ? { word: "found", detail }
      : fault(`${detail}; set hangs: true in its row, or change the mutant`)
  if (outcome === undefined) return hung("the run did not end")
  const tests = testsOf(mutant, outcome)
  if (tests.length === 0) return fault(`no test ran: ${outcome.errors.join("; ")}`)
  const failed = tests.filter(({ passed }) => !passed)
  const invalid = failed.find(({ message }) => / is not defined$|^Cannot find module/.test(message))
  if (invalid !== undefined) return fault(`the mutant is not a valid program: ${invalid.message}`)
  const asserted = failed.find(({ message }) => !isTimeout(message))
  if (asserted !== undefined) return { word: "found", detail: asserted.message }
  return failed.length > 0 ? hung("the test timed out") : fault("the test passes with the mutant")
}

const runMutant = async (mutant: Mutant, scratch: Scratch): Promise<Verdict> => {
  const source = changed(mutant)
  if ("fault" in source) return { word: "FAULT", detail: source.fault }
  scratch.write(source.file, source.text)
  try {
    return judge(
      mutant,
      await scratch.run({
        files: [mutant.test],
        pattern: patternOf(mutant),
        testTimeout: mutant.hangs === true ? testTimeoutOfHanging : testTimeout,
        timeout: runTimeout
      })
    )
  } finally {
    scratch.restore(source.file)
  }
}

const short = (text: string): string => text.length > 110 ? `${text.slice(0, 109)}…` : text

const lineOf = ({ at, id, name, test }: Mutant, { detail, word }: Verdict, millis: number): string => {
  const where = `${at}  ${path.posix.basename(test)} "${name}"`
  return `${word}  ${id.padEnd(8)}${(millis / 1000).toFixed(1).padStart(5)} s  ${where}\n${" ".repeat(7)}${
    short(detail)
  }`
}

/** Runs the selected mutants, prints a line for each, and returns the number of faults. */
export const runMutants = async (selection: Selection): Promise<number> => {
  const began = performance.now()
  const all = await readMutants()
  const mutants = select(all, selection)
  if (mutants.length === 0) {
    console.log("no mutant matches --only and --chapter")
    return 1
  }
  const sampled = selection.sample === undefined ? "" : `, a sample by --seed ${selection.seed}`
  console.log(`${mutants.length} of ${all.length} mutants${sampled}`)

  const scratches = Array.from({ length: Math.min(availableParallelism(), mutants.length) }, makeScratch)
  const counts = { found: 0, FAULT: 0 }
  try {
    const [first] = scratches
    const without = first === undefined ? new Map<Mutant, string>() : await faultsWithout(mutants, first)
    const waiting = mutants.values()
    await Promise.all(scratches.map(async (scratch) => {
      for (const mutant of waiting) {
        const start = performance.now()
        const fault = without.get(mutant)
        const verdict: Verdict = fault === undefined
          ? await runMutant(mutant, scratch)
          : { word: "FAULT", detail: fault }
        counts[verdict.word]++
        console.log(lineOf(mutant, verdict, performance.now() - start))
      }
    }))
  } finally {
    for (const scratch of scratches) scratch.remove()
  }

  const seconds = Math.round((performance.now() - began) / 1000)
  console.log(`${counts.found} mutants found, ${counts.FAULT} faults, ${seconds} s`)
  return counts.FAULT
}
