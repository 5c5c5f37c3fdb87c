/** The names of packages that a program uses (`scripts/compared/usedNames.ts`). */
import { assert, describe, it } from "@effect/vitest"
import { usedNames } from "../compared/usedNames.ts"

describe("the used names of a program", () => {
  it("are members of imported names, and imported names that are used by themselves", () => {
    const source = `
      import { McpGroup, type Task } from "@effect-mcp/server"
      import * as Effect from "effect/Effect"
      import { createServer } from "node:http"
      import { other } from "./other.ts"
      const Effects = { map: 1 }
      export const group: Task = McpGroup.make("a", Effect.map(Effect.succeed(1), other))
      export const again = Effect.map(Effects.map, createServer)
      export type Some = Effect.Effect<number>
    `
    assert.deepStrictEqual(Array.from(usedNames(source)).toSorted(), [
      "Effect.Effect",
      "Effect.map",
      "Effect.succeed",
      "McpGroup.make",
      "Task"
    ])
  })

  it("are none without imports of packages", () => {
    assert.deepStrictEqual(Array.from(usedNames("import * as fs from \"node:fs\"\nfs.readFileSync(\"a\")")), [])
  })
})
