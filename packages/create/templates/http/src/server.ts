/** The server: the notes over Streamable HTTP, for users with a token. */
import { McpServer } from "@effect-mcp/server"
import { EventStore } from "@effect-mcp/session"
import { StreamableHttpServer } from "@effect-mcp/transport/node"
import * as Layer from "effect/Layer"
import manifest from "../package.json" with { type: "json" }
import { NotesLive } from "./notes.ts"
import { Tokens } from "./Tokens.ts"

export interface Options {
  readonly port: number
  /** The address to listen on. Default: this machine only. */
  readonly hostname?: string
}

/** Returns the server. When it ends, handlers finish, sessions close, and then the port. */
export const layer = (options: Options) =>
  StreamableHttpServer.layerNode(options).pipe(
    Layer.provide(McpServer.layerHost(NotesLive, {
      info: { name: manifest.name, version: manifest.version },
      sessions: { idleTimeout: "30 minutes", maxPerPrincipal: 20 }
    })),
    // Clients that lose their connection resume their streams.
    Layer.provide(EventStore.layerMemory()),
    Layer.provide(Tokens.authentication)
  )
