/**
 * A tour of the notebook: the host uses each of its features and checks the results.
 */
import { Elicitation, Tool } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { check } from "../check.ts"
import * as Transcript from "../transcript.ts"
import * as Notifications from "./notifications.ts"
import { User } from "./user.ts"
import * as Workspace from "./workspace.ts"

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((block) => block.type === "text" ? block.text : `[${block.type}]`).join(" ")

const note = "note:///plan"

/** Runs the tour. Returns the session, so that the caller can inspect it after its Layer is released. */
export const tour = Effect.gen(function*() {
  const session = yield* ClientSession.ClientSession
  const { profile } = session

  Transcript.section("tools, resources and prompts")
  Transcript.note(`${profile.info.title ?? profile.info.name}: ${profile.instructions ?? ""}`)
  const tools = yield* Stream.runCollect(session.tools)
  const resources = yield* Stream.runCollect(session.resources)
  const prompts = yield* Stream.runCollect(session.prompts)
  yield* check(
    resources.some(({ uri }) => uri === note),
    `${tools.length} tools, ${resources.length} resources, ${prompts.length} prompts`
  )

  Transcript.section("a prompt")
  const { completion } = yield* session.complete({
    ref: { type: "ref/prompt", name: "summarize" },
    argument: { name: "style", value: "as a h" }
  })
  const [style = ""] = completion.values
  yield* check(style === "as a haiku", `the server completes “as a h” to “${style}”`)
  const { messages } = yield* session.getPrompt("summarize", { note: "plan", style })
  for (const { content } of messages) {
    Transcript.note(content.type === "text" ? content.text : `[${content.type}]`)
  }
  yield* check(messages.length === 2, "two messages: the question and the note")

  Transcript.section("a resource that changes")
  yield* session.subscribeResource(note)
  const written = yield* session.callTool("write", { name: "plan", text: "Walk by the sea." })
  Transcript.note(textOf(written))
  const { params: { uri } } = yield* Notifications.next("notifications/resources/updated")
  const { contents: [changed] } = yield* session.readResource(uri)
  yield* check(uri === note && changed !== undefined && "text" in changed, `${uri} has changed`)
  yield* session.unsubscribeResource(note)

  Transcript.section("the server uses the model")
  const summary = yield* session.callTool("summarize", { name: "plan" }, {
    onProgress: (step) => Effect.sync(() => Transcript.progress(step))
  })
  yield* check(Tool.structuredMembers(summary)["summary"] === "Walk by the sea.", textOf(summary))
  const researched = textOf(yield* session.callTool("research", { question: "Which notes are about the sea?" }))
  yield* check(researched.includes("reading"), researched)

  Transcript.section("the server asks the user")
  const erased = textOf(yield* session.callTool("erase", { name: "weather" }))
  yield* check(
    erased === "The note “weather” was not erased: accept.",
    `${erased} (the form was accepted with the default of “Sure?”: no)`
  )
  const classified = textOf(yield* session.callTool("classify", { name: "colours" }))
  yield* check(classified === "The note “colours” is about: home.", classified)

  Transcript.section("the server sends the user to a page")
  const publish = session.callTool("publish", { name: "plan" })
  const published = yield* publish.pipe(
    Effect.catchReason("RequestError", "ErrorResponse", ({ error }) =>
      Effect.gen(function*() {
        const [page] = Elicitation.requiredUrls(error) ?? []
        if (page === undefined) return yield* error
        Transcript.note(`${error.message}: ${page.message}`)
        const { openUrl } = yield* User
        const { action } = yield* openUrl(page, profile.info.name)
        Transcript.note(`the user's answer: ${action}`)
        const { params } = yield* Notifications.next("notifications/elicitation/complete")
        yield* check(params.elicitationId === page.elicitationId, "the server notifies the client of the visit")
        return yield* publish
      }))
  )
  yield* check(published.isError !== true, textOf(published))

  Transcript.section("the server asks for the roots")
  Transcript.note(textOf(yield* session.callTool("roots")))
  yield* Workspace.setRoots({ uri: "file:///home/ada/notes", name: "notes" })
  const { params } = yield* Notifications.next("notifications/message")
  Transcript.logged(params)
  const roots = textOf(yield* session.callTool("roots"))
  yield* check(roots.includes("file:///home/ada/notes"), roots)

  return session
})
