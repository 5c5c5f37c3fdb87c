/** The lists of a proxied server, read with bounds. */

import { ErrorCode, type Prompt, type Resource, type Tool } from "@effect-mcp/protocol"
import type { ClientSession, RequestError } from "@effect-mcp/session"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"

type Session = ClientSession.ClientSessionShape

/** The bounds of one list. */
export interface Bounds {
  readonly maxMembers: number
  readonly maxCharacters: number
  readonly listTimeout: Duration.Input
}

/** The definitions of a proxied server. */
export interface Lists {
  readonly tools: ReadonlyArray<Tool.Tool>
  readonly prompts: ReadonlyArray<Prompt.Prompt>
  readonly resources: ReadonlyArray<Resource.Resource>
  readonly templates: ReadonlyArray<Resource.ResourceTemplate>
}

/** The lists that one notification of the server is about. */
export type Group = "tools" | "prompts" | "resources"

type Part = Partial<Lists>

/** Returns whether the server has no such list, although it has the capability: many have no templates. */
const isAbsent = ({ reason }: RequestError.RequestError): boolean =>
  reason._tag === "ErrorResponse" && reason.error.code === ErrorCode.MethodNotFound

/**
 * Reads a list. A server that breaks the rules of pages, or whose list does not end within the bounds, has the members
 * that arrived until then.
 */
const read = Effect.fnUntraced(function*<A>(
  name: string,
  members: Stream.Stream<A, RequestError.RequestError>,
  { listTimeout, maxCharacters, maxMembers }: Bounds
): Effect.fn.Return<ReadonlyArray<A>, RequestError.RequestError> {
  const items: Array<A> = []
  let characters = 0
  let problem: string | undefined
  const finished = yield* Stream.runForEachWhile(members, (item) =>
    Effect.sync(() => {
      characters += JSON.stringify(item).length
      if (items.length >= maxMembers) problem = `it has more than ${maxMembers} members; set maxMembers to read more`
      if (characters > maxCharacters) {
        problem = `it has more than ${maxCharacters} characters; set maxCharacters to read more`
      }
      if (problem !== undefined) return false
      items.push(item)
      return true
    })).pipe(
      Effect.catchIf(
        ({ reason }) => reason._tag === "InvalidResult" && items.length > 0,
        ({ message }) => Effect.sync(() => void (problem = message))
      ),
      Effect.catchIf(isAbsent, () => Effect.void),
      Effect.timeoutOption(listTimeout)
    )
  if (Option.isNone(finished)) problem = "it did not end in time; set listTimeout to allow more"
  if (problem !== undefined) {
    yield* Effect.logWarning(`${name} of a proxied server is cut after ${items.length} members: ${problem}`)
  }
  return items
})

/** Reads the lists of one group, if the server has it. */
export const group = (
  session: Session,
  group: Group,
  bounds: Bounds
): Effect.Effect<Part, RequestError.RequestError> => {
  const { capabilities } = session.profile
  switch (group) {
    case "tools":
      return capabilities.tools === undefined
        ? Effect.succeed({ tools: [] })
        : Effect.map(read("tools/list", session.tools, bounds), (tools) => ({ tools }))
    case "prompts":
      return capabilities.prompts === undefined
        ? Effect.succeed({ prompts: [] })
        : Effect.map(read("prompts/list", session.prompts, bounds), (prompts) => ({ prompts }))
    case "resources":
      return capabilities.resources === undefined
        ? Effect.succeed({ resources: [], templates: [] })
        : Effect.all({
          resources: read("resources/list", session.resources, bounds),
          templates: read("resources/templates/list", session.resourceTemplates, bounds)
        }, { concurrency: "unbounded" })
  }
}

/** Reads all lists of a server. */
export const all = (session: Session, bounds: Bounds): Effect.Effect<Lists, RequestError.RequestError> =>
  Effect.map(
    Effect.forEach(["tools", "prompts", "resources"] as const, (name) => group(session, name, bounds), {
      concurrency: "unbounded"
    }),
    (parts): Lists => ({ tools: [], prompts: [], resources: [], templates: [], ...Object.assign({}, ...parts) })
  )
