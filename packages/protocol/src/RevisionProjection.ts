/**
 * The form of each message in each revision. The canonical form of a message is that of the newest revision with a
 * handshake that has it; only the output of a tool is any JSON value, as in 2026-07-28. Another revision is a list of
 * differences from it. Nothing is reordered.
 *
 * The tolerant projection, the default, changes only data that a receiver of the older revision would misread. Content
 * of an unknown type becomes text, several content blocks become one, and members that would change the receiver's
 * behaviour are removed (capabilities, tools for a model, tasks). Other members that were added later stay, because the
 * schemas of all revisions allow additional members, and bridges pass them on. The strict projection removes these too.
 *
 * A message without a form in the older revision stays unchanged, so the peer rejects it instead of misreading it:
 * elicitation by URL, and a form field with several values.
 *
 * @stability unstable
 */
import { trust } from "./internal/trust.ts"
import type { Notifications, Requests } from "./MethodTable.ts"
import { isAtLeast, latest, latestLegacy, type Revision } from "./Revision.ts"

/**
 * The treatment of members that are newer than the revision in use. `"tolerant"` removes those that would change the
 * behaviour of the receiver, `"strict"` removes all of them.
 *
 * @category models
 */
export type Projection = "strict" | "tolerant"

/** The conversion of a value to a revision. `undefined` means that no value needs a conversion. */
type Conversion = ((value: unknown) => unknown) | undefined

/** The conversion for each revision. */
type Difference = (revision: Revision, projection: Projection) => Conversion

type Members = { readonly [name: string]: unknown }

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Removes members. Returns the value itself if it has none of them. */
const without = (value: Members, unwanted: ReadonlySet<string>): Members => {
  const names = Object.keys(value)
  return names.some((name) => unwanted.has(name))
    ? Object.fromEntries(names.filter((name) => !unwanted.has(name)).map((name) => [name, value[name]]))
    : value
}

/** Converts a value for revisions older than `introduced`. */
const before = (introduced: Revision, become: (value: unknown) => unknown): Difference => (revision) =>
  isAtLeast(revision, introduced) ? undefined : become

/** Removes members that were added later than their object and would change the behaviour of an older receiver. */
const removedFor = (introduced: { readonly [name: string]: Revision }): Difference => (revision) => {
  const unknown = new Set(Object.keys(introduced).filter((name) => !isAtLeast(revision, introduced[name] ?? revision)))
  return unknown.size === 0 ? undefined : (value) => isMembers(value) ? without(value, unknown) : value
}

/** Removes members that newer revisions no longer have. `last` has the last revision with each. */
const removedAfter = (last: { readonly [name: string]: Revision }): Difference => (revision) => {
  const unknown = new Set(Object.keys(last).filter((name) => !isAtLeast(last[name] ?? revision, revision)))
  return unknown.size === 0 ? undefined : (value) => isMembers(value) ? without(value, unknown) : value
}

/**
 * Removes members that were added later than their object and that an older receiver skips. Only the strict projection
 * removes them.
 */
const since = (introduced: { readonly [name: string]: Revision }): Difference => {
  const removed = removedFor(introduced)
  return (revision, projection) => projection === "strict" ? removed(revision, projection) : undefined
}

/** Converts one member. */
const member = (name: string, inner: Difference): Difference => (revision, projection) => {
  const convert = inner(revision, projection)
  if (convert === undefined) return undefined
  return (value) => {
    if (!isMembers(value) || !(name in value)) return value
    const projected = convert(value[name])
    return projected === value[name] ? value : { ...value, [name]: projected }
  }
}

/** Converts every element of a list, or a value that is not a list. */
const each = (inner: Difference): Difference => (revision, projection) => {
  const convert = inner(revision, projection)
  if (convert === undefined) return undefined
  return (value) => {
    if (!Array.isArray(value)) return convert(value)
    const projected = value.map((element) => convert(element))
    return projected.some((element, index) => element !== value[index]) ? projected : value
  }
}

/** Converts every member, regardless of its name. */
const values = (inner: Difference): Difference => (revision, projection) => {
  const convert = inner(revision, projection)
  if (convert === undefined) return undefined
  return (value) => {
    if (!isMembers(value)) return value
    const entries = Object.entries(value).map(([name, element]) => [name, convert(element)] as const)
    return entries.some(([name, projected]) => projected !== value[name]) ? Object.fromEntries(entries) : value
  }
}

/** Converts objects of one kind. */
const where = (isKind: (value: Members) => boolean, inner: Difference): Difference => (revision, projection) => {
  const convert = inner(revision, projection)
  return convert === undefined ? undefined : (value) => isMembers(value) && isKind(value) ? convert(value) : value
}

/** Applies several conversions in order. */
const all = (...differences: ReadonlyArray<Difference>): Difference => (revision, projection) => {
  const changes = differences.flatMap((difference) => difference(revision, projection) ?? [])
  if (changes.length <= 1) return changes[0]
  return (value) => changes.reduce((projected, change) => change(projected), value)
}

/**
 * Formats a value as JSON. A value that JSON cannot express becomes a placeholder, so that it does not fail the
 * message.
 */
const json = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? "[not representable as JSON]"
  } catch {
    return "[not representable as JSON]"
  }
}

const textBlock = (text: string) => ({ type: "text", text })

/** Returns a result with the text of its structured content, if it has no content. */
const withText = (result: Members, structuredContent: unknown): Members => {
  const { content } = result
  return Array.isArray(content) && content.length === 0
    ? { ...result, content: [textBlock(json(structuredContent))] }
    : result
}

const outputMember = new Set(["structuredContent"])

/**
 * Removes structured content that is no object, which a receiver of an older revision rejects. Its server sends it as
 * text as well (TOOL-09), so only a result without content gets a text. Null is a result without content.
 */
const objectOutput = before(latest, (result) => {
  if (!isMembers(result)) return result
  const { structuredContent } = result
  if (structuredContent === undefined || isMembers(structuredContent)) return result
  const rest = without(result, outputMember)
  return structuredContent === null ? rest : withText(rest, structuredContent)
})

/** Removes an output schema whose root is no object, which a receiver of an older revision rejects. */
const objectOutputSchema = before(latest, (tool) => {
  if (!isMembers(tool) || !isMembers(tool["outputSchema"]) || tool["outputSchema"]["type"] === "object") return tool
  return without(tool, new Set(["outputSchema"]))
})

/** Returns the text form of a content block. */
const textOf = (block: unknown): string => {
  if (!isMembers(block)) return ""
  const { content, input, isError, mimeType, name, resource, structuredContent, text, type, uri } = block
  switch (type) {
    case "text":
      return String(text)
    case "resource_link":
      return `${String(name)}: ${String(uri)}`
    case "resource":
      return isMembers(resource) ? String(resource["text"] ?? `[resource, ${String(resource["uri"])}]`) : ""
    case "tool_use":
      return `[tool use, ${String(name)}: ${json(input)}]`
    case "tool_result": {
      const texts = Array.isArray(content) ? content.map(textOf) : []
      const isAbsent = structuredContent === undefined || structuredContent === null
      const structured = texts.length === 0 && !isAbsent ? [json(structuredContent)] : []
      return [isError === true ? "[tool result, error]" : "[tool result]", ...texts, ...structured].join("\n")
    }
    default:
      return `[${String(type)}, ${String(mimeType)}]`
  }
}

/** Converts content blocks of these types to text in revisions older than `introduced`. Annotations stay. */
const asText = (introduced: Revision, ...kinds: ReadonlyArray<string>): Difference =>
  where(
    ({ type }) => typeof type === "string" && kinds.includes(type),
    before(introduced, (block) => {
      const { annotations } = isMembers(block) ? block : {}
      return annotations === undefined ? textBlock(textOf(block)) : { ...textBlock(textOf(block)), annotations }
    })
  )

const annotations = since({ lastModified: "2025-06-18" })
const annotated = all(since({ _meta: "2025-06-18" }), member("annotations", annotations))

const implementation = since({
  title: "2025-06-18",
  description: "2025-11-25",
  websiteUrl: "2025-11-25",
  icons: "2025-11-25"
})

const content = all(
  asText("2025-03-26", "audio"),
  asText("2025-06-18", "resource_link"),
  asText("2025-11-25", "tool_use", "tool_result"),
  since({ icons: "2025-11-25" }),
  annotated,
  member("resource", since({ _meta: "2025-06-18" }))
)

/** Content for a model, which may be the result of a tool. */
const sampled = all(content, where(({ type }) => type === "tool_result", objectOutput))

/**
 * Adds a text block to a result that has only structured content, for revisions without structured content (TOOL-09).
 */
const structured = before("2025-06-18", (result) => {
  if (!isMembers(result)) return result
  const { structuredContent } = result
  return structuredContent === undefined ? result : withText(result, structuredContent)
})

const tool = all(
  since({
    title: "2025-06-18",
    outputSchema: "2025-06-18",
    _meta: "2025-06-18",
    annotations: "2025-03-26",
    icons: "2025-11-25"
  }),
  objectOutputSchema,
  // A client could call the tool as a task, or not at all.
  removedFor({ execution: "2025-11-25" }),
  removedAfter({ execution: latestLegacy })
)
const resource = all(since({ title: "2025-06-18", icons: "2025-11-25" }), annotated)
const prompt = all(
  since({ title: "2025-06-18", _meta: "2025-06-18", icons: "2025-11-25" }),
  member("arguments", each(since({ title: "2025-06-18" })))
)

/**
 * Removes an elicitation capability without `form`. In older revisions it would mean that the client supports forms
 * (ELI-02).
 */
const urlElicitationOnly = before("2025-11-25", (capabilities) => {
  const { elicitation } = isMembers(capabilities) ? capabilities : {}
  return isMembers(capabilities) && isMembers(elicitation) && elicitation["url"] !== undefined &&
      elicitation["form"] === undefined
    ? without(capabilities, new Set(["elicitation"]))
    : capabilities
})

// A peer may use any declared capability, in any revision. `context`, `form` and `completions` permit nothing
// that older revisions do not permit without them. Extensions are declared in handshakes of 2025-11-25, too.
const clientCapabilities = all(
  urlElicitationOnly,
  removedFor({ elicitation: "2025-06-18", tasks: "2025-11-25" }),
  since({ extensions: "2025-11-25" }),
  member("sampling", all(removedFor({ tools: "2025-11-25" }), since({ context: "2025-11-25" }))),
  member("elicitation", all(removedFor({ url: "2025-11-25" }), since({ form: "2025-11-25" }))),
  removedAfter({ tasks: latestLegacy }),
  member("roots", removedAfter({ listChanged: latestLegacy }))
)
const serverCapabilities = all(
  removedFor({ tasks: "2025-11-25" }),
  since({ completions: "2025-03-26", extensions: "2025-11-25" }),
  removedAfter({ tasks: latestLegacy })
)

/** Removes `task`: a receiver that supports tasks would respond with a task instead of a result. */
const task = all(removedFor({ task: "2025-11-25" }), removedAfter({ task: latestLegacy }))

type WithBlocks = Members & { readonly content: ReadonlyArray<unknown> }

const hasBlocks = (message: unknown): message is WithBlocks => isMembers(message) && Array.isArray(message["content"])

/** Splits a message with several content blocks into several messages. */
const split = before(
  "2025-11-25",
  (messages) =>
    Array.isArray(messages) && messages.some(hasBlocks)
      ? messages.flatMap((message) =>
        hasBlocks(message) ? message.content.map((content) => ({ ...message, content })) : [message]
      )
      : messages
)

/** Joins the content blocks of a model's response in one text, because a response cannot be split. */
const joined = before(
  "2025-11-25",
  (content) =>
    !Array.isArray(content) ? content : content.length === 1 ? content[0] : textBlock(content.map(textOf).join("\n"))
)

/**
 * Converts titled values, which an older receiver would read as a string field. Only boolean fields always had a
 * default.
 */
const field = where(
  ({ type }) => type === "string" || type === "number" || type === "integer",
  all(
    before("2025-11-25", (choice) => {
      const { oneOf } = isMembers(choice) ? choice : {}
      if (!isMembers(choice) || !Array.isArray(oneOf)) return choice
      const named = oneOf.filter(isMembers)
      return {
        ...without(choice, new Set(["oneOf"])),
        enum: named.map((value) => value["const"]),
        enumNames: named.map((value) => value["title"])
      }
    }),
    since({ default: "2025-11-25" })
  )
)

const form = where(
  ({ mode }) => mode !== "url",
  all(
    since({ mode: "2025-11-25" }),
    task,
    member("requestedSchema", all(since({ $schema: "2025-11-25" }), member("properties", values(field))))
  )
)

interface Parts {
  readonly params?: Difference
  readonly result?: Difference
}

const differences: { readonly [Name in keyof Requests | keyof Notifications]?: Parts } = {
  "initialize": {
    params: all(member("clientInfo", implementation), member("capabilities", clientCapabilities)),
    result: all(member("serverInfo", implementation), member("capabilities", serverCapabilities))
  },
  "tools/list": { result: member("tools", each(tool)) },
  "tools/call": {
    params: task,
    result: all(objectOutput, structured, since({ structuredContent: "2025-06-18" }), member("content", each(content)))
  },
  "tasks/result": { result: objectOutput },
  "resources/list": { result: member("resources", each(resource)) },
  "resources/templates/list": { result: member("resourceTemplates", each(resource)) },
  "resources/read": { result: member("contents", each(since({ _meta: "2025-06-18" }))) },
  "prompts/list": { result: member("prompts", each(prompt)) },
  "prompts/get": { result: member("messages", each(member("content", content))) },
  "completion/complete": {
    params: all(since({ context: "2025-06-18" }), member("ref", since({ title: "2025-06-18" })))
  },
  "sampling/createMessage": {
    params: all(
      // A model with tools responds with tool uses.
      removedFor({ tools: "2025-11-25", toolChoice: "2025-11-25" }),
      member("tools", each(objectOutputSchema)),
      task,
      member("messages", all(split, each(all(since({ _meta: "2025-11-25" }), member("content", each(sampled))))))
    ),
    // Every revision has the `_meta` of a result.
    result: member("content", all(each(sampled), joined))
  },
  // Without a handshake, a question is a part of a result, and a page has no id.
  "elicitation/create": { params: all(form, removedAfter({ elicitationId: latestLegacy, task: latestLegacy })) },
  "server/discover": { result: member("capabilities", serverCapabilities) },
  "roots/list": { result: member("roots", each(since({ _meta: "2025-06-18" }))) },
  "notifications/progress": { params: since({ message: "2025-03-26" }) }
}

/** The conversions of one method, as far as it has any. */
interface Conversions {
  readonly params: Conversion
  readonly result: Conversion
}

/** The methods that a revision converts. A Map, because an extension may name its method `constructor`. */
type Table = ReadonlyMap<string, Conversions>

const tableOf = (revision: Revision, projection: Projection): Table =>
  new Map(
    Object.entries(differences).flatMap(([method, { params, result }]) => {
      const conversions = { params: params?.(revision, projection), result: result?.(revision, projection) }
      return conversions.params === undefined && conversions.result === undefined ? [] : [[method, conversions]]
    })
  )

const tables: { readonly [P in Projection]: Map<Revision, Table> } = { strict: new Map(), tolerant: new Map() }

const methodsOf = (part: keyof Conversions): ReadonlySet<string> =>
  new Set(
    [...tableOf(latestLegacy, "tolerant"), ...tableOf(latestLegacy, "strict")].flatMap(([method, conversions]) =>
      conversions[part] === undefined ? [] : [method]
    )
  )

/** The methods that the newest revision with a handshake converts. Nearly every message is of another one. */
let converted: { readonly [Part in keyof Conversions]-?: ReadonlySet<string> } | undefined

/**
 * Converts the params or the result of a method to the form of a revision. A value that needs no change is returned
 * itself. Other values are copied, never modified. Default of `projection`: `"tolerant"`.
 *
 * @example
 * ```ts
 * import { RevisionProjection } from "@effect-mcp/protocol"
 *
 * const result = { content: [], structuredContent: { sum: 42 } }
 *
 * export const older = RevisionProjection.project("tools/call", "result", "2025-03-26", result)
 * // => { content: [{ type: "text", text: "{\"sum\":42}" }], structuredContent: { sum: 42 } }
 *
 * export const strictly = RevisionProjection.project("tools/call", "result", "2025-03-26", result, "strict")
 * // => { content: [{ type: "text", text: "{\"sum\":42}" }] }
 * ```
 *
 * @category projections
 */
export const project = <A>(
  method: string,
  part: "params" | "result",
  revision: Revision,
  value: A,
  projection: Projection = "tolerant"
): A => {
  if (revision === latestLegacy) {
    converted ??= { params: methodsOf("params"), result: methodsOf("result") }
    if (!converted[part].has(method)) return value
  }
  let table = tables[projection].get(revision)
  if (table === undefined) {
    table = tableOf(revision, projection)
    tables[projection].set(revision, table)
  }
  const change = table.get(method)?.[part]
  // A conversion only removes optional members, or expresses the same in the form of an older revision.
  return change === undefined ? value : trust<A>(change(value))
}
