/** A server for the agent to start with, as a program over stdio. Remove it when `servers.json` has yours. */
import { McpGroup, McpServer } from "@effect-mcp/server/node"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"

const Notes = McpGroup.make(
  "notes",
  Tool.make("add", {
    description: "Adds a note",
    parameters: Schema.Struct({ text: Schema.NonEmptyString }),
    success: Schema.Struct({ count: Schema.Int })
  }).annotate(Tool.Readonly, false),
  Tool.make("list", {
    description: "Lists all notes",
    success: Schema.Struct({ notes: Schema.Array(Schema.String) })
  }).annotate(Tool.Readonly, true)
)

const NotesLive = Notes.toLayer(Effect.fnUntraced(function*(handlers) {
  const notes = yield* Ref.make<ReadonlyArray<string>>([])
  return handlers
    .tool(
      "add",
      ({ text }) => Ref.updateAndGet(notes, (all) => [...all, text]).pipe(Effect.map((all) => ({ count: all.length })))
    )
    .tool("list", () => Effect.map(Ref.get(notes), (all) => ({ notes: all })))
}))

McpServer.runMainStdio(NotesLive, { info: { name: "notes", version: "1.0.0" } })
