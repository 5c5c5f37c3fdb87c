/**
 * The session of a host. It answers every request of a server, except those about tasks, by means of three services: a
 * `Model`, a `User` and a `Workspace`.
 */
import { Revision } from "@effect-mcp/protocol"
import type * as Elicitation from "@effect-mcp/protocol/Elicitation"
import type * as Sampling from "@effect-mcp/protocol/Sampling"
import { ClientRequestContext } from "@effect-mcp/session/ClientRequestContext"
import * as ClientSession from "@effect-mcp/session/ClientSession"
import type * as HandshakeError from "@effect-mcp/session/HandshakeError"
import type { Transport } from "@effect-mcp/session/Transport"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import { Model } from "./model.ts"
import * as Notifications from "./notifications.ts"
import { User } from "./user.ts"
import { Workspace } from "./workspace.ts"

const handlers = {
  "sampling/createMessage": (params: Sampling.CreateMessageParams) =>
    Effect.flatMap(Model, ({ createMessage }) => createMessage(params)),
  "elicitation/create": Effect.fnUntraced(function*(params: Elicitation.ElicitParams) {
    const { profile: { info } } = yield* ClientRequestContext
    const { fillForm, openUrl } = yield* User
    return yield* params.mode === "url" ? openUrl(params, info.name) : fillForm(params, info.name)
  }),
  "roots/list": () => Effect.map(Effect.flatMap(Workspace, Ref.get), (roots) => ({ roots })),
  ...Notifications.handlers
}

const options = {
  // The visit shows the messages of sessions: roots that change, and notifications at any time.
  revisions: Revision.legacy,
  info: { name: "host", title: "Host", version: "0.1.0", description: "Answers every request of a server" },
  // The library derives `sampling`, `elicitation` and `roots` from the handlers, but not these members of them.
  capabilities: {
    sampling: { tools: {} },
    elicitation: { form: {}, url: {} },
    roots: { listChanged: true }
  }
}

/** The session, over any transport. The options replace the default ones. */
export const layer = (
  overrides?: Partial<Omit<ClientSession.Options, "handlers">>
): Layer.Layer<
  ClientSession.ClientSession,
  HandshakeError.HandshakeError,
  Transport | Model | Notifications.Notifications | User | Workspace
> => ClientSession.layer({ ...options, ...overrides, handlers })
