/** A server of groups for both eras. Argument: the number of tools. */
import { McpGroup } from "@effect-mcp/server"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { mode } from "../tools.ts"
import { description, parameters, serve, success } from "./groups.ts"

const names = Array.from({ length: Number(mode) }, (_, index) => index === 0 ? "add" : `add_${index}`)

const groups = names.map((name) =>
  McpGroup.make(name, Tool.make(name, { description, parameters, success })).toLayer((handlers) =>
    handlers.tool(name, ({ a, b }) => Effect.succeed({ sum: a + b }))
  )
)

// One flat merge, because hundreds of nested ones exceed the stack.
serve(Layer.mergeAll(Layer.empty, ...groups))
