/** The lists of a proxied server, read with bounds. */

import { ErrorCode, type Prompt, type Resource, type Tool } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import type { ClientSession, RequestError } from "@effect-mcp/session"
import { ListReading } from "@effect-mcp/session/internalEngine"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

type Session = ClientSession.ClientSessionShape

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

/** Reads a list up to its bounds, and logs what is left out. */
const read = <A>(
  name: string,
  members: Stream.Stream<A, RequestError.RequestError>,
  bounds: ListReading.Bounds
): Effect.Effect<ReadonlyArray<A>, RequestError.RequestError> =>
  ListReading.read(Stream.catchIf(members, isAbsent, () => Stream.empty), bounds).pipe(
    Effect.tap(({ members, problem }) =>
      problem === undefined
        ? Effect.void
        : Effect.logWarning(
          `${name} of a proxied server is cut after ${members.length} members: ${Excerpt.line(problem)}`
        )
    ),
    Effect.map(({ members }) => members)
  )

/** Reads the lists of one group, if the server has it. */
export const group = (
  session: Session,
  group: Group,
  bounds: ListReading.Bounds
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
export const all = (session: Session, bounds: ListReading.Bounds): Effect.Effect<Lists, RequestError.RequestError> =>
  Effect.map(
    Effect.forEach(["tools", "prompts", "resources"] as const, (name) => group(session, name, bounds), {
      concurrency: "unbounded"
    }),
    (parts): Lists => ({ tools: [], prompts: [], resources: [], templates: [], ...Object.assign({}, ...parts) })
  )
