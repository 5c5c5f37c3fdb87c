/** A server over stdio that asks its user before it books. Arguments: the revisions that it serves; default: all. */
import { Revision } from "@effect-mcp/protocol"
import { McpGroup, McpRequest, McpServer } from "@effect-mcp/server/node"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Confirmation = Schema.Struct({ sure: Schema.Boolean })

const Reservations = McpGroup.make(
  "reservations",
  Tool.make("book", {
    description: "Books a journey, after its user has confirmed it.",
    parameters: Schema.Struct({ to: Schema.String }),
    failure: Schema.String,
    success: Schema.String
  })
)

// The same handler serves every revision: it asks, and goes on with the answer.
const layer = Reservations.toLayer((handlers) =>
  handlers.tool("book", ({ to }) =>
    McpRequest.elicit(`Book a journey to ${to}?`, Confirmation).pipe(
      Effect.map(({ sure }) => sure ? `booked a journey to ${to}` : "booked nothing"),
      Effect.catchTag("ElicitationDeclinedError", () => Effect.succeed("booked nothing")),
      Effect.mapError(({ message }) => message)
    ))
)

const [first, ...others] = Revision.supported.filter((revision) => process.argv.slice(2).includes(revision))

McpServer.runMainStdio(layer, {
  info: { name: "reservations", version: "0.1.0" },
  ...(first === undefined ? undefined : { revisions: [first, ...others] as const })
})
