/**
 * Tools for the account of the user. The user signs in on a page, by an elicitation with a URL.
 */
import * as Capabilities from "@effect-mcp/protocol/Capabilities"
import * as Elicitation from "@effect-mcp/protocol/Elicitation"
import * as McpGroup from "@effect-mcp/server/McpGroup"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Account } from "../account.ts"
import * as Hints from "./hints.ts"
import { find, Name, NoSuchNote } from "./notes.ts"

/** The failure of a tool that needs the user to sign in first. */
class SignInRequired extends Schema.TaggedError<SignInRequired>()("SignInRequired", { url: Schema.String }) {
  override get message() {
    return `Visit ${this.url} to sign in, then try again`
  }
}

const AccountTools = McpGroup.make(
  "account",
  Tool.make("sign-in", {
    description: "Asks the user to sign in on a page. The server notifies the client of the visit.",
    success: Schema.String
  }).annotateMerge(Hints.acting).annotate(Tool.Title, "Sign in"),
  Tool.make("publish", {
    description: "Publishes a note. The user must be signed in.",
    parameters: Schema.Struct({ name: Name }),
    success: Schema.String,
    failure: Schema.Union([NoSuchNote, SignInRequired])
  }).annotateMerge(Hints.acting).annotate(Tool.Title, "Publish"),
  Tool.make("sign-out", {
    description: "Signs the user out. Available only while the user is signed in.",
    success: Schema.String
  }).annotateMerge(Hints.acting).annotate(Tool.Title, "Sign out")
)

export const layer = AccountTools.toLayer(Effect.fnUntraced(function*(handlers) {
  const { isSignedIn, page, signOut } = yield* Account
  return handlers
    .tool(
      "sign-in",
      Effect.fnUntraced(function*() {
        if (yield* isSignedIn) return "Already signed in."
        const { action } = yield* RequestContext.elicit(yield* page)
        // A user who accepts has not visited the page yet.
        return action === "accept" ? "Waiting for the page to be visited." : `Not signed in: ${action}.`
      })
    )
    .tool(
      "publish",
      Effect.fnUntraced(function*({ name }) {
        const { profile } = yield* RequestContext.RequestContext
        const note = yield* find(name)
        if (yield* isSignedIn) return `The note “${name}” is published, with ${note.text.length} letters.`
        // A client that supports URLs opens the page, and repeats the call after the user has visited it (ELI-14).
        return yield* Capabilities.declares(profile.capabilities, "elicitation.url")
          ? Elicitation.urlRequired([yield* page])
          : new SignInRequired({ url: (yield* page).url })
      })
    )
    .tool("sign-out", () => Effect.as(signOut, "Signed out."), { visible: isSignedIn })
}))
