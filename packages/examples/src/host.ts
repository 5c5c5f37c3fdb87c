/**
 * A client that answers every request of a server, except those about tasks: it has a model, a user and roots. It
 * starts the notebook (`notebook.ts`) as a child process over stdio, and uses each of its features:
 *
 * ```sh
 * node packages/examples/src/host.ts
 * ```
 *
 * The model repeats its last message and the user accepts everything. A real client replaces their Layers.
 */
import { StdioClient } from "@effect-mcp/transport/node"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { fileURLToPath } from "node:url"
import * as Model from "./host/model.ts"
import * as Notifications from "./host/notifications.ts"
import * as Session from "./host/session.ts"
import { tour } from "./host/tour.ts"
import * as User from "./host/user.ts"
import * as Workspace from "./host/workspace.ts"
import * as Leaks from "./leaks.ts"
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
    Layer.mergeAll(User.accepting, Notifications.layer, Workspace.layer({ uri: "file:///home/ada", name: "home" }))
  )
)

Transcript.heading("the host, and the notebook as its child process")
Transcript.section("the handshake")
NodeRuntime.runMain(Leaks.checkNone(Effect.provide(tour, host)))
