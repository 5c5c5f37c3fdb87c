import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "TOOL-01",
    file: "packages/session/src/Handlers.ts",
    original: "    if (path === undefined) continue\n",
    broken: "    if (path === undefined || path.split(\".\")[0] === \"tools\") continue\n",
    test: "packages/session/test/Handlers.test.ts",
    name: "[TOOL-01] a handler declares its capability"
  },
  {
    id: "TOOL-02",
    file: "packages/session/src/internal/server/ServerSessionImplementation.ts",
    original: "return this.#notify(\"notifications/tools/list_changed\", {})",
    broken: "return Effect.void",
    test: "packages/session/test/allFeatures.test.ts",
    name: "requests of a client (one stream) > [TOOL-02] [RES-02] [PRM-02] list_changed notifications reach the client",
    hangs: true
  },
  {
    id: "TOOL-06",
    file: "packages/protocol/src/Tool.ts",
    original: "  inputSchema: ObjectSchema,\n",
    broken: "  inputSchema: trust(Schema.Unknown),\n",
    test: "packages/protocol/test/messages.test.ts",
    name: "[TOOL-06] ListToolsResult rejects"
  },
  {
    id: "TOOL-08",
    file: "packages/session/src/internal/client/OutputSchemas.ts",
    original: "  const problem = check(result.structuredContent)\n",
    broken: "  const problem: string | undefined = undefined\n",
    test: "packages/session/test/outputSchemas.test.ts",
    name: "content that does not match the schema is an InvalidResult for all ways of listing"
  },
  {
    id: "TOOL-09",
    file: "packages/protocol/src/RevisionProjection.ts",
    original: "Array.isArray(content) && content.length === 0\n",
    broken: "Array.isArray(content) && content.length < 0\n",
    test: "packages/protocol/test/RevisionProjection/serverFeatures.test.ts",
    name: "[TOOL-09] a result with only"
  },
  {
    id: "TOOL-11",
    file: "packages/session/src/internal/client/ClientSessionImplementation.ts",
    original: "({ tools }) => Effect.sync(() => this.#taskSupport?.observe(tools))",
    broken:
      "({ tools }) =>\n        tools.some(({ annotations }) => annotations?.readOnlyHint === true)\n          ? Effect.ignore(sender.send({ jsonrpc: \"2.0\", method: \"trusted\" }))\n          : Effect.void",
    test: "packages/session/test/tools.test.ts",
    name: "annotations of a tool do not change the messages of a call"
  },
  {
    id: "TOOL-11",
    file: "packages/client/src/internal/supervision/SupervisedClient.ts",
    original: "if (options.trusted !== true || called === undefined)",
    broken: "if (called === undefined)",
    test: "packages/client/test/sessions.test.ts",
    name: "of a tool of a server that is not trusted is unknown, whatever the tool declares"
  },
  {
    id: "TOOL-03",
    file: "packages/server/src/internal/registry/MethodHandlers.ts",
    original: "const unknownTool = (name: string) => McpError.invalidParams(",
    broken: "const unknownTool = (name: string) => McpError.methodNotFound(",
    test: "packages/server/test/tools.test.ts",
    name: "is unknown by another name, with -32602"
  },
  {
    id: "TOOL-04",
    file: "packages/server/src/internal/entries/ToolEntry.ts",
    original: "  isError: true,\n",
    broken: "  isError: false,\n",
    test: "packages/server/test/tools.test.ts",
    name: "returns a declared failure with isError, its message, and its encoding"
  },
  {
    id: "TOOL-05",
    file: "packages/server/src/internal/schema/RawInput.ts",
    original: "          const problem = check(value) ?? changed(value)\n",
    broken: "          const problem = changed(value)\n",
    test: "packages/server/test/tools.test.ts",
    name: "is listed with this schema, and its arguments are checked against it"
  },
  {
    id: "TOOL-05",
    file: "packages/server/src/internal/entries/ToolEntry.ts",
    original: "Revision.isAtLeast(profile.revision, \"2025-11-25\")",
    broken: "Revision.isAtLeast(profile.revision, \"2024-11-05\")",
    test: "packages/server/test/tools.test.ts",
    name: "rejects arguments that do not fit with -32602 before 2025-11-25"
  },
  {
    id: "TOOL-07",
    file: "packages/server/src/internal/schema/ToolCodec.ts",
    original: "      SchemaParser.encodeUnknownEffect(codec),\n",
    broken: "      (value) => Effect.succeed(trust<Schema.Json>(value)),\n",
    test: "packages/server/test/tools.test.ts",
    name: "that returns what its schema forbids is answered with -32603"
  },
  {
    id: "TOOL-10",
    file: "packages/server/src/internal/entries/ToolDefinition.ts",
    original: "const validName = /^[A-Za-z0-9_.-]{1,128}$/",
    broken: "const validName = /./",
    test: "packages/server/test/tools.test.ts",
    name: "with a name that the specification forbids is a defect that names it"
  },
  {
    id: "TOOL-12",
    file: "packages/server/src/internal/registry/Members.ts",
    original: ".toSorted(([a], [b]) => a < b ? -1 : 1)",
    broken: "",
    test: "packages/server/test/lists.test.ts",
    name: "is sorted by name, whatever the order of the groups"
  },
  {
    id: "TOOL-13",
    file: "packages/server/src/internal/middleware/Caller.ts",
    original: "if (principal !== undefined)",
    broken: "if (principal === undefined)",
    test: "packages/server/test/middleware.test.ts",
    name: "[TOOL-13] counts the sessions of one principal together, and other principals apart"
  },
  {
    id: "TOOL-13",
    file: "packages/server/src/internal/entries/GroupRuntime.ts",
    original: "      (isVisible): Handler<A | typeof hidden> => isVisible ? result : otherwise\n",
    broken: "      (isVisible): Handler<A | typeof hidden> => isVisible ? result : Effect.andThen(otherwise, result)\n",
    test: "packages/server/test/lists.test.ts",
    name: "makes a member unknown to the others"
  },
  {
    id: "TOOL-13",
    file: "packages/server/src/internal/entries/ToolEntry.ts",
    original: "    const result = Effect.map(this.#encode(value), (encoded) => this.#resultOf(value, encoded))\n",
    broken: "    const result = Effect.map(this.#encode(value), () => this.#resultOf(value, value))\n",
    test: "packages/server/test/tools.test.ts",
    name: "sends nothing that its schemas do not declare"
  },
  {
    id: "TOOL-13",
    file: "packages/server/src/internal/entries/GroupRuntime.ts",
    original: "isVisible ? result : otherwise",
    broken: "result",
    test: "packages/server/test/modernGroups.test.ts",
    name: "is listed for, and called by, only those who see it"
  },
  {
    id: "TOOL-03",
    file: "packages/server/src/internal/registry/MethodHandlers.ts",
    original: "const unknownTool = (name: string) => McpError.invalidParams(",
    broken: "const unknownTool = (name: string) => McpError.methodNotFound(",
    test: "packages/server/test/modernGroups.test.ts",
    name: "that is a tool is unknown by another name"
  },
  {
    id: "TOOL-05",
    file: "packages/server/src/internal/entries/ToolEntry.ts",
    original: "Revision.isAtLeast(profile.revision, \"2025-11-25\")",
    broken: "profile.revision === \"2025-11-25\"",
    test: "packages/server/test/modernGroups.test.ts",
    name: "that is a tool is unknown by another name"
  },
  {
    id: "TOOL-04",
    file: "packages/server/src/internal/entries/ToolEntry.ts",
    original: "const message = failed(RequestError.withoutCause(error))\n",
    broken: "const message = { content: [Content.text(RequestError.withoutCause(error))] }\n",
    test: "packages/server/test/tools.test.ts",
    name: "may fail as the client refuses its requests"
  },
  {
    id: "TOOL-04",
    file: "packages/server/src/internal/entries/ToolEntry.ts",
    original: "? Effect.succeed(failed(message))\n",
    broken: "? Effect.fail(McpError.invalidParams(message))\n",
    test: "packages/server/test/tools.test.ts",
    name: "the model reads why from 2025-11-25 on"
  },
  {
    id: "TOOL-14",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "const allowedMillis = options?.timeout === undefined\n",
    broken:
      "const allowedMillis = row.name === \"tools/call\" && options?.timeout === undefined\n        ? Number.POSITIVE_INFINITY\n        : options?.timeout === undefined\n",
    test: "packages/session/test/deadlines.test.ts",
    name: "[TOOL-14]",
    hangs: true
  },
  {
    id: "TOOL-10",
    file: "packages/server/src/internal/entries/ToolDefinition.ts",
    original: "const validName = /^[A-Za-z0-9_.-]{1,128}$/",
    broken: "const validName = /^[^]{1,128}$/",
    test: "packages/server/test/tools.test.ts",
    name: "with a name that the specification forbids is a defect that names it"
  }
]
