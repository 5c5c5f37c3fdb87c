import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "TSK-06",
    file: "packages/session/src/internal/engine/Dispatch.ts",
    original: "    if (!isKnown) {",
    broken: "    if (!isKnown || (request.params !== undefined && \"task\" in request.params)) {",
    test: "packages/session/test/undeclaredCapabilities.test.ts",
    name: "[TSK-06]"
  },
  {
    id: "TSK-01",
    file: "packages/session/src/internal/tasks/TaskHandlers.ts",
    original: "{ list: {}, cancel: {}, requests: { tools: { call: {} } } }",
    broken: "{ list: {}, cancel: {} }",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-01] declares them"
  },
  {
    id: "TSK-04",
    file: "packages/session/src/internal/tasks/TaskDispatch.ts",
    original: "if (support === \"forbidden\") return",
    broken: "if (support === \"forbidden\" && tool === \"\") return",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-04] [TSK-05] rejects"
  },
  {
    id: "TSK-05",
    file: "packages/session/src/internal/tasks/TaskDispatch.ts",
    original: "return support === \"required\" ?",
    broken: "return tool === \"\" ?",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-04] [TSK-05] rejects"
  },
  {
    id: "TSK-07",
    file: "packages/session/src/internal/tasks/TaskRuns.ts",
    original: "id: webCrypto.randomUUID(),",
    broken: "id: `task-${this.#running.size}`,",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-07]"
  },
  {
    id: "TSK-08",
    file: "packages/session/src/internal/tasks/TaskState.ts",
    original: "? \"input_required\" : \"working\"",
    broken: "? \"input_required\" : \"completed\"",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-07] [TSK-08]"
  },
  {
    id: "TSK-09",
    file: "packages/session/src/internal/tasks/TaskRuns.ts",
    original: "outcome === undefined ? { ...withoutRun, outcome: { _tag: \"Cancelled\" }",
    broken: "true ? { ...withoutRun, outcome: { _tag: \"Cancelled\" }",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-09] [TSK-23]"
  },
  {
    id: "TSK-10",
    file: "packages/session/src/internal/tasks/TaskState.ts",
    original: "  lastUpdatedAt: timeOf(task.updatedAt),\n  ttl",
    broken: "  lastUpdatedAt: timeOf(task.createdAt),\n  ttl",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-10]"
  },
  {
    id: "TSK-11",
    file: "packages/session/src/internal/tasks/TaskState.ts",
    original: "ttl: task.ttlMillis ?? null,",
    broken: "ttl: null,",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-11]"
  },
  {
    id: "TSK-12",
    file: "packages/session/src/internal/tasks/OwnedTasks.ts",
    original: "state.principal !== principal || isExpired(state, clock.currentTimeMillisUnsafe())",
    broken: "state.principal !== principal",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-12]"
  },
  {
    id: "TSK-14",
    file: "packages/session/src/internal/tasks/TaskDispatch.ts",
    original: "{ task: TaskState.legacy(task) }",
    broken: "TaskState.legacy(task)",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-14]"
  },
  {
    id: "TSK-15",
    file: "packages/session/src/internal/tasks/TaskState.ts",
    original: "return Effect.fail(McpError.received(outcome.error))",
    broken: "return Effect.fail(McpError.internalError)",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-15]"
  },
  {
    id: "TSK-16",
    file: "packages/session/src/internal/tasks/TaskResult.ts",
    original: "if (ending !== undefined) return endpoint.tasks.ended(task)",
    broken: "if (task.version > 0) return Effect.succeed({ _tag: \"Cancelled\" })",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-16]"
  },
  {
    id: "TSK-17",
    file: "packages/session/src/internal/tasks/TaskResult.ts",
    original: "meta: TaskState.relatedMeta(id),",
    broken: "",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-17] [TSK-20] asks"
  },
  {
    id: "TSK-19",
    file: "packages/session/src/internal/tasks/TaskDispatch.ts",
    original: "Outgoing.notification(row, task, profile, server)",
    broken: "Outgoing.notification(row, { ...task, _meta: TaskState.relatedMeta(task.taskId) }, profile, server)",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-19]"
  },
  {
    id: "TSK-20",
    file: "packages/session/src/internal/tasks/TaskState.ts",
    original: "openQuestions.length > 0 ?",
    broken: "openQuestions.length > 9 ?",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-20]"
  },
  {
    id: "TSK-22",
    file: "packages/session/src/internal/tasks/TaskHandlers.ts",
    original: "...(next === undefined ? undefined : { nextCursor: next })",
    broken: "",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-22]"
  },
  {
    id: "TSK-23",
    file: "packages/session/src/internal/tasks/TaskHandlers.ts",
    original: "return isNew\n",
    broken: "return true\n",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-23]"
  },
  {
    id: "TSK-24",
    file: "packages/session/src/internal/tasks/TaskRuns.ts",
    original: "{ ...withoutRun, outcome: { _tag: \"Cancelled\" }, cancelRequested: true }",
    broken: "{ cancelRequested: true }",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-24]"
  },
  {
    id: "TSK-24",
    file: "packages/session/src/StoredTask.ts",
    original: "  if (stored.outcome !== undefined && !isSame(stored.outcome, task.outcome)) return undefined\n",
    broken: "",
    test: "packages/session/test/StoredTask.test.ts",
    name: "[TSK-24]"
  },
  {
    id: "TSK-25",
    file: "packages/session/src/internal/tasks/OwnedTasks.ts",
    original: "? Effect.fail(McpError.invalidParams(\"Invalid cursor\"))",
    broken: "? Effect.succeed({ next: undefined, tasks: [] })",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-25]"
  },
  {
    id: "TSK-26",
    file: "packages/session/src/internal/tasks/OwnedTasks.ts",
    original: "state === undefined || state.principal !== principal ||",
    broken: "state === undefined ||",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-26]"
  },
  {
    id: "TSK-27",
    file: "packages/session/src/internal/tasks/TaskHandlers.ts",
    original: "principal !== undefined || listsAnonymous,",
    broken: "principal !== undefined || listsAnonymous !== undefined,",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-27]"
  },
  {
    id: "TSK-28",
    file: "packages/session/src/internal/tasks/TaskRuns.ts",
    original: "ttlMillis: lifetime(Math.min(Math.max(ttlMillis ?? usual, 0), longest)),",
    broken: "ttlMillis: lifetime(ttlMillis ?? usual),",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-28]"
  },
  {
    id: "TSK-29",
    file: "packages/session/src/internal/tasks/TaskState.ts",
    original: "case \"ErrorResult\":\n    case \"Error\":\n      return \"failed\"",
    broken: "case \"ErrorResult\":\n      return \"completed\"\n    case \"Error\":\n      return \"failed\"",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-29]"
  },
  {
    id: "TSK-18",
    file: "packages/session/src/internal/tasks/TaskHandlers.ts",
    original:
      "({ taskId }: Task.TaskParams) =>\n      reading((principal) => Effect.map(tasks.load(taskId, principal), TaskState.legacy)),",
    broken:
      "({ _meta, taskId }: Task.TaskParams) =>\n    reading((principal) =>\n      Effect.map(\n        tasks.load(Object(Object(_meta)[\"io.modelcontextprotocol/related-task\"]).taskId ?? taskId, principal),\n        TaskState.legacy\n      )\n    ),",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-18]"
  },
  {
    id: "TSK-02",
    file: "packages/session/src/internal/client/LegacyTasks.ts",
    original: "if (support === undefined) {",
    broken: "if (support === undefined && tool === \"\") {",
    test: "packages/session/test/tasks/clientTasks.test.ts",
    name: "[TSK-02] [TSK-03]"
  },
  {
    id: "TSK-03",
    file: "packages/session/src/internal/client/LegacyTasks.ts",
    original: "_tag: \"MissingCapability\", capability: \"tasks.requests.tools.call\"",
    broken: "_tag: \"StatelessModeNotSupported\"",
    test: "packages/session/test/tasks/clientTasks.test.ts",
    name: "[TSK-02] [TSK-03]"
  },
  {
    id: "TSK-04",
    file: "packages/session/src/internal/client/LegacyTasks.ts",
    original: "if ((yield* support.of(tool)) === \"forbidden\") {",
    broken: "if ((yield* support.of(tool)) === \"forbidden\" && tool === \"\") {",
    test: "packages/session/test/tasks/clientTasks.test.ts",
    name: "[TSK-04] [TSK-05]"
  },
  {
    id: "TSK-05",
    file: "packages/session/src/internal/client/ClientSessionImplementation.ts",
    original: "support?.known(name) === \"required\"",
    broken: "name === \"\"",
    test: "packages/session/test/tasks/clientTasks.test.ts",
    name: "[TSK-04] [TSK-05]"
  },
  {
    id: "TSK-13",
    file: "packages/session/src/internal/tasks/TaskPolling.ts",
    original: "wished ?? defaultMillis, leastMillis",
    broken: "defaultMillis, leastMillis",
    test: "packages/session/test/tasks/clientTasks.test.ts",
    name: "[TSK-13]"
  },
  {
    id: "TSK-15",
    file: "packages/session/src/internal/client/LegacyTasks.ts",
    original: "outputSchemas.checked(tool, received)",
    broken: "received",
    test: "packages/session/test/tasks/clientTasks.test.ts",
    name: "[TSK-15] and receives"
  },
  {
    id: "TSK-21",
    file: "packages/session/src/internal/tasks/TaskPolling.ts",
    original: "wished ?? defaultMillis, leastMillis",
    broken: "wished ?? 86_400_000, leastMillis",
    test: "packages/session/test/tasks/clientTasks.test.ts",
    name: "[TSK-21]",
    hangs: true
  },
  {
    id: "TSK-01",
    file: "packages/session/src/internal/tasks/AnswerEndpoint.ts",
    original: "handles(\"sampling/createMessage\") ? { sampling: { createMessage: {} } } : undefined",
    broken: "{ sampling: { createMessage: {} } }",
    test: "packages/session/test/tasks/questionTasks.test.ts",
    name: "[TSK-01] [TSK-02]"
  },
  {
    id: "TSK-02",
    file: "packages/session/src/internal/engine/SemanticChecks.ts",
    original: "return Capabilities.coversTasks(tasks, { requests }) ?",
    broken: "return Capabilities.coversTasks(tasks, { requests: {} }) ?",
    test: "packages/session/test/tasks/questionTasks.test.ts",
    name: "[TSK-01] [TSK-02]"
  },
  {
    id: "TSK-14",
    file: "packages/session/src/internal/tasks/AnswerDispatch.ts",
    original: "return { task: TaskState.legacy(task) }",
    broken: "return { task: { ...TaskState.legacy(task), taskId: \"t\" } }",
    test: "packages/session/test/tasks/questionTasks.test.ts",
    name: "[TSK-07] [TSK-08]"
  },
  {
    id: "TSK-16",
    file: "packages/session/src/internal/tasks/OwnedTasks.ts",
    original: "? Effect.flatMap(this.next(state, principal), wait)",
    broken: "? Effect.succeed({ _tag: \"Cancelled\" })",
    test: "packages/session/test/tasks/questionTasks.test.ts",
    name: "[TSK-07] [TSK-08]"
  },
  {
    id: "TSK-17",
    file: "packages/session/src/internal/tasks/AnswerDispatch.ts",
    original: "{ ...step, progressToken, _meta: TaskState.relatedMeta(this.#taskId) }",
    broken: "{ ...step, progressToken }",
    test: "packages/session/test/tasks/questionTasks.test.ts",
    name: "[PRG-08] [TSK-17]"
  },
  {
    id: "TSK-20",
    file: "packages/session/src/internal/tasks/TaskContext.ts",
    original: "ClientQuestion.rowOfStored(row.name, params) !== undefined",
    broken: "row.name === \"\"",
    test: "packages/session/test/tasks/questionTasks.test.ts",
    name: "[TSK-20] when that asks"
  },
  {
    id: "TSK-26",
    file: "packages/session/src/AnswerTasks.ts",
    original: "server = webCrypto.randomUUID()",
    broken: "server = \"the server\"",
    test: "packages/session/test/tasks/questionTasks.test.ts",
    name: "[TSK-26]"
  },
  {
    id: "TSK-28",
    file: "packages/session/src/AnswerTasks.ts",
    original: "TaskSettings.make(times)",
    broken: "TaskSettings.make({})",
    test: "packages/session/test/tasks/questionTasks.test.ts",
    name: "[TSK-28]"
  },
  {
    id: "TSK-01",
    file: "packages/session/src/internal/tasks/AnswerEndpoint.ts",
    original: "handles(\"elicitation/create\") ? ",
    broken: "true ? ",
    test: "packages/session/test/tasks/questionTasks.test.ts",
    name: "[TSK-01] [TSK-02] only if the client has declared it"
  },
  {
    id: "TSK-01",
    file: "packages/session/src/internal/tasks/AnswerEndpoint.ts",
    original: "handles(\"sampling/createMessage\") ? ",
    broken: "true ? ",
    test: "packages/session/test/tasks/questionTasks.test.ts",
    name: "[TSK-01] [TSK-02] only if the client has declared it"
  },
  {
    id: "TSK-11",
    file: "packages/session/src/internal/tasks/TaskState.ts",
    original: "ttl: task.ttlMillis ?? null,",
    broken: "ttl: task.ttlMillis ?? 0,",
    test: "packages/session/test/tasks/TaskState.test.ts",
    name: "has its times, its message and its lifetime"
  },
  {
    id: "TSK-28",
    file: "packages/session/src/internal/tasks/TaskSettings.ts",
    original: "maxTtl = \"1 day\"",
    broken: "maxTtl = \"Infinity\"",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-12] [TSK-28]"
  },
  {
    id: "TSK-28",
    file: "packages/session/src/internal/tasks/TaskSettings.ts",
    original: "ttl = \"1 hour\"",
    broken: "ttl = \"Infinity\"",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-12] [TSK-28]"
  },
  {
    id: "TSK-28",
    file: "packages/session/src/internal/tasks/TaskSettings.ts",
    original: "limits: { maxTasks, maxBytes }",
    broken: "limits: { maxTasks: Number.POSITIVE_INFINITY, maxBytes }",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-12] [TSK-28]"
  },
  {
    id: "TSK-10",
    file: "packages/session/src/internal/tasks/TaskState.ts",
    original: "  createdAt: timeOf(task.createdAt),\n  lastUpdatedAt: timeOf(task.updatedAt),\n  ttl",
    broken: "  createdAt: timeOf(task.updatedAt),\n  lastUpdatedAt: timeOf(task.updatedAt),\n  ttl",
    test: "packages/session/test/tasks/TaskState.test.ts",
    name: "has its times, its message and its lifetime"
  },
  {
    id: "TSK-25",
    file: "packages/session/src/internal/tasks/OwnedTasks.ts",
    original: "McpError.invalidParams(\"Invalid cursor\")",
    broken: "McpError.invalidRequest(\"Invalid cursor\")",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-18] [TSK-22] [TSK-25]"
  },
  {
    id: "TSK-25",
    file: "packages/session/src/internal/tasks/OwnedTasks.ts",
    original: "const unknownTask = McpError.invalidParams(",
    broken: "const unknownTask = McpError.methodNotFound(",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-18] [TSK-22] [TSK-25]"
  },
  {
    id: "TSK-22",
    file: "packages/session/src/internal/tasks/OwnedTasks.ts",
    original: "              next: listed.next,\n",
    broken: "              next: undefined,\n",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-18] [TSK-22] [TSK-25]"
  },
  {
    id: "TSK-19",
    file: "packages/session/src/internal/tasks/RequestedTasks.ts",
    original: "request(getRow, { taskId: id })",
    broken: "request(getRow, { taskId: id, _meta: { \"io.modelcontextprotocol/related-task\": { taskId: id } } })",
    test: "packages/session/test/tasks/clientTasks.test.ts",
    name: "[TSK-19]"
  },
  {
    id: "TSK-27",
    file: "packages/session/src/internal/tasks/TaskRuns.ts",
    original: "        id: webCrypto.randomUUID(),\n",
    broken: "        id: String(now + this.#running.size),\n",
    test: "packages/session/test/tasks/serverTasks.test.ts",
    name: "[TSK-27]"
  }
]
