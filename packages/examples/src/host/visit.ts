/**
 * The visit of the host to the notebook: some of every feature.
 */
import { Elicitation, type Tool } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { check } from "../check.ts"
import * as Transcript from "../transcript.ts"
import * as Notices from "./notices.ts"
import { User } from "./user.ts"
import * as Workspace from "./workspace.ts"

const wordsOf = ({ content }: Tool.CallToolResult): string =>
  content.map((block) => block.type === "text" ? block.text : `[${block.type}]`).join(" ")

const note = "note:///plan"

/** Runs the visit. Returns the session, so that the caller can inspect it after its Layer is released. */
export const visit = Effect.gen(function*() {
  const session = yield* ClientSession.ClientSession
  const { profile } = session

  Transcript.section("what it offers")
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
  yield* check(style === "as a haiku", `“as a h” may become “${style}”`)
  const { messages } = yield* session.getPrompt("summarize", { note: "plan", style })
  for (const { content } of messages) {
    Transcript.note(content.type === "text" ? content.text : `[${content.type}]`)
  }
  yield* check(messages.length === 2, "the question, and the whole note")

  Transcript.section("a resource that changes")
  yield* session.subscribeResource(note)
  const written = yield* session.callTool("write", { name: "plan", text: "Walk by the sea." })
  Transcript.note(wordsOf(written))
  const { params: { uri } } = yield* Notices.next("notifications/resources/updated")
  const { contents: [changed] } = yield* session.readResource(uri)
  yield* check(uri === note && changed !== undefined && "text" in changed, `${uri} has changed`)
  yield* session.unsubscribeResource(note)

  Transcript.section("it asks the model")
  const summary = yield* session.callTool("summarize", { name: "plan" }, {
    onProgress: (step) => Effect.sync(() => Transcript.progress(step))
  })
  yield* check(summary.structuredContent?.["summary"] === "Walk by the sea.", wordsOf(summary))
  const researched = yield* session.callTool("research", { question: "Which notes are about the sea?" })
  yield* check(wordsOf(researched).includes("reading"), wordsOf(researched))

  Transcript.section("it asks the user")
  const erased = wordsOf(yield* session.callTool("erase", { name: "weather" }))
  yield* check(erased === "The note “weather” stays: accept.", `${erased} (by default, one is not sure)`)
  const classified = wordsOf(yield* session.callTool("classify", { name: "colours" }))
  yield* check(classified === "The note “colours” is about: home.", classified)

  Transcript.section("it sends the user to a page")
  const publish = session.callTool("publish", { name: "plan" })
  const published = yield* publish.pipe(
    Effect.catchReason("RequestError", "ErrorResponse", ({ error }) =>
      Effect.gen(function*() {
        const [page] = Elicitation.requiredUrls(error) ?? []
        if (page === undefined) return yield* error
        Transcript.note(`${error.message}: ${page.message}`)
        const { visit } = yield* User
        const { action } = yield* visit(page, profile.info.name)
        Transcript.note(`the user's answer: ${action}`)
        const { params } = yield* Notices.next("notifications/elicitation/complete")
        yield* check(params.elicitationId === page.elicitationId, "the server says that the page was visited")
        return yield* publish
      }))
  )
  yield* check(published.isError !== true, wordsOf(published))

  Transcript.section("it asks where it may work")
  Transcript.note(wordsOf(yield* session.callTool("places")))
  yield* Workspace.move({ uri: "file:///home/ada/notes", name: "notes" })
  const { params } = yield* Notices.next("notifications/message")
  Transcript.logged(params)
  const places = wordsOf(yield* session.callTool("places"))
  yield* check(places.includes("file:///home/ada/notes"), places)

  return session
})
