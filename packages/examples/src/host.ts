/**
 * A client that answers everything a server may ask: it has a model, a user and a workspace of its own. It starts the
 * notebook as its child process, over standard input and output, and goes through it:
 *
 * ```sh
 * node packages/examples/src/host.ts
 * ```
 *
 * The model is a parrot and the user does all that is asked; put others in the places of their Layers.
 */
import { StdioClient } from "@effect-mcp/transport"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { fileURLToPath } from "node:url"
import * as Model from "./host/model.ts"
import * as Notices from "./host/notices.ts"
import * as Session from "./host/session.ts"
import * as User from "./host/user.ts"
import { visit } from "./host/visit.ts"
import * as Workspace from "./host/workspace.ts"
import * as Leftovers from "./leftovers.ts"
import * as Transcript from "./transcript.ts"

const notebook = StdioClient.layerNode({
  command: process.execPath,
  args: [fileURLToPath(import.meta.resolve("./notebook.ts"))],
  stderr: Transcript.serverLog
})

const host = Session.layer({ observe: Transcript.event }).pipe(
  Layer.provide(notebook),
  Layer.provide(Model.parrot),
  Layer.provideMerge(
    Layer.mergeAll(User.obliging, Notices.layer, Workspace.layer({ uri: "file:///home/ada", name: "home" }))
  )
)

Transcript.heading("the host, and the notebook as its child process")
Transcript.section("the handshake")
NodeRuntime.runMain(Leftovers.none(Effect.provide(visit, host)))
