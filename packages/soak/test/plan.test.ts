import { assert, describe, it } from "@effect/vitest"
import * as Plan from "../src/plan.ts"
import { subjects } from "../src/subjects.ts"

const plan = (seed: number, sessions = 2000) => Plan.make({ subjects, sessions, rounds: 8, seed })

const summary = (rounds: ReadonlyArray<Plan.Round>) =>
  rounds.map((round) => round.map(({ chance, client, ending, subject }) => [subject.name, ending, client, chance]))

describe("a plan", () => {
  it("depends only on the seed", () => {
    assert.deepStrictEqual(summary(plan(3)), summary(plan(3)))
    assert.notDeepEqual(summary(plan(3)), summary(plan(4)))
  })

  it("starts with every ending of every transport", () => {
    const [first = []] = plan(1, 0)
    assert.deepStrictEqual(
      first.map(({ ending, subject }) => `${subject.name} ${ending}`).toSorted(),
      subjects.flatMap(({ endings, name }) => Object.keys(endings).map((ending) => `${name} ${ending}`)).toSorted()
    )
  })

  it("distributes the other sessions by weight, and evenly among the rounds", () => {
    const weights = subjects.reduce((sum, { weight }) => sum + weight, 0)
    const [, ...others] = plan(1)
    for (const subject of subjects) {
      for (const round of others) {
        const count = round.filter((session) => session.subject === subject).length
        assert.approximately(count, (2000 / 8) * subject.weight / weights, 1)
      }
    }
  })

  it("gives each client a unique name", () => {
    const names = plan(1).flat().map(({ client }) => client)
    assert.strictEqual(new Set(names).size, names.length)
  })
})
