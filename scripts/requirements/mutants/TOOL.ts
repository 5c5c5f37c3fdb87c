import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "TOOL-01",
    at: "Handlers.withImplied",
    original: "if (path === undefined) continue",
    broken: "if (path === undefined || path.split(\".\")[0] === \"tools\") continue",
    test: "packages/session/test/Handlers.test.ts",
    name: "[TOOL-01] a handler declares its capability"
  },
  {
    id: "TOOL-02",
    at: "ServerSessionMembers.toolListChanged",
    original: "this.#notify(\"notifications/tools/list_changed\", {})",
    broken: "Effect.void",
    test: "packages/session/test/allFeatures.test.ts",
    name: "requests of a client (one stream) > [TOOL-02] [RES-02] [PRM-02] list_changed notifications reach the client",
    hangs: true
  },
  {
    id: "TOOL-06",
    at: "Tool.Tool",
    original: "inputSchema: ObjectSchema",
    broken: "inputSchema: trust(Schema.Unknown)",
    test: "packages/protocol/test/messages.test.ts",
    name: "[TOOL-06] ListToolsResult rejects"
  },
  {
    id: "TOOL-08",
    at: "OutputSchemas.problemOf",
    original: "problem = check(result.structuredContent)",
    broken: "problem: string | undefined = undefined",
    test: "packages/session/test/outputSchemas.test.ts",
    name: "content that does not match the schema is an InvalidResult for all ways of listing"
  },
  {
    id: "TOOL-09",
    at: "RevisionProjection.withText",
    original: "content.length === 0",
    broken: "content.length < 0",
    test: "packages/protocol/test/RevisionProjection/serverFeatures.test.ts",
    name: "[TOOL-09] a result with only"
  },
  {
    id: "TOOL-11",
    at: "ClientMembers.make",
    original: "({ tools }) => tools",
    broken:
      "({ tools }) => { if (tools.some(({ annotations }) => annotations?.readOnlyHint === true)) Effect.runFork(sender.send({ jsonrpc: \"2.0\", method: \"trusted\" })); return tools }",
    test: "packages/session/test/tools.test.ts",
    name: "annotations of a tool do not change the messages of a call"
  },
  {
    id: "TOOL-11",
    at: "SupervisedClient.make",
    original: "options.trusted !== true || called === undefined",
    broken: "called === undefined",
    test: "packages/client/test/sessions.test.ts",
    name: "of a tool of a server that is not trusted is unknown, whatever the tool declares"
  },
  {
    id: "TOOL-03",
    at: "MethodHandlers.unknownTool",
    original: "McpError.invalidParams",
    broken: "McpError.methodNotFound",
    test: "packages/server/test/tools.test.ts",
    name: "is unknown by another name, with -32602"
  },
  {
    id: "TOOL-04",
    at: "ToolEntry.failed",
    original: "isError: true",
    broken: "isError: false",
    test: "packages/server/test/tools.test.ts",
    name: "returns a declared failure with isError, its message, and its encoding"
  },
  {
    id: "TOOL-05",
    at: "RawInput.checker",
    original: "check(value) ?? changed(value)",
    broken: "changed(value)",
    test: "packages/server/test/tools.test.ts",
    name: "is listed with this schema, and its arguments are checked against it"
  },
  {
    id: "TOOL-05",
    at: "ToolEntry.#misfit",
    original: "Revision.isAtLeast(profile.revision, \"2025-11-25\")",
    broken: "Revision.isAtLeast(profile.revision, \"2024-11-05\")",
    test: "packages/server/test/tools.test.ts",
    name: "rejects arguments that do not fit with -32602 before 2025-11-25"
  },
  {
    id: "TOOL-07",
    at: "ToolCodec.output",
    original: "SchemaParser.encodeUnknownEffect(codec)",
    broken: "(value) => Effect.succeed(trust<Schema.Json>(value))",
    test: "packages/server/test/tools.test.ts",
    name: "that returns what its schema forbids is answered with -32603"
  },
  {
    id: "TOOL-10",
    at: "ToolDefinition.validName",
    original: "validName = /^[A-Za-z0-9_.-]{1,128}$/",
    broken: "validName = /./",
    test: "packages/server/test/tools.test.ts",
    name: "with a name that the specification forbids is a defect that names it"
  },
  {
    id: "TOOL-12",
    at: "Members.sorted",
    original: ".toSorted(([a], [b]) => a < b ? -1 : 1)",
    broken: "",
    test: "packages/server/test/lists.test.ts",
    name: "is sorted by name, whatever the order of the groups"
  },
  {
    id: "TOOL-13",
    at: "Caller.keyOf",
    original: "principal !== undefined",
    broken: "principal === undefined",
    test: "packages/server/test/middleware.test.ts",
    name: "[TOOL-13] counts the sessions of one principal together, and other principals apart"
  },
  {
    id: "TOOL-13",
    at: "GroupRuntime.ifVisible",
    original: "isVisible ? result : otherwise",
    broken: "isVisible ? result : Effect.andThen(otherwise, result)",
    test: "packages/server/test/lists.test.ts",
    name: "makes a member unknown to the others"
  },
  {
    id: "TOOL-13",
    at: "ToolEntry.#succeeded",
    original: "(encoded) => this.#resultOf(value, encoded)",
    broken: "() => this.#resultOf(value, value)",
    test: "packages/server/test/tools.test.ts",
    name: "sends nothing that its schemas do not declare"
  },
  {
    id: "TOOL-13",
    at: "GroupRuntime.ifVisible",
    original: "isVisible ? result : otherwise",
    broken: "result",
    test: "packages/server/test/modernGroups.test.ts",
    name: "is listed for, and called by, only those who see it"
  },
  {
    id: "TOOL-03",
    at: "MethodHandlers.unknownTool",
    original: "McpError.invalidParams",
    broken: "McpError.methodNotFound",
    test: "packages/server/test/modernGroups.test.ts",
    name: "that is a tool is unknown by another name"
  },
  {
    id: "TOOL-05",
    at: "ToolEntry.#misfit",
    original: "Revision.isAtLeast(profile.revision, \"2025-11-25\")",
    broken: "profile.revision === \"2025-11-25\"",
    test: "packages/server/test/modernGroups.test.ts",
    name: "that is a tool is unknown by another name"
  },
  {
    id: "TOOL-04",
    at: "ToolEntry.requestFailed",
    original: "failed(RequestError.withoutCause(error))",
    broken: "{ content: [Content.text(RequestError.withoutCause(error))] }",
    test: "packages/server/test/tools.test.ts",
    name: "may fail as the client refuses its requests"
  },
  {
    id: "TOOL-04",
    at: "ToolEntry.#misfit",
    original: "Effect.succeed(failed(message))",
    broken: "Effect.fail(McpError.invalidParams(message))",
    test: "packages/server/test/tools.test.ts",
    name: "the model reads why from 2025-11-25 on"
  },
  {
    id: "TOOL-14",
    at: "Sender.exchange",
    original: "Deadline.make(options,",
    broken: "Deadline.make(row.name === \"tools/call\" ? { timeout: Number.POSITIVE_INFINITY, ...options } : options,",
    test: "packages/session/test/deadlines.test.ts",
    name: "[TOOL-14]",
    hangs: true
  },
  {
    id: "TOOL-10",
    at: "ToolDefinition.validName",
    original: "validName = /^[A-Za-z0-9_.-]{1,128}$/",
    broken: "validName = /^[^]{1,128}$/",
    test: "packages/server/test/tools.test.ts",
    name: "with a name that the specification forbids is a defect that names it"
  }
]
