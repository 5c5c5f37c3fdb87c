/** Targets whose errors do not show secrets of a configuration. */

import { Transport } from "@effect-mcp/session/Transport"
import * as HiddenSecrets from "@effect-mcp/transport/HiddenSecrets"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

type Transports = Layer.Layer<Transport>

/** The members of a target that lead to its server. */
interface Target {
  readonly description: string
  readonly transport: Transports
  readonly withStderr?: (onLine: (line: string) => void) => Transports
}

/**
 * Returns a target whose errors do not show these texts. An error shows the description in place of the address that
 * could not be reached.
 */
export const hide = <T extends Target>(target: T, secrets: ReadonlyArray<string>): T => {
  const { description, transport, withStderr } = target
  const hidden = HiddenSecrets.make(secrets, description)
  const hiding = (layer: Transports): Transports =>
    Layer.provide(Layer.effect(Transport, Effect.map(Transport, hidden.transport)), layer)
  return {
    ...target,
    transport: hiding(transport),
    ...withStderr === undefined ? undefined : {
      withStderr: (onLine: (line: string) => void) => hiding(withStderr((line) => onLine(hidden.text(line))))
    }
  }
}
