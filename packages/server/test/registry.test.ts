import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { ToolEntry } from "../src/internal/registry/Entry.ts"
import { Registry } from "../src/internal/registry/Registry.ts"

const tool = (group: string, name: string): ToolEntry => ({
  kind: "tool",
  group,
  name,
  definition: { name, inputSchema: { type: "object" } },
  call: () => Effect.never
})

it.effect("replacing members by some that cannot be added changes nothing", () =>
  Effect.gen(function*() {
    const registry = new Registry()
    const changed = () => Effect.void
    const register = (group: string, ...names: ReadonlyArray<string>) =>
      registry.register({ group, entries: names.map((name) => tool(group, name)), visible: undefined }, changed)
    yield* register("other", "taken")
    const { replace } = yield* register("one", "a", "b")
    const exit = yield* Effect.exit(replace(["a", "taken"].map((name) => tool("one", name))))
    assert.isTrue(Exit.isFailure(exit))
    assert.deepStrictEqual(registry.tools.sorted.map(({ name }) => name), ["a", "b", "taken"])
    yield* replace([tool("one", "c")])
    assert.deepStrictEqual(registry.tools.sorted.map(({ name }) => name), ["c", "taken"])
  }).pipe(Effect.scoped))
