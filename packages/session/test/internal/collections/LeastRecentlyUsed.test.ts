import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as LeastRecentlyUsed from "../../../src/internal/collections/LeastRecentlyUsed.ts"

const name = Schema.Literals(["a", "b", "c", "d", "__proto__", "toString"])

const Action = Schema.Union([
  Schema.Struct({ _tag: Schema.tag("Get"), name }),
  Schema.Struct({ _tag: Schema.tag("Set"), name, weight: Schema.Literals([0, 1, 2, 3, 4, 5, 6]) }),
  Schema.Struct({ _tag: Schema.tag("Delete"), name }),
  Schema.Struct({ _tag: Schema.tag("Clear") })
])

const actions = Arbitrary.array(Arbitrary.schema(Action), { maxLength: 40 })
const bounds = Arbitrary.schema(Schema.Struct({
  size: Schema.Literals([0, 1, 2, 3, 5]),
  weight: Schema.Literals([0, 3, 5, 10])
}))

/** An entry of the model, which is an array with the newest entry last. */
interface Model {
  readonly name: string
  readonly weight: number
  readonly value: number
}

const weigh = (model: ReadonlyArray<Model>) => model.reduce((sum, { weight }) => sum + weight, 0)

describe("LeastRecentlyUsed", () => {
  it.prop("drops the least recently used entries, and never exceeds its bounds", [actions, bounds], ([
    actions,
    bounds
  ]) => {
    const table = LeastRecentlyUsed.make<number>(bounds)
    let model: ReadonlyArray<Model> = []
    actions.forEach((action, value) => {
      switch (action._tag) {
        case "Get": {
          const found = model.find(({ name }) => name === action.name)
          assert.strictEqual(table.get(action.name), found?.value)
          if (found !== undefined) model = [...model.filter((entry) => entry !== found), found]
          break
        }
        case "Set": {
          const dropped = table.set(action.name, value, action.weight)
          const entry = { name: action.name, weight: action.weight, value }
          const others = model.filter(({ name }) => name !== action.name)
          if (bounds.size === 0 || action.weight > bounds.weight) {
            model = others
            assert.deepStrictEqual(dropped, [action.name])
            break
          }
          const full = [...others, entry]
          const from = full.findIndex((_, start) => {
            const rest = full.slice(start)
            return rest.length <= bounds.size && weigh(rest) <= bounds.weight
          })
          model = full.slice(from)
          assert.deepStrictEqual(dropped, full.slice(0, from).map(({ name }) => name))
          break
        }
        case "Delete":
          table.delete(action.name)
          model = model.filter(({ name }) => name !== action.name)
          break
        case "Clear":
          table.clear()
          model = []
      }
      assert.deepStrictEqual([table.size(), table.weight()], [model.length, weigh(model)])
      assert.isAtMost(table.size(), bounds.size)
      assert.isAtMost(table.weight(), bounds.weight)
    })
    return true
  })
})
