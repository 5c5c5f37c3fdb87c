import { Transport } from "@effect-mcp/session"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Builds a Layer for one session, and returns its transport. */
export const transportOf = <E>(layer: Layer.Layer<Transport.Transport, E>) =>
  Effect.map(Layer.build(Layer.fresh(layer)), (context) => Context.get(context, Transport.Transport))
