import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "ELI-01",
    file: "packages/session/src/Handlers.ts",
    original: "    if (path === undefined) continue\n",
    broken: "    if (path === undefined || path.split(\".\")[0] === \"elicitation\") continue\n",
    test: "packages/session/test/allFeatures.test.ts",
    name: "[SMP-01] [ELI-01] [ROOT-01] are sent by a handler"
  },
  {
    id: "ELI-02",
    file: "packages/protocol/src/Capabilities.ts",
    original: "elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)",
    broken: "elicitation !== undefined && elicitation.form !== undefined",
    test: "packages/session/test/elicitation.test.ts",
    name: "a server sends only declared modes to a client that declares no modes"
  },
  {
    id: "ELI-03",
    file: "packages/session/src/internal/engine/SemanticChecks.ts",
    original: "      ? validateCapability(peer, \"elicitation.url\", extended)\n",
    broken: "      ? undefined\n",
    test: "packages/session/test/elicitation.test.ts",
    name: "a server sends only declared modes to a client that declares form mode"
  },
  {
    id: "ELI-04",
    file: "packages/session/src/internal/engine/SemanticChecks.ts",
    original: "const { mode = \"form\" } =",
    broken: "const { mode = \"url\" } =",
    test: "packages/session/test/elicitation.test.ts",
    name: "a client that declares URL mode rejects requests of other modes"
  },
  {
    id: "ELI-05",
    file: "packages/session/src/internal/engine/SemanticChecks.ts",
    original: "if (method !== \"elicitation/create\" || declared === undefined) return undefined\n  const { mode",
    broken: "if (method === \"elicitation/create\" || declared === undefined) return undefined\n  const { mode",
    test: "packages/session/test/elicitation.test.ts",
    name: "a client that declares form mode rejects requests of other modes"
  },
  {
    id: "ELI-07",
    file: "packages/session/src/internal/engine/SemanticChecks.ts",
    original: "  if (action !== \"accept\" || request.mode === \"url\") return undefined\n",
    broken: "  if (action === \"accept\" || request.mode === \"url\") return undefined\n",
    test: "packages/session/test/elicitation.test.ts",
    name: "a client does not send an answer with no content"
  },
  {
    id: "ELI-07",
    file: "packages/session/src/internal/engine/SemanticChecks.ts",
    original: "  if (action !== \"accept\" || request.mode === \"url\") return undefined\n",
    broken: "  if (action === \"accept\" || request.mode === \"url\") return undefined\n",
    test: "packages/session/test/elicitation.test.ts",
    name: "a server rejects an answer with no content"
  },
  {
    id: "ELI-08",
    file: "packages/protocol/src/ElicitationContent.ts",
    original: "field.default === undefined ? [] : [[name, field.default]])\n",
    broken: "field.default !== undefined ? [] : [[name, field.default]])\n",
    test: "packages/protocol/test/ElicitationContent.test.ts",
    name: "adds the default of each missing field"
  },
  {
    id: "ELI-09",
    file: "packages/protocol/src/Elicitation.ts",
    original: "Schema.Literals([\"accept\", \"decline\", \"cancel\"])",
    broken: "Schema.Literals([\"accept\", \"decline\"])",
    test: "packages/session/test/elicitation.test.ts",
    name: "[ELI-09]"
  },
  {
    id: "ELI-10",
    file: "packages/protocol/src/Elicitation.ts",
    original: ".check(Schema.isPattern(/^[A-Za-z][A-Za-z\\d+.-]*:\\S+$/, { expected: \"a URL\" }))",
    broken: "",
    test: "packages/session/test/elicitation.test.ts",
    name: "is rejected as a URL by the server and by the client"
  },
  {
    id: "ELI-10",
    file: "packages/protocol/src/Elicitation.ts",
    original: "elicitationId: Schema.String,\n  task",
    broken: "elicitationId: Schema.optionalKey(Schema.String),\n  task",
    test: "packages/protocol/test/messages.test.ts",
    name: "[ELI-10] ElicitParams rejects"
  },
  {
    id: "ELI-12",
    file: "packages/session/src/internal/server/ServerSessionImplementation.ts",
    original: "notifications[\"notifications/elicitation/complete\"], { elicitationId }, replyTo)",
    broken: "notifications[\"notifications/elicitation/complete\"], { elicitationId: \"\" }, replyTo)",
    test: "packages/session/test/elicitation.test.ts",
    name: "elicitation/complete reaches only the client that received the request"
  },
  {
    id: "ELI-14",
    file: "packages/protocol/src/Elicitation.ts",
    original: "data: { elicitations } }",
    broken: "data: { pages: elicitations } }",
    test: "packages/protocol/test/Elicitation.test.ts",
    name: "the peer reads the URL elicitations of an error"
  },
  {
    id: "ELI-07",
    file: "packages/session/src/internal/engine/ClientQuestion.ts",
    original: "SemanticChecks.validateResult(row.name, params, checked.success)",
    broken: "undefined",
    test: "packages/session/test/replay/questions.test.ts",
    name: "gets the error that a session would give"
  },
  {
    id: "ELI-03",
    file: "packages/session/src/internal/engine/ClientQuestion.ts",
    original: "SemanticChecks.checkOf(row.name)?.(params, profile) ??",
    broken: "undefined ??",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks only in modes, and with tools"
  },
  {
    id: "ELI-02",
    file: "packages/client/src/internal/answers/Answering.ts",
    original: "...(elicitUrl === undefined ? {} : { url: {} })",
    broken: "",
    test: "packages/client/test/answers.test.ts",
    name: "only what is given is declared as a capability"
  },
  {
    id: "ELI-07",
    file: "packages/client/src/McpAnswers.ts",
    original: "    const problems = check(params.requestedSchema, content)\n    return problems",
    broken: "    const problems: ReadonlyArray<FieldProblem> = []\n    return problems",
    test: "packages/client/test/answers.test.ts",
    name: "values that do not fit the form fail before they are sent"
  },
  {
    id: "ELI-07",
    file: "packages/client/src/internal/answers/Answering.ts",
    original: "  if (problems.length > 0) return Effect.fail(new McpAnswers.InvalidAnswer({ server, problems }))\n",
    broken: "",
    test: "packages/client/test/answers.test.ts",
    name: "an invalid answer by the result itself is an error in the log"
  },
  {
    id: "ELI-08",
    file: "packages/client/src/McpAnswers.ts",
    original: "ElicitationContent.withDefaults(params.requestedSchema, Object.fromEntries(given))",
    broken: "Object.fromEntries(given)",
    test: "packages/client/test/answers.test.ts",
    name: "a field without a value gets the default of the form"
  },
  {
    id: "ELI-09",
    file: "packages/protocol/src/Elicitation.ts",
    original: "Schema.Literals([\"accept\", \"decline\", \"cancel\"])",
    broken: "Schema.Literals([\"accept\", \"cancel\"])",
    test: "packages/session/test/elicitation.test.ts",
    name: "[ELI-09]"
  },
  {
    id: "ELI-09",
    file: "packages/server/src/McpRequest.ts",
    original: "      return Effect.fail(new ElicitationDeclined({ asked }))",
    broken: "      return Effect.succeed({})",
    test: "packages/server/test/requests.test.ts",
    name: "fails so that the model reads it if the user declines, cancels, or sends misfits"
  },
  {
    id: "ELI-09",
    file: "packages/server/src/McpRequest.ts",
    original: "      return Effect.fail(new ElicitationCancelled({ asked }))",
    broken: "      return Effect.succeed({})",
    test: "packages/server/test/requests.test.ts",
    name: "fails so that the model reads it if the user declines, cancels, or sends misfits"
  },
  {
    id: "ELI-12",
    file: "packages/session/src/internal/server/ServerSessionImplementation.ts",
    original: "return this.sender.notify(notifications[\"notifications/elicitation/complete\"]",
    broken:
      "return replyTo === undefined\n          ? Effect.void\n          : this.sender.notify(notifications[\"notifications/elicitation/complete\"]",
    test: "packages/session/test/elicitation.test.ts",
    name: "elicitation/complete reaches only the client that received the request"
  },
  {
    id: "ELI-14",
    file: "packages/protocol/src/ErrorCode.ts",
    original: "export const UrlElicitationRequired = -32042",
    broken: "export const UrlElicitationRequired = -32043",
    test: "packages/protocol/test/ErrorCode.test.ts",
    name: "the MCP codes have the values of the specification"
  },
  {
    id: "ELI-14",
    file: "packages/protocol/src/Elicitation.ts",
    original: "data: { elicitations } }",
    broken: "data: { elicitations, message } }",
    test: "packages/protocol/test/Elicitation.test.ts",
    name: "the error carries the URL elicitations and a message"
  },
  {
    id: "ELI-14",
    file: "packages/protocol/src/Elicitation.ts",
    original: "  elicitationId: Schema.String,\n  task: ",
    broken: "  elicitationId: Schema.optional(Schema.String),\n  task: ",
    test: "packages/protocol/test/Elicitation.test.ts",
    name: "invalid URL elicitations are ignored: "
  }
]
