/**
 * What the objects of each revision are made of, taken from the specification's schema of that revision: which members came
 * with which revision, and which kinds a union has. Beyond it a revision knows nothing, save where it takes anything.
 */
import { type Methods, Revision } from "@effect-mcp/protocol"
import { isMembers } from "./wire.ts"

/** Where a value holds what its revision does not have. */
export type Shape = (value: unknown, revision: Revision.Revision, at: string) => ReadonlyArray<string>

/** Any JSON value, or one whose type other tests look at. */
const any: Shape = () => []

const list = (item: Shape): Shape => (value, revision, at) =>
  Array.isArray(value)
    ? value.flatMap((element, index) => item(element, revision, `${at}[${index}]`))
    : [`${at} is no list`]

const record = (item: Shape): Shape => (value, revision, at) =>
  isMembers(value)
    ? Object.entries(value).flatMap(([name, element]) => item(element, revision, `${at}.${name}`))
    : [`${at} is no object`]

type Members = { readonly [name: string]: Shape }

/** An object, by the revisions that brought its members. */
const object = (layers: { readonly [R in Revision.Revision]?: Members }): Shape => (value, revision, at) => {
  if (!isMembers(value)) return [`${at} is no object`]
  const known = new Map(
    Revision.supported.filter((since) => Revision.isAtLeast(revision, since))
      .flatMap((since) => Object.entries(layers[since] ?? {}))
  )
  return Object.entries(value).flatMap(([name, member]) =>
    known.get(name)?.(member, revision, `${at}.${name}`) ?? [`${at}.${name} is unknown`]
  )
}

type Kinds = { readonly [tag: string]: readonly [since: Revision.Revision, shape: Shape] }

/** One of several kinds of object, told apart by a member. */
const kinds = (tag: string, known: Kinds): Shape => (value, revision, at) => {
  const name = isMembers(value) ? value[tag] : undefined
  const kind = typeof name === "string" ? new Map(Object.entries(known)).get(name) : undefined
  return kind !== undefined && Revision.isAtLeast(revision, kind[0])
    ? kind[1](value, revision, at)
    : [`${at} is of an unknown kind`]
}

/** One shape before a revision, another from it on. */
const from = (since: Revision.Revision, earlier: Shape, later: Shape): Shape => (value, revision, at) =>
  Revision.isAtLeast(revision, since) ? later(value, revision, at) : earlier(value, revision, at)

const either = (one: Shape, several: Shape): Shape => (value, revision, at) =>
  Array.isArray(value) ? several(value, revision, at) : one(value, revision, at)

// =====================================================================================================================
// Parts of messages
// =====================================================================================================================

/** A capability that says no more than that it is there. */
const declared = record(any)
const listed = object({ "2024-11-05": { listChanged: any } })

const icons = list(object({ "2025-11-25": { src: any, mimeType: any, sizes: any, theme: any } }))

const implementation = object({
  "2024-11-05": { name: any, version: any },
  "2025-06-18": { title: any },
  "2025-11-25": { description: any, websiteUrl: any, icons }
})

const clientCapabilities = object({
  "2024-11-05": {
    experimental: record(declared),
    roots: listed,
    sampling: object({ "2025-11-25": { context: declared, tools: declared } })
  },
  "2025-06-18": { elicitation: object({ "2025-11-25": { form: declared, url: declared } }) },
  "2025-11-25": {
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
})

const serverCapabilities = object({
  "2024-11-05": {
    experimental: record(declared),
    logging: declared,
    prompts: listed,
    resources: object({ "2024-11-05": { subscribe: any, listChanged: any } }),
    tools: listed
  },
  "2025-03-26": { completions: declared },
  "2025-11-25": {
    tasks: object({
      "2025-11-25": {
        list: declared,
        cancel: declared,
        requests: object({ "2025-11-25": { tools: object({ "2025-11-25": { call: declared } }) } })
      }
    })
  }
})

const annotations = object({ "2024-11-05": { audience: any, priority: any }, "2025-06-18": { lastModified: any } })

const resourceMembers = { name: any, description: any, mimeType: any, annotations }
const resourceMembersSince = {
  "2025-06-18": { title: any, _meta: any },
  "2025-11-25": { icons }
}

const resource = object({ "2024-11-05": { ...resourceMembers, uri: any, size: any }, ...resourceMembersSince })
const resourceTemplate = object({ "2024-11-05": { ...resourceMembers, uriTemplate: any }, ...resourceMembersSince })
const resourceContents = object({
  "2024-11-05": { uri: any, mimeType: any, text: any, blob: any },
  "2025-06-18": { _meta: any }
})

const meta = { _meta: any }

const text = object({ "2024-11-05": { type: any, text: any, annotations }, "2025-06-18": meta })
const media = object({ "2024-11-05": { type: any, data: any, mimeType: any, annotations }, "2025-06-18": meta })

const content = kinds("type", {
  text: ["2024-11-05", text],
  image: ["2024-11-05", media],
  resource: [
    "2024-11-05",
    object({ "2024-11-05": { type: any, resource: resourceContents, annotations }, "2025-06-18": meta })
  ],
  audio: ["2025-03-26", media],
  resource_link: [
    "2025-06-18",
    object({
      "2025-06-18": { ...resourceMembers, type: any, uri: any, size: any, title: any, _meta: any },
      "2025-11-25": { icons }
    })
  ]
})

const samplingContent = kinds("type", {
  text: ["2024-11-05", text],
  image: ["2024-11-05", media],
  audio: ["2025-03-26", media],
  tool_use: ["2025-11-25", object({ "2025-11-25": { type: any, id: any, name: any, input: any, _meta: any } })],
  tool_result: [
    "2025-11-25",
    object({
      "2025-11-25": {
        type: any,
        toolUseId: any,
        content: list(content),
        structuredContent: any,
        isError: any,
        _meta: any
      }
    })
  ]
})

const samplingContents = from("2025-11-25", samplingContent, either(samplingContent, list(samplingContent)))

const tool = object({
  // A JSON Schema may hold any keyword.
  "2024-11-05": { name: any, description: any, inputSchema: record(any) },
  "2025-03-26": {
    annotations: object({
      "2025-03-26": { title: any, readOnlyHint: any, destructiveHint: any, idempotentHint: any, openWorldHint: any }
    })
  },
  "2025-06-18": { title: any, outputSchema: record(any), _meta: any },
  "2025-11-25": { execution: object({ "2025-11-25": { taskSupport: any } }), icons }
})

const prompt = object({
  "2024-11-05": {
    name: any,
    description: any,
    arguments: list(
      object({ "2024-11-05": { name: any, description: any, required: any }, "2025-06-18": { title: any } })
    )
  },
  "2025-06-18": { title: any, _meta: any },
  "2025-11-25": { icons }
})

const taskMembers = {
  taskId: any,
  status: any,
  statusMessage: any,
  createdAt: any,
  lastUpdatedAt: any,
  ttl: any,
  pollInterval: any
}

const titledValue = object({ "2025-11-25": { const: any, title: any } })
const number = object({
  "2025-06-18": { type: any, title: any, description: any, minimum: any, maximum: any },
  "2025-11-25": { default: any }
})

const field = kinds("type", {
  string: [
    "2025-06-18",
    object({
      "2025-06-18": {
        type: any,
        title: any,
        description: any,
        minLength: any,
        maxLength: any,
        format: any,
        enum: any,
        enumNames: any
      },
      "2025-11-25": { default: any, oneOf: list(titledValue) }
    })
  ],
  number: ["2025-06-18", number],
  integer: ["2025-06-18", number],
  boolean: ["2025-06-18", object({ "2025-06-18": { type: any, title: any, description: any, default: any } })],
  array: [
    "2025-11-25",
    object({
      "2025-11-25": {
        type: any,
        title: any,
        description: any,
        minItems: any,
        maxItems: any,
        items: object({ "2025-11-25": { type: any, enum: any, anyOf: list(titledValue) } }),
        default: any
      }
    })
  ]
})

// =====================================================================================================================
// Params and results
// =====================================================================================================================

/** Members that stand beside the metadata, which all params and results have had from the first. */
const params = (layers: { readonly [R in Revision.Revision]?: Members }): Shape =>
  object({ ...layers, "2024-11-05": { ...layers["2024-11-05"], ...meta } })

const none = params({})
const page = params({ "2024-11-05": { cursor: any } })
const pageOf = (name: string, item: Shape) => params({ "2024-11-05": { [name]: list(item), nextCursor: any } })
const uri = params({ "2024-11-05": { uri: any } })
const taskId = params({ "2025-11-25": { taskId: any } })
const aTask = params({ "2025-11-25": taskMembers })
const taskMetadata = object({ "2025-11-25": { ttl: any } })

interface RequestShapes {
  readonly params: Shape
  readonly result: Shape
}

const requests: { readonly [Name in keyof Methods.Requests]: RequestShapes } = {
  "initialize": {
    params: params({
      "2024-11-05": { protocolVersion: any, capabilities: clientCapabilities, clientInfo: implementation }
    }),
    result: params({
      "2024-11-05": {
        protocolVersion: any,
        capabilities: serverCapabilities,
        serverInfo: implementation,
        instructions: any
      }
    })
  },
  "ping": { params: none, result: none },
  "tools/list": { params: page, result: pageOf("tools", tool) },
  "tools/call": {
    params: params({ "2024-11-05": { name: any, arguments: any }, "2025-11-25": { task: taskMetadata } }),
    result: params({
      "2024-11-05": { content: list(content), isError: any },
      "2025-06-18": { structuredContent: any }
    })
  },
  "resources/list": { params: page, result: pageOf("resources", resource) },
  "resources/templates/list": { params: page, result: pageOf("resourceTemplates", resourceTemplate) },
  "resources/read": { params: uri, result: params({ "2024-11-05": { contents: list(resourceContents) } }) },
  "resources/subscribe": { params: uri, result: none },
  "resources/unsubscribe": { params: uri, result: none },
  "prompts/list": { params: page, result: pageOf("prompts", prompt) },
  "prompts/get": {
    params: params({ "2024-11-05": { name: any, arguments: any } }),
    result: params({
      "2024-11-05": { description: any, messages: list(object({ "2024-11-05": { role: any, content } })) }
    })
  },
  "completion/complete": {
    params: params({
      "2024-11-05": {
        ref: kinds("type", {
          "ref/prompt": [
            "2024-11-05",
            object({ "2024-11-05": { type: any, name: any }, "2025-06-18": { title: any } })
          ],
          "ref/resource": ["2024-11-05", object({ "2024-11-05": { type: any, uri: any } })]
        }),
        argument: object({ "2024-11-05": { name: any, value: any } })
      },
      "2025-06-18": { context: object({ "2025-06-18": { arguments: any } }) }
    }),
    result: params({
      "2024-11-05": { completion: object({ "2024-11-05": { values: any, total: any, hasMore: any } }) }
    })
  },
  "logging/setLevel": { params: params({ "2024-11-05": { level: any } }), result: none },
  "sampling/createMessage": {
    params: params({
      "2024-11-05": {
        messages: list(object({ "2024-11-05": { role: any, content: samplingContents }, "2025-11-25": meta })),
        modelPreferences: object({
          "2024-11-05": {
            hints: list(object({ "2024-11-05": { name: any } })),
            costPriority: any,
            speedPriority: any,
            intelligencePriority: any
          }
        }),
        systemPrompt: any,
        includeContext: any,
        temperature: any,
        maxTokens: any,
        stopSequences: any,
        metadata: any
      },
      "2025-11-25": {
        tools: list(tool),
        toolChoice: object({ "2025-11-25": { mode: any } }),
        task: taskMetadata
      }
    }),
    result: params({ "2024-11-05": { role: any, content: samplingContents, model: any, stopReason: any } })
  },
  "elicitation/create": {
    params: params({
      "2025-06-18": {
        message: any,
        requestedSchema: object({
          "2025-06-18": { type: any, properties: record(field), required: any },
          "2025-11-25": { $schema: any }
        })
      },
      "2025-11-25": { mode: any, elicitationId: any, url: any, task: taskMetadata }
    }),
    result: params({
      "2025-06-18": {
        action: any,
        content: record(from("2025-11-25", (value, _, at) => Array.isArray(value) ? [`${at} is a list`] : [], any))
      }
    })
  },
  "roots/list": {
    params: none,
    result: params({
      "2024-11-05": { roots: list(object({ "2024-11-05": { uri: any, name: any }, "2025-06-18": meta })) }
    })
  },
  "tasks/get": { params: taskId, result: aTask },
  "tasks/result": { params: taskId, result: record(any) },
  "tasks/list": {
    params: page,
    result: params({ "2025-11-25": { tasks: list(object({ "2025-11-25": taskMembers })), nextCursor: any } })
  },
  "tasks/cancel": { params: taskId, result: aTask }
}

const notifications: { readonly [Name in keyof Methods.Notifications]: { readonly params: Shape } } = {
  "notifications/initialized": { params: none },
  "notifications/cancelled": { params: params({ "2024-11-05": { requestId: any, reason: any } }) },
  "notifications/progress": {
    params: params({
      "2024-11-05": { progressToken: any, progress: any, total: any },
      "2025-03-26": { message: any }
    })
  },
  "notifications/roots/list_changed": { params: none },
  "notifications/message": { params: params({ "2024-11-05": { level: any, logger: any, data: any } }) },
  "notifications/resources/updated": { params: uri },
  "notifications/resources/list_changed": { params: none },
  "notifications/tools/list_changed": { params: none },
  "notifications/prompts/list_changed": { params: none },
  "notifications/elicitation/complete": { params: params({ "2025-11-25": { elicitationId: any } }) },
  "notifications/tasks/status": { params: aTask }
}

const shapes: { readonly [name: string]: { readonly params: Shape; readonly result?: Shape } } = {
  ...requests,
  ...notifications
}

/** What the params or the result of a method holds that a revision does not have. */
export const unknownTo = (
  revision: Revision.Revision,
  method: string,
  part: "params" | "result",
  value: unknown
): ReadonlyArray<string> => shapes[method]?.[part]?.(value, revision, part) ?? [`${method} has no ${part}`]
