/**
 * The session of a host with a server. It answers every request that a server may send. The answers come from Layers: a
 * `Model`, a `User` and a `Workspace`; the rest of the program does not change with them.
 */
import type * as Elicitation from "@effect-mcp/protocol/Elicitation"
import type * as Sampling from "@effect-mcp/protocol/Sampling"
import { CallbackContext } from "@effect-mcp/session/CallbackContext"
import * as ClientSession from "@effect-mcp/session/ClientSession"
import type * as HandshakeError from "@effect-mcp/session/HandshakeError"
import type { Transport } from "@effect-mcp/session/Transport"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import { Model } from "./model.ts"
import * as Notices from "./notices.ts"
import { User } from "./user.ts"
import { Workspace } from "./workspace.ts"

const handlers = {
  "sampling/createMessage": (question: Sampling.CreateMessageParams) =>
    Effect.flatMap(Model, ({ answer }) => answer(question)),
  "elicitation/create": Effect.fnUntraced(function*(question: Elicitation.ElicitParams) {
    const { profile } = yield* CallbackContext
    const { fill, visit } = yield* User
    return yield* question.mode === "url" ? visit(question, profile.info.name) : fill(question, profile.info.name)
  }),
  "roots/list": () => Effect.map(Effect.flatMap(Workspace, Ref.get), (roots) => ({ roots })),
  ...Notices.handlers
}

const options = {
  info: { name: "host", title: "Host", version: "0.1.0", description: "Answers everything a server may ask" },
  // Capabilities that the handlers do not show: the kinds of elicitation, and that the roots may change.
  capabilities: {
    sampling: { tools: {} },
    elicitation: { form: {}, url: {} },
    roots: { listChanged: true }
  }
}

/** The session. It takes more options, such as the revisions to support. */
export const layer = (
  more?: Partial<Omit<ClientSession.Options, "handlers">>
): Layer.Layer<
  ClientSession.ClientSession,
  HandshakeError.HandshakeError,
  Transport | Model | Notices.Notices | User | Workspace
> => ClientSession.layer({ ...options, ...more, handlers })
