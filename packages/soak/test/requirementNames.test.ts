/** The ids of requirements in the names of tests, as the end of each run checks them. */
import { assert, describe, it } from "@effect/vitest"
import { readMutants } from "../../../scripts/requirements/Mutant.ts"
import { faultsOfNamedTests, idsIn } from "../../../scripts/requirements/names.ts"

const file = "packages/session/test/example.test.ts"

// Assembled here, because the check reads this file as well.
const unknown = ["CAN", "99"].join("-")

describe("the names of tests", () => {
  it("carry ids in brackets, each once", () => {
    assert.deepStrictEqual(idsIn("[CAN-04] law 2: [PING-01] and [CAN-04] in UTF-8"), ["CAN-04", "PING-01"])
  })

  it("are faults with unknown ids, ids without brackets, and ids of rules that have no test", async () => {
    assert.deepStrictEqual(await faultsOfNamedTests([{ file, name: "[CAN-04] law 2" }]), [])
    const faults = await faultsOfNamedTests([
      { file, name: `[${unknown}] a` },
      { file, name: "CAN-04 b" },
      { file, name: `[CAN-04] [${unknown}] c` }
    ])
    assert.deepStrictEqual(faults, [
      `${file} "[${unknown}] a": scripts/requirements.tsv has no rule ${unknown}`,
      `${file} "CAN-04 b": write CAN-04 in brackets`,
      `${file} "[CAN-04] [${unknown}] c": scripts/requirements.tsv has no rule ${unknown}`
    ])
  })

  it("contain the test of each mutant of their file, with the id of its rule", async () => {
    const mutants = await readMutants()
    const [first] = mutants
    assert.isDefined(first)
    if (first === undefined) return
    const names = mutants.filter(({ test }) => test === first.test).map(({ id, name }) => `[${id}] ${name}`)
    const inFile = (some: ReadonlyArray<string>) => faultsOfNamedTests(some.map((name) => ({ file: first.test, name })))
    assert.notInclude((await inFile(names)).join("\n"), "has no test named")
    assert.include((await inFile(["another test"])).join("\n"), `${first.test} has no test named "${first.name}"`)
    assert.include((await inFile([first.name.replaceAll(/\[.*?\] /g, "")])).join("\n"), "does not carry the id")
  })
})
