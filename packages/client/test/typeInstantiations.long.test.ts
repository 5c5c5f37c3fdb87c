/** The work of the compiler for groups with many tools. */
import { assert, describe, it } from "@effect/vitest"
import * as UserProject from "../../../scripts/userProject.ts"

/** Returns a module with a group of tools, and a part that uses each of them. */
const moduleOf = (count: number, part: (numbers: ReadonlyArray<number>) => ReadonlyArray<string>): string => {
  const numbers = Array.from({ length: count }, (_, index) => index)
  return [
    "import type { McpTypedClient } from \"@effect-mcp/client\"",
    "import { McpGroup } from \"@effect-mcp/server\"",
    "import * as Tool from \"effect/ai/Tool\"",
    "import * as Effect from \"effect/Effect\"",
    "import * as Schema from \"effect/Schema\"",
    ...numbers.map((number) =>
      `const Tool${number} = Tool.make("tool${number}", {` +
      ` parameters: Schema.Struct({ text${number}: Schema.String, count: Schema.Int }),` +
      ` success: Schema.Struct({ result${number}: Schema.String }) })`
    ),
    `export const Group = McpGroup.make("group", ${numbers.map((number) => `Tool${number}`).join(", ")})`,
    "export declare const client: McpTypedClient.McpTypedClient<(typeof Group)[\"members\"][number]>",
    "export const nothing = Effect.void",
    ...part(numbers)
  ].join("\n")
}

type Part = readonly [
  name: string,
  /** The largest ratio of the instantiations for 300 tools to those for 100. It is 3 if each tool needs as many. */
  ratio: number,
  lines: (numbers: ReadonlyArray<number>) => ReadonlyArray<string>
]

const parts: ReadonlyArray<Part> = [
  [
    "calls of a typed client",
    3,
    (numbers) =>
      numbers.map((number) =>
        `export const call${number} = Effect.map(client.tools.tool${number}({ text${number}: "", count: 1 }),` +
        ` ({ result${number} }) => result${number}.length)`
      )
  ],
  [
    "the handlers of a group",
    // Each handler is checked against the names that have none yet, so a part of the ratio is that of the squares.
    5.5,
    (numbers) => [
      "export const live = Group.toLayer((handlers) => handlers",
      ...numbers.map((number) =>
        `  .tool("tool${number}", ({ text${number} }) => Effect.succeed({ result${number}: text${number} }))`
      ),
      ")"
    ]
  ]
]

describe("the type instantiations", () => {
  it.for(parts)(
    "of %s for 300 tools are at most %d times those for 100",
    { timeout: 300_000 },
    async ([, ratio, part]) => {
      const project = UserProject.make()
      try {
        const measure = (count: number) => {
          project.write("tools.ts", moduleOf(count, part))
          return project.instantiations(["tools.ts"])
        }
        const few = await measure(100)
        const many = await measure(300)
        assert.isAtMost(many / few, ratio, `${few} for 100 tools, ${many} for 300`)
      } finally {
        project.remove()
      }
    }
  )
})
