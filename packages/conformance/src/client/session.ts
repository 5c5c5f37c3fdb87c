/**
 * The client's side of a scenario: who it is, and what it answers.
 */
import type * as Elicitation from "@effect-mcp/protocol/Elicitation"
import * as ElicitationContent from "@effect-mcp/protocol/ElicitationContent"
import type * as Revision from "@effect-mcp/protocol/Revision"
import * as ClientSession from "@effect-mcp/session/ClientSession"
import type * as HandshakeError from "@effect-mcp/session/HandshakeError"
import type { Transport } from "@effect-mcp/session/Transport"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Revisions from "../revisions.ts"

const handlers = {
  // Its user accepts every form as it stands, and visits no pages.
  "elicitation/create": (question: Elicitation.ElicitParams): Effect.Effect<Elicitation.ElicitResult> =>
    Effect.succeed(
      question.mode === "url"
        ? { action: "decline" }
        : { action: "accept", content: ElicitationContent.withDefaults(question.requestedSchema) }
    )
}

/** A session that offers this revision, and takes an older one where the server knows no newer. */
export const layer = (
  offered: Revision.Revision
): Layer.Layer<ClientSession.ClientSession, HandshakeError.HandshakeError, Transport> =>
  ClientSession.layer({
    info: { name: "effect-mcp-conformance", title: "Conformance", version: "0.1.0" },
    revisions: Revisions.upTo(offered),
    handlers
  })
