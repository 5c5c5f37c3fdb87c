import { Transport } from "@effect-mcp/session"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The transport of a Layer, built for one session only. */
export const transportOf = <E>(layer: Layer.Layer<Transport.Transport, E>) =>
  Effect.map(Layer.build(Layer.fresh(layer)), (context) => Context.get(context, Transport.Transport))
