/**
 * The members and the union variants of each revision, taken from the specification's schema of that revision. The
 * revision knows no other member, except where its schema accepts any value.
 */
import { Revision } from "@effect-mcp/protocol"
import type { NotificationName, RequestName } from "./table.ts"
import { isMembers } from "./wire.ts"

/** The reader of a message: its revision, and whether it skips unknown members. */
interface Reader {
  readonly revision: Revision.Revision
  readonly skips: boolean
}

/** Returns the problems of a value: members and variants that the reader's revision does not have. */
type Shape = (value: unknown, reader: Reader, at: string) => ReadonlyArray<string>

/** Any JSON value, or a value whose type other tests check. */
const anything: Shape = () => []

const list = (item: Shape): Shape => (value, reader, at) =>
  Array.isArray(value)
    ? value.flatMap((element, index) => item(element, reader, `${at}[${index}]`))
    : [`${at} is not a list`]

const record = (item: Shape): Shape => (value, reader, at) =>
  isMembers(value)
    ? Object.entries(value).flatMap(([name, element]) => item(element, reader, `${at}.${name}`))
    : [`${at} is not an object`]

type Members = { readonly [name: string]: Shape }

/**
 * An object, with its members by the revision that introduced them. `effective` members change the behaviour of a peer.
 * A reader that skips unknown members must not receive them either, because it may know them from a newer revision.
 */
const object = (
  layers: { readonly [R in Revision.Revision]?: Members },
  effective: ReadonlyArray<string> = []
): Shape =>
(value, reader, at) => {
  if (!isMembers(value)) return [`${at} is not an object`]
  const known = new Map(
    Revision.legacy.filter((since) => Revision.isAtLeast(reader.revision, since))
      .flatMap((since) => Object.entries(layers[since] ?? {}))
  )
  return Object.entries(value).flatMap(([name, member]) =>
    known.get(name)?.(member, reader, `${at}.${name}`) ??
      (reader.skips && !effective.includes(name) ? [] : [`${at}.${name} is unknown`])
  )
}

type Kinds = { readonly [tag: string]: readonly [since: Revision.Revision, shape: Shape] }

/** A union of objects, distinguished by a member. */
const kinds = (tag: string, known: Kinds): Shape => (value, reader, at) => {
  const name = isMembers(value) ? value[tag] : undefined
  const kind = typeof name === "string" ? new Map(Object.entries(known)).get(name) : undefined
  return kind !== undefined && Revision.isAtLeast(reader.revision, kind[0])
    ? kind[1](value, reader, at)
    : [`${at} is of an unknown kind`]
}

/** One shape before a revision, and another one from the revision on. */
const from = (since: Revision.Revision, earlier: Shape, later: Shape): Shape => (value, reader, at) =>
  Revision.isAtLeast(reader.revision, since) ? later(value, reader, at) : earlier(value, reader, at)

const either = (one: Shape, several: Shape): Shape => (value, reader, at) =>
  Array.isArray(value) ? several(value, reader, at) : one(value, reader, at)

// =====================================================================================================================
// Parts of messages
// =====================================================================================================================

/** A capability without members. */
const declared = record(anything)
/** The schema of 2025-11-25 does not name this member. The official packages have it in handshakes of that revision. */
const extensions = record(declared)
const listed = object({ "2024-11-05": { listChanged: anything } })

const icons = list(object({ "2025-11-25": { src: anything, mimeType: anything, sizes: anything, theme: anything } }))

const implementation = object({
  "2024-11-05": { name: anything, version: anything },
  "2025-06-18": { title: anything },
  "2025-11-25": { description: anything, websiteUrl: anything, icons }
})

const clientCapabilities = object({
  "2024-11-05": {
    experimental: record(declared),
    roots: listed,
    sampling: object({ "2025-11-25": { context: declared, tools: declared } }, ["tools"])
  },
  "2025-06-18": { elicitation: object({ "2025-11-25": { form: declared, url: declared } }, ["url"]) },
  "2025-11-25": {
    extensions,
    tasks: object({
      "2025-11-25": {
        list: declared,
        cancel: declared,
        requests: object({
          "2025-11-25": {
            sampling: object({ "2025-11-25": { createMessage: declared } }),
            elicitation: object({ "2025-11-25": { create: declared } })
          }
        })
      }
    })
  }
}, ["elicitation", "tasks"])

const serverCapabilities = object({
  "2024-11-05": {
    experimental: record(declared),
    logging: declared,
    prompts: listed,
    resources: object({ "2024-11-05": { subscribe: anything, listChanged: anything } }),
    tools: listed
  },
  "2025-03-26": { completions: declared },
  "2025-11-25": {
    extensions,
    tasks: object({
      "2025-11-25": {
        list: declared,
        cancel: declared,
        requests: object({ "2025-11-25": { tools: object({ "2025-11-25": { call: declared } }) } })
      }
    })
  }
}, ["tasks"])

const annotations = object({
  "2024-11-05": { audience: anything, priority: anything },
  "2025-06-18": { lastModified: anything }
})

const resourceMembers = { name: anything, description: anything, mimeType: anything, annotations }
const resourceMembersSince = {
  "2025-06-18": { title: anything, _meta: anything },
  "2025-11-25": { icons }
}

const resource = object({
  "2024-11-05": { ...resourceMembers, uri: anything, size: anything },
  ...resourceMembersSince
})
const resourceTemplate = object({
  "2024-11-05": { ...resourceMembers, uriTemplate: anything },
  ...resourceMembersSince
})
const resourceContents = object({
  "2024-11-05": { uri: anything, mimeType: anything, text: anything, blob: anything },
  "2025-06-18": { _meta: anything }
})

const meta = { _meta: anything }

const text = object({ "2024-11-05": { type: anything, text: anything, annotations }, "2025-06-18": meta })
const media = object({
  "2024-11-05": { type: anything, data: anything, mimeType: anything, annotations },
  "2025-06-18": meta
})

const content = kinds("type", {
  text: ["2024-11-05", text],
  image: ["2024-11-05", media],
  resource: [
    "2024-11-05",
    object({ "2024-11-05": { type: anything, resource: resourceContents, annotations }, "2025-06-18": meta })
  ],
  audio: ["2025-03-26", media],
  resource_link: [
    "2025-06-18",
    object({
      "2025-06-18": {
        ...resourceMembers,
        type: anything,
        uri: anything,
        size: anything,
        title: anything,
        _meta: anything
      },
      "2025-11-25": { icons }
    })
  ]
})

const samplingContent = kinds("type", {
  text: ["2024-11-05", text],
  image: ["2024-11-05", media],
  audio: ["2025-03-26", media],
  tool_use: [
    "2025-11-25",
    object({ "2025-11-25": { type: anything, id: anything, name: anything, input: anything, _meta: anything } })
  ],
  tool_result: [
    "2025-11-25",
    object({
      "2025-11-25": {
        type: anything,
        toolUseId: anything,
        content: list(content),
        structuredContent: anything,
        isError: anything,
        _meta: anything
      }
    })
  ]
})

const samplingContents = from("2025-11-25", samplingContent, either(samplingContent, list(samplingContent)))

const tool = object({
  // A JSON Schema may have any keyword.
  "2024-11-05": { name: anything, description: anything, inputSchema: record(anything) },
  "2025-03-26": {
    annotations: object({
      "2025-03-26": {
        title: anything,
        readOnlyHint: anything,
        destructiveHint: anything,
        idempotentHint: anything,
        openWorldHint: anything
      }
    })
  },
  "2025-06-18": { title: anything, outputSchema: record(anything), _meta: anything },
  "2025-11-25": { execution: object({ "2025-11-25": { taskSupport: anything } }), icons }
})

const prompt = object({
  "2024-11-05": {
    name: anything,
    description: anything,
    arguments: list(
      object({
        "2024-11-05": { name: anything, description: anything, required: anything },
        "2025-06-18": { title: anything }
      })
    )
  },
  "2025-06-18": { title: anything, _meta: anything },
  "2025-11-25": { icons }
})

const taskMembers = {
  taskId: anything,
  status: anything,
  statusMessage: anything,
  createdAt: anything,
  lastUpdatedAt: anything,
  ttl: anything,
  pollInterval: anything
}

const titledValue = object({ "2025-11-25": { const: anything, title: anything } })
const number = object({
  "2025-06-18": { type: anything, title: anything, description: anything, minimum: anything, maximum: anything },
  "2025-11-25": { default: anything }
})

const field = kinds("type", {
  string: [
    "2025-06-18",
    object({
      "2025-06-18": {
        type: anything,
        title: anything,
        description: anything,
        minLength: anything,
        maxLength: anything,
        format: anything,
        enum: anything,
        enumNames: anything
      },
      "2025-11-25": { default: anything, oneOf: list(titledValue) }
    }, ["oneOf"])
  ],
  number: ["2025-06-18", number],
  integer: ["2025-06-18", number],
  boolean: [
    "2025-06-18",
    object({ "2025-06-18": { type: anything, title: anything, description: anything, default: anything } })
  ],
  array: [
    "2025-11-25",
    object({
      "2025-11-25": {
        type: anything,
        title: anything,
        description: anything,
        minItems: anything,
        maxItems: anything,
        items: object({ "2025-11-25": { type: anything, enum: anything, anyOf: list(titledValue) } }),
        default: anything
      }
    })
  ]
})

// =====================================================================================================================
// Params and results
// =====================================================================================================================

/** Members that stand beside the metadata, which all params and results have had from the first. */
const params = (
  layers: { readonly [R in Revision.Revision]?: Members },
  effective?: ReadonlyArray<string>
): Shape => object({ ...layers, "2024-11-05": { ...layers["2024-11-05"], ...meta } }, effective)

const none = params({})
const page = params({ "2024-11-05": { cursor: anything } })
const pageOf = (name: string, item: Shape) => params({ "2024-11-05": { [name]: list(item), nextCursor: anything } })
const uri = params({ "2024-11-05": { uri: anything } })
const taskId = params({ "2025-11-25": { taskId: anything } })
const aTask = params({ "2025-11-25": taskMembers })
const taskMetadata = object({ "2025-11-25": { ttl: anything } })

interface RequestShapes {
  readonly params: Shape
  readonly result: Shape
}

const requests: { readonly [Name in RequestName]: RequestShapes } = {
  "initialize": {
    params: params({
      "2024-11-05": { protocolVersion: anything, capabilities: clientCapabilities, clientInfo: implementation }
    }),
    result: params({
      "2024-11-05": {
        protocolVersion: anything,
        capabilities: serverCapabilities,
        serverInfo: implementation,
        instructions: anything
      }
    })
  },
  "ping": { params: none, result: none },
  "tools/list": { params: page, result: pageOf("tools", tool) },
  "tools/call": {
    params: params({ "2024-11-05": { name: anything, arguments: anything }, "2025-11-25": { task: taskMetadata } }, [
      "task"
    ]),
    result: params({
      "2024-11-05": { content: list(content), isError: anything },
      "2025-06-18": { structuredContent: anything }
    })
  },
  "resources/list": { params: page, result: pageOf("resources", resource) },
  "resources/templates/list": { params: page, result: pageOf("resourceTemplates", resourceTemplate) },
  "resources/read": { params: uri, result: params({ "2024-11-05": { contents: list(resourceContents) } }) },
  "resources/subscribe": { params: uri, result: none },
  "resources/unsubscribe": { params: uri, result: none },
  "prompts/list": { params: page, result: pageOf("prompts", prompt) },
  "prompts/get": {
    params: params({ "2024-11-05": { name: anything, arguments: anything } }),
    result: params({
      "2024-11-05": { description: anything, messages: list(object({ "2024-11-05": { role: anything, content } })) }
    })
  },
  "completion/complete": {
    params: params({
      "2024-11-05": {
        ref: kinds("type", {
          "ref/prompt": [
            "2024-11-05",
            object({ "2024-11-05": { type: anything, name: anything }, "2025-06-18": { title: anything } })
          ],
          "ref/resource": ["2024-11-05", object({ "2024-11-05": { type: anything, uri: anything } })]
        }),
        argument: object({ "2024-11-05": { name: anything, value: anything } })
      },
      "2025-06-18": { context: object({ "2025-06-18": { arguments: anything } }) }
    }),
    result: params({
      "2024-11-05": { completion: object({ "2024-11-05": { values: anything, total: anything, hasMore: anything } }) }
    })
  },
  "logging/setLevel": { params: params({ "2024-11-05": { level: anything } }), result: none },
  "sampling/createMessage": {
    params: params({
      "2024-11-05": {
        messages: list(object({ "2024-11-05": { role: anything, content: samplingContents }, "2025-11-25": meta })),
        modelPreferences: object({
          "2024-11-05": {
            hints: list(object({ "2024-11-05": { name: anything } })),
            costPriority: anything,
            speedPriority: anything,
            intelligencePriority: anything
          }
        }),
        systemPrompt: anything,
        includeContext: anything,
        temperature: anything,
        maxTokens: anything,
        stopSequences: anything,
        metadata: anything
      },
      "2025-11-25": {
        tools: list(tool),
        toolChoice: object({ "2025-11-25": { mode: anything } }),
        task: taskMetadata
      }
    }, ["tools", "toolChoice", "task"]),
    result: params({
      "2024-11-05": { role: anything, content: samplingContents, model: anything, stopReason: anything }
    })
  },
  "elicitation/create": {
    params: params({
      "2025-06-18": {
        message: anything,
        requestedSchema: object({
          "2025-06-18": { type: anything, properties: record(field), required: anything },
          "2025-11-25": { $schema: anything }
        })
      },
      "2025-11-25": { mode: anything, elicitationId: anything, url: anything, task: taskMetadata }
    }, ["elicitationId", "url", "task"]),
    result: params({
      "2025-06-18": {
        action: anything,
        content: record(from("2025-11-25", (value, _, at) => Array.isArray(value) ? [`${at} is a list`] : [], anything))
      }
    })
  },
  "roots/list": {
    params: none,
    result: params({
      "2024-11-05": { roots: list(object({ "2024-11-05": { uri: anything, name: anything }, "2025-06-18": meta })) }
    })
  },
  "tasks/get": { params: taskId, result: aTask },
  "tasks/result": { params: taskId, result: record(anything) },
  "tasks/list": {
    params: page,
    result: params({ "2025-11-25": { tasks: list(object({ "2025-11-25": taskMembers })), nextCursor: anything } })
  },
  "tasks/cancel": { params: taskId, result: aTask }
}

const notifications: { readonly [Name in NotificationName]: { readonly params: Shape } } = {
  "notifications/initialized": { params: none },
  "notifications/cancelled": { params: params({ "2024-11-05": { requestId: anything, reason: anything } }) },
  "notifications/progress": {
    params: params({
      "2024-11-05": { progressToken: anything, progress: anything, total: anything },
      "2025-03-26": { message: anything }
    })
  },
  "notifications/roots/list_changed": { params: none },
  "notifications/message": { params: params({ "2024-11-05": { level: anything, logger: anything, data: anything } }) },
  "notifications/resources/updated": { params: uri },
  "notifications/resources/list_changed": { params: none },
  "notifications/tools/list_changed": { params: none },
  "notifications/prompts/list_changed": { params: none },
  "notifications/elicitation/complete": { params: params({ "2025-11-25": { elicitationId: anything } }) },
  "notifications/tasks/status": { params: aTask }
}

const shapes: { readonly [name: string]: { readonly params: Shape; readonly result?: Shape } } = {
  ...requests,
  ...notifications
}

const problems = (
  reader: Reader,
  method: string,
  part: "params" | "result",
  value: unknown
): ReadonlyArray<string> => shapes[method]?.[part]?.(value, reader, part) ?? [`${method} has no ${part}`]

/** Returns the members in the params or the result of a method that a revision does not have. */
export const unknownTo = (
  revision: Revision.Revision,
  method: string,
  part: "params" | "result",
  value: unknown
): ReadonlyArray<string> => problems({ revision, skips: false }, method, part, value)

/**
 * Returns the members in the params or the result of a method that a reader of a revision would misread, although it
 * skips unknown members.
 */
export const misreadBy = (
  revision: Revision.Revision,
  method: string,
  part: "params" | "result",
  value: unknown
): ReadonlyArray<string> => problems({ revision, skips: true }, method, part, value)
