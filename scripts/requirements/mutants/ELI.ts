import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "ELI-01",
    at: "Handlers.withImplied",
    original: "if (path === undefined) continue",
    broken: "if (path === undefined || path.split(\".\")[0] === \"elicitation\") continue",
    test: "packages/session/test/allFeatures.test.ts",
    name: "[SMP-01] [ELI-01] [ROOT-01] are sent by a handler"
  },
  {
    id: "ELI-02",
    at: "Capabilities.declares",
    original: "elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)",
    broken: "elicitation !== undefined && elicitation.form !== undefined",
    test: "packages/session/test/elicitation.test.ts",
    name: "a server sends only declared modes to a client that declares no modes"
  },
  {
    id: "ELI-03",
    at: "SemanticChecks.elicit",
    original: "validateCapability(peer, \"elicitation.url\", extended)",
    broken: "undefined",
    test: "packages/session/test/elicitation.test.ts",
    name: "a server sends only declared modes to a client that declares form mode"
  },
  {
    id: "ELI-04",
    at: "SemanticChecks.validateIncoming",
    original: "{ mode = \"form\" }",
    broken: "{ mode = \"url\" }",
    test: "packages/session/test/elicitation.test.ts",
    name: "a client that declares URL mode rejects requests of other modes"
  },
  {
    id: "ELI-05",
    at: "SemanticChecks.validateIncoming",
    original: "method !== \"elicitation/create\" || declared === undefined",
    broken: "method === \"elicitation/create\" || declared === undefined",
    test: "packages/session/test/elicitation.test.ts",
    name: "a client that declares form mode rejects requests of other modes"
  },
  {
    id: "ELI-07",
    at: "SemanticChecks.validateResult",
    original: "action !== \"accept\" || request.mode === \"url\"",
    broken: "action === \"accept\" || request.mode === \"url\"",
    test: "packages/session/test/elicitation.test.ts",
    name: "a client does not send an answer with no content"
  },
  {
    id: "ELI-07",
    at: "SemanticChecks.validateResult",
    original: "action !== \"accept\" || request.mode === \"url\"",
    broken: "action === \"accept\" || request.mode === \"url\"",
    test: "packages/session/test/elicitation.test.ts",
    name: "a server rejects an answer with no content"
  },
  {
    id: "ELI-08",
    at: "ElicitationContent.withDefaults",
    original: "field.default === undefined",
    broken: "field.default !== undefined",
    test: "packages/protocol/test/ElicitationContent.test.ts",
    name: "adds the default of each missing field"
  },
  {
    id: "ELI-09",
    at: "Elicitation.ElicitResult",
    original: "[\"accept\", \"decline\", \"cancel\"]",
    broken: "[\"accept\", \"decline\"]",
    test: "packages/session/test/elicitation.test.ts",
    name: "[ELI-09]"
  },
  {
    id: "ELI-10",
    at: "Elicitation.UrlParams",
    original: ".check(Schema.isPattern(/^[A-Za-z][A-Za-z\\d+.-]*:\\S+$/, { expected: \"a URL\" }))",
    broken: "",
    test: "packages/session/test/elicitation.test.ts",
    name: "is rejected as a URL by the server and by the client"
  },
  {
    id: "ELI-10",
    at: "Elicitation.UrlParams",
    original: "elicitationId: Schema.String",
    broken: "elicitationId: Schema.optionalKey(Schema.String)",
    test: "packages/protocol/test/messages.test.ts",
    name: "[ELI-10] ElicitParams rejects"
  },
  {
    id: "ELI-12",
    at: "ServerSessionMembers.elicitationComplete",
    original: "{ elicitationId }",
    broken: "{ elicitationId: \"\" }",
    test: "packages/session/test/elicitation.test.ts",
    name: "elicitation/complete reaches only the client that received the request"
  },
  {
    id: "ELI-14",
    at: "Elicitation.urlRequired",
    original: "data: { elicitations }",
    broken: "data: { pages: elicitations }",
    test: "packages/protocol/test/Elicitation.test.ts",
    name: "the peer reads the URL elicitations of an error"
  },
  {
    id: "ELI-07",
    at: "ClientQuestion.problemOf",
    original: "SemanticChecks.validateResult(row.name, params, checked.success)",
    broken: "undefined",
    test: "packages/session/test/replay/questions.test.ts",
    name: "gets the error that a session would give"
  },
  {
    id: "ELI-03",
    at: "ClientQuestion.blocked",
    original: "SemanticChecks.checkOf(row.name)?.(params, profile)",
    broken: "undefined",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks only in modes, and with tools"
  },
  {
    id: "ELI-02",
    at: "Answering.serve",
    original: "...(elicitUrl === undefined ? {} : { url: {} })",
    broken: "",
    test: "packages/client/test/answers.test.ts",
    name: "only what is given is declared as a capability"
  },
  {
    id: "ELI-07",
    at: "McpAnswers.accept",
    original: "problems = check(params.requestedSchema, content)",
    broken: "problems: ReadonlyArray<FieldProblem> = []",
    test: "packages/client/test/answers.test.ts",
    name: "values that do not fit the form fail before they are sent"
  },
  {
    id: "ELI-07",
    at: "Answering.checkForm",
    original: "if (problems.length > 0) return Effect.fail(new McpAnswers.InvalidAnswerError({ server, problems }))",
    broken: "",
    test: "packages/client/test/answers.test.ts",
    name: "an invalid answer by the result itself is an error in the log"
  },
  {
    id: "ELI-08",
    at: "McpAnswers.accept",
    original: "ElicitationContent.withDefaults(params.requestedSchema, Object.fromEntries(given))",
    broken: "Object.fromEntries(given)",
    test: "packages/client/test/answers.test.ts",
    name: "a field without a value gets the default of the form"
  },
  {
    id: "ELI-09",
    at: "Elicitation.ElicitResult",
    original: "[\"accept\", \"decline\", \"cancel\"]",
    broken: "[\"accept\", \"cancel\"]",
    test: "packages/session/test/elicitation.test.ts",
    name: "[ELI-09]"
  },
  {
    id: "ELI-09",
    at: "McpRequest.accepted",
    original: "Effect.fail(new ElicitationDeclinedError({ asked }))",
    broken: "Effect.succeed({})",
    test: "packages/server/test/requests.test.ts",
    name: "fails so that the model reads it if the user declines, cancels, or sends misfits"
  },
  {
    id: "ELI-09",
    at: "McpRequest.accepted",
    original: "Effect.fail(new ElicitationCancelledError({ asked }))",
    broken: "Effect.succeed({})",
    test: "packages/server/test/requests.test.ts",
    name: "fails so that the model reads it if the user declines, cancels, or sends misfits"
  },
  {
    id: "ELI-12",
    at: "ServerSessionMembers.elicitationComplete",
    original: "this.sender.notify",
    broken: "replyTo === undefined\n          ? Effect.void\n          : this.sender.notify",
    test: "packages/session/test/elicitation.test.ts",
    name: "elicitation/complete reaches only the client that received the request"
  },
  {
    id: "ELI-14",
    at: "ErrorCode.UrlElicitationRequired",
    original: "UrlElicitationRequired = -32042",
    broken: "UrlElicitationRequired = -32043",
    test: "packages/protocol/test/ErrorCode.test.ts",
    name: "the MCP codes have the values of the specification"
  },
  {
    id: "ELI-14",
    at: "Elicitation.urlRequired",
    original: "data: { elicitations }",
    broken: "data: { elicitations, message }",
    test: "packages/protocol/test/Elicitation.test.ts",
    name: "the error carries the URL elicitations and a message"
  },
  {
    id: "ELI-14",
    at: "Elicitation.UrlParams",
    original: "elicitationId: Schema.String",
    broken: "elicitationId: Schema.optional(Schema.String)",
    test: "packages/protocol/test/Elicitation.test.ts",
    name: "invalid URL elicitations are ignored: "
  }
]
