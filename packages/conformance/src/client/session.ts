/** The client session of a scenario, with its handlers. */
import type * as Elicitation from "@effect-mcp/protocol/Elicitation"
import * as ElicitationContent from "@effect-mcp/protocol/ElicitationContent"
import type * as Revision from "@effect-mcp/protocol/Revision"
import * as ClientSession from "@effect-mcp/session/ClientSession"
import type * as HandshakeError from "@effect-mcp/session/HandshakeError"
import type { Transport } from "@effect-mcp/session/Transport"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Revisions from "../revisions.ts"

/** Fills in a form with its default values. The user confirms what the form asks to confirm. */
const filled = (form: Parameters<typeof ElicitationContent.withDefaults>[0]) => ({
  ...ElicitationContent.withDefaults(form),
  ...("confirmed" in form.properties ? { confirmed: true } : undefined)
})

const handlers = {
  // The user accepts every form, and opens no URLs.
  "elicitation/create": (params: Elicitation.ElicitParams): Effect.Effect<Elicitation.ElicitResult> =>
    Effect.succeed(
      params.mode === "url"
        ? { action: "decline" }
        : { action: "accept", content: filled(params.requestedSchema) }
    )
}

/** Creates a session that requests a revision, and accepts older ones from the server. */
export const layer = (
  requested: Revision.Revision,
  extensions: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {}
): Layer.Layer<ClientSession.ClientSession, HandshakeError.HandshakeError, Transport> =>
  ClientSession.layer({
    info: { name: "effect-mcp-conformance", title: "Conformance", version: "0.1.0" },
    revisions: Revisions.upTo(requested),
    handlers,
    capabilities: { extensions }
  })
