/** The call of a client over any transport. */
import { ClientSession, type Transport } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const info = { name: "page", version: "1.0.0" }

/** Returns the content of the greeting. */
export const over = (transport: Layer.Layer<Transport.Transport>, name: string): Promise<unknown> =>
  Effect.gen(function*() {
    const session = yield* ClientSession.ClientSession
    const { content } = yield* session.callTool("greet", { name })
    return content
  }).pipe(Effect.provide(Layer.provide(ClientSession.layer({ info }), transport)), Effect.runPromise)
