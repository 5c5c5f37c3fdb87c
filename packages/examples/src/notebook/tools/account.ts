/**
 * Tools for the account of the user. The user signs in on a page, by an elicitation with a URL.
 */
import * as Capabilities from "@effect-mcp/protocol/Capabilities"
import * as Elicitation from "@effect-mcp/protocol/Elicitation"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Tool from "../../tool.ts"
import { Account } from "../account.ts"
import { find, Name } from "./notes.ts"

const openWorld = { readOnlyHint: false, destructiveHint: false, openWorldHint: true }

const signIn = Tool.make("sign-in", {
  title: "Sign in",
  description: "Asks the user to sign in on a page. The server notifies the client of the visit.",
  annotations: openWorld,
  input: Schema.Struct({}),
  run: Effect.fnUntraced(function*() {
    const { isSignedIn, page } = yield* Account
    if (yield* isSignedIn) return "Already signed in."
    const { action } = yield* RequestContext.elicit(yield* page)
    // A user who accepts has not visited the page yet.
    return action === "accept" ? "Waiting for the page to be visited." : `Not signed in: ${action}.`
  })
})

const publish = Tool.make("publish", {
  title: "Publish",
  description: "Publishes a note. The user must be signed in.",
  annotations: openWorld,
  input: Schema.Struct({ name: Name }),
  run: Effect.fnUntraced(function*({ name }) {
    const { isSignedIn, page } = yield* Account
    const { profile } = yield* RequestContext.RequestContext
    const note = yield* find(name)
    if (yield* isSignedIn) return `The note “${name}” is published, with ${note.text.length} letters.`
    // A client that supports URLs opens the page, and repeats the call after the user has visited it (ELI-14).
    return yield* Capabilities.declares(profile.capabilities, "elicitation.url")
      ? Elicitation.urlRequired([yield* page])
      : new Tool.ToolFailure({ message: `Visit ${(yield* page).url} to sign in, then try again` })
  })
})

const signOut = Tool.make("sign-out", {
  title: "Sign out",
  description: "Signs the user out. Available only while the user is signed in.",
  annotations: openWorld,
  input: Schema.Struct({}),
  isOffered: Effect.flatMap(Account, ({ isSignedIn }) => isSignedIn),
  run: () => Effect.as(Effect.flatMap(Account, ({ signOut }) => signOut), "Signed out.")
})

export const tools = [signIn, publish, signOut]
