/**
 * Tools that need the user to be signed in. Signing in is the browser's matter, not the client's.
 */
import * as Capabilities from "@effect-mcp/protocol/Capabilities"
import * as Elicitation from "@effect-mcp/protocol/Elicitation"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Tool from "../../tool.ts"
import { Account } from "../account.ts"
import { find, Name } from "./writing.ts"

const outward = { readOnlyHint: false, destructiveHint: false, openWorldHint: true }

const signIn = Tool.make("sign-in", {
  title: "Sign in",
  description: "Asks the user to visit a page that signs in. The client is told when that has happened.",
  annotations: outward,
  input: Schema.Struct({}),
  run: Effect.fnUntraced(function*() {
    const { isSignedIn, page } = yield* Account
    if (yield* isSignedIn) return "Signed in already."
    const { action } = yield* RequestContext.elicit(yield* page)
    // To accept is to be willing to go there, no more.
    return action === "accept" ? "Waiting for the page to be visited." : `Not signed in: ${action}.`
  })
})

const publish = Tool.make("publish", {
  title: "Publish",
  description: "Publishes a note. Needs the user to be signed in.",
  annotations: outward,
  input: Schema.Struct({ name: Name }),
  run: Effect.fnUntraced(function*({ name }) {
    const { isSignedIn, page } = yield* Account
    const { profile } = yield* RequestContext.RequestContext
    const note = yield* find(name)
    if (yield* isSignedIn) return `The note “${name}” is published, with ${note.text.length} letters.`
    // A client that knows pages is told which one to visit, and may try again after that (ELI-14).
    return yield* Capabilities.declares(profile.capabilities, "elicitation.url")
      ? Elicitation.urlRequired([yield* page])
      : new Tool.ToolFailure({ message: `Visit ${(yield* page).url} to sign in, then try again` })
  })
})

const signOut = Tool.make("sign-out", {
  title: "Sign out",
  description: "Signs the user out. It is there only while one is signed in.",
  annotations: outward,
  input: Schema.Struct({}),
  isOffered: Effect.flatMap(Account, ({ isSignedIn }) => isSignedIn),
  run: () => Effect.as(Effect.flatMap(Account, ({ signOut }) => signOut), "Signed out.")
})

export const tools = [signIn, publish, signOut]
