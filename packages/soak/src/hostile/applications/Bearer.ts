/** The authentication of the victims with applications: a bearer token is the name of a principal. */
import { Authentication } from "@effect-mcp/transport"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

/** Returns the header of a principal. */
export const header = (principal: string): string => `Bearer ${principal}`

/** Accepts every token. */
export const layer = Authentication.layerBearer({ verify: (token) => Effect.succeed({ id: Redacted.value(token) }) })
