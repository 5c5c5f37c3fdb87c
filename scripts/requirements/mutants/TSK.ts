import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "TSK-06",
    at: "Dispatch.make",
    original: "!isKnown",
    broken: "!isKnown || (request.params !== undefined && \"task\" in request.params)",
    test: "packages/session/test/undeclaredCapabilities.test.ts",
    name: "[TSK-06]"
  },
  {
    id: "TSK-01",
    at: "TaskHandlers.capabilities",
    original: "{ list: {}, cancel: {}, requests: { tools: { call: {} } } }",
    broken: "{ list: {}, cancel: {} }",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-01] declares them"
  },
  {
    id: "TSK-04",
    at: "TaskDispatch.#prepareByClient",
    original: "if (support === \"forbidden\") return",
    broken: "if (support === \"forbidden\" && tool === \"\") return",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-04] [TSK-05] rejects"
  },
  {
    id: "TSK-05",
    at: "TaskDispatch.#prepareByClient",
    original: "support === \"required\"",
    broken: "tool === \"\"",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-04] [TSK-05] rejects"
  },
  {
    id: "TSK-07",
    at: "TaskRuns.taskOf",
    original: "id: webCrypto.randomUUID()",
    broken: "id: `task-${this.#running.size}`",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-07]"
  },
  {
    id: "TSK-08",
    at: "TaskState.unfinished",
    original: "openQuestions.length > 0 ? \"input_required\" : \"working\"",
    broken: "openQuestions.length > 0 ? \"input_required\" : \"completed\"",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-07] [TSK-08]"
  },
  {
    id: "TSK-09",
    at: "TaskRuns.cancel",
    original: "outcome === undefined",
    broken: "true",
    test: "packages/tasks/test/TaskRuns.test.ts",
    name: "[TSK-09]"
  },
  {
    id: "TSK-10",
    at: "TaskState.legacy",
    original: "timeOf(task.updatedAt)",
    broken: "timeOf(task.createdAt)",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-10]"
  },
  {
    id: "TSK-11",
    at: "TaskState.legacy",
    original: "task.ttlMillis ?? null",
    broken: "null",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-11]"
  },
  {
    id: "TSK-12",
    at: "OwnedTasks.ownState",
    original: "state.principal !== principal || isExpired(state, clock.currentTimeMillisUnsafe())",
    broken: "state.principal !== principal",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-12]"
  },
  {
    id: "TSK-14",
    at: "TaskDispatch.#prepareByClient",
    original: "{ task: TaskState.legacy(task) }",
    broken: "TaskState.legacy(task)",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-14]"
  },
  {
    id: "TSK-15",
    at: "TaskState.payload",
    original: "McpError.received(outcome.error)",
    broken: "McpError.internalError",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-15]"
  },
  {
    id: "TSK-16",
    at: "TaskResult.untilEnded",
    original: "if (ending !== undefined) return endpoint.tasks.ended(task)",
    broken: "if (task.version > 0) return Effect.succeed({ _tag: \"Cancelled\" })",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-16]"
  },
  {
    id: "TSK-17",
    at: "TaskResult.deliverQuestion",
    original: "meta: TaskState.relatedMeta(id),",
    broken: "",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-17] [TSK-20] asks"
  },
  {
    id: "TSK-19",
    at: "HandlerRun.notifiedSession",
    original: "Outgoing.notification(row, task, profile, server)",
    broken: "Outgoing.notification(row, { ...task, _meta: TaskState.relatedMeta(task.taskId) }, profile, server)",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-19]"
  },
  {
    id: "TSK-20",
    at: "TaskState.unfinished",
    original: "openQuestions.length > 0",
    broken: "openQuestions.length > 9",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-20]"
  },
  {
    id: "TSK-22",
    at: "TaskMethods.handlersOf",
    original: "...(next === undefined ? undefined : { nextCursor: next })",
    broken: "",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-22]"
  },
  {
    id: "TSK-23",
    at: "TaskMethods.handlersOf",
    original: "return isNew",
    broken: "return true",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-23]"
  },
  {
    id: "TSK-24",
    at: "TaskRuns.cancel",
    original: "{ ...withoutRun, outcome: { _tag: \"Cancelled\" }, cancelRequested: true }",
    broken: "{ cancelRequested: true }",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-24]"
  },
  {
    id: "TSK-24",
    at: "StoredTask.change",
    original: "if (stored.outcome !== undefined && !isSame(stored.outcome, task.outcome)) return undefined",
    broken: "",
    test: "packages/tasks/test/StoredTask.test.ts",
    name: "[TSK-24]"
  },
  {
    id: "TSK-25",
    at: "OwnedTasks.list",
    original: "Effect.fail(McpError.invalidParams(\"Invalid cursor\"))",
    broken: "Effect.succeed({ next: undefined, tasks: [] })",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-25]"
  },
  {
    id: "TSK-26",
    at: "OwnedTasks.ownState",
    original: "state === undefined || DurableCallId.is(state.id) || state.principal !== principal",
    broken: "state === undefined || DurableCallId.is(state.id)",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-26]"
  },
  {
    id: "TSK-27",
    at: "TaskHandlers.make",
    original: "principal !== undefined || listsAnonymous",
    broken: "principal !== undefined || listsAnonymous !== undefined",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-27]"
  },
  {
    id: "TSK-28",
    at: "TaskRuns.taskOf",
    original: "Math.min(Math.max(ttlMillis ?? usual, 0), longest)",
    broken: "ttlMillis ?? usual",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-28]"
  },
  {
    id: "TSK-29",
    at: "TaskState.legacyStatus",
    original: "case \"Error\":\n      return \"failed\"",
    broken: "return \"completed\"\n    case \"Error\":\n      return \"failed\"",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-29]"
  },
  {
    id: "TSK-18",
    at: "TaskMethods.handlersOf",
    original:
      "({ taskId }: Task.TaskParams) =>\n      reading((principal) => Effect.map(tasks.load(taskId, principal), TaskState.legacy))",
    broken:
      "({ _meta, taskId }: Task.TaskParams) =>\n    reading((principal) =>\n      Effect.map(\n        tasks.load(Object(Object(_meta)[\"io.modelcontextprotocol/related-task\"]).taskId ?? taskId, principal),\n        TaskState.legacy\n      )\n    )",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-18]"
  },
  {
    id: "TSK-02",
    at: "LegacyCalls.make",
    original: "support === undefined",
    broken: "support === undefined && tool === \"\"",
    test: "packages/tasks/test/clientTasks.test.ts",
    name: "[TSK-02] [TSK-03]"
  },
  {
    id: "TSK-03",
    at: "LegacyCalls.make",
    original: "{ _tag: \"MissingCapability\", capability: \"tasks.requests.tools.call\" }",
    broken: "{ _tag: \"StatelessModeNotSupported\" }",
    test: "packages/tasks/test/clientTasks.test.ts",
    name: "[TSK-02] [TSK-03]"
  },
  {
    id: "TSK-04",
    at: "LegacyCalls.make",
    original: "(yield* support.of(tool)) === \"forbidden\"",
    broken: "(yield* support.of(tool)) === \"forbidden\" && tool === \"\"",
    test: "packages/tasks/test/clientTasks.test.ts",
    name: "[TSK-04] [TSK-05]"
  },
  {
    id: "TSK-05",
    at: "LegacyClient.requiresTask",
    original: "this.#taskSupport?.known(tool) === \"required\"",
    broken: "tool === \"\"",
    test: "packages/tasks/test/clientTasks.test.ts",
    name: "[TSK-04] [TSK-05]"
  },
  {
    id: "TSK-13",
    at: "TaskPolling.pause",
    original: "wished ?? defaultMillis",
    broken: "defaultMillis",
    test: "packages/tasks/test/clientTasks.test.ts",
    name: "[TSK-13]"
  },
  {
    id: "TSK-15",
    at: "LegacyCalls.make",
    original: "tool === undefined ? received : checked(tool, received)",
    broken: "received",
    test: "packages/tasks/test/clientTasks.test.ts",
    name: "[TSK-15] and receives"
  },
  {
    id: "TSK-21",
    at: "TaskPolling.pause",
    original: "wished ?? defaultMillis",
    broken: "wished ?? 86_400_000",
    test: "packages/tasks/test/clientTasks.test.ts",
    name: "[TSK-21]",
    hangs: true
  },
  {
    id: "TSK-01",
    at: "ClientTaskEndpoint.capabilities",
    original: "handles(\"sampling/createMessage\") ? { sampling: { createMessage: {} } } : undefined",
    broken: "{ sampling: { createMessage: {} } }",
    test: "packages/tasks/test/questionTasks.test.ts",
    name: "[TSK-01] [TSK-02]"
  },
  {
    id: "TSK-02",
    at: "SemanticChecks.validateTask",
    original: "Capabilities.coversTasks(tasks, { requests })",
    broken: "Capabilities.coversTasks(tasks, { requests: {} })",
    test: "packages/tasks/test/questionTasks.test.ts",
    name: "[TSK-01] [TSK-02]"
  },
  {
    id: "TSK-14",
    at: "ClientTaskDispatch.start",
    original: "return { task: TaskState.legacy(task) }",
    broken: "return { task: { ...TaskState.legacy(task), taskId: \"t\" } }",
    test: "packages/tasks/test/questionTasks.test.ts",
    name: "[TSK-07] [TSK-08]"
  },
  {
    id: "TSK-16",
    at: "OwnedTasks.outcome",
    original: "Effect.flatMap(this.next(state, principal), wait)",
    broken: "Effect.succeed({ _tag: \"Cancelled\" })",
    test: "packages/tasks/test/questionTasks.test.ts",
    name: "[TSK-07] [TSK-08]"
  },
  {
    id: "TSK-17",
    at: "ClientTaskDispatch.progress",
    original: "{ ...step, progressToken, _meta: TaskState.relatedMeta(taskId) }",
    broken: "{ ...step, progressToken }",
    test: "packages/tasks/test/questionTasks.test.ts",
    name: "[PRG-08] [TSK-17]"
  },
  {
    id: "TSK-20",
    at: "TaskContext.taskRequests",
    original: "ClientQuestion.rowOfStored(row.name, params) !== undefined",
    broken: "row.name === \"\"",
    test: "packages/tasks/test/questionTasks.test.ts",
    name: "[TSK-20] when that asks"
  },
  {
    id: "TSK-26",
    at: "ClientTasks.make",
    original: "server = webCrypto.randomUUID()",
    broken: "server = \"the server\"",
    test: "packages/tasks/test/questionTasks.test.ts",
    name: "[TSK-26]"
  },
  {
    id: "TSK-28",
    at: "ClientTasks.make",
    original: "TaskSettings.make(times)",
    broken: "TaskSettings.make({})",
    test: "packages/tasks/test/questionTasks.test.ts",
    name: "[TSK-28]"
  },
  {
    id: "TSK-01",
    at: "ClientTaskEndpoint.capabilities",
    original: "handles(\"elicitation/create\")",
    broken: "true",
    test: "packages/tasks/test/questionTasks.test.ts",
    name: "[TSK-01] [TSK-02] only if the client has declared it"
  },
  {
    id: "TSK-01",
    at: "ClientTaskEndpoint.capabilities",
    original: "handles(\"sampling/createMessage\")",
    broken: "true",
    test: "packages/tasks/test/questionTasks.test.ts",
    name: "[TSK-01] [TSK-02] only if the client has declared it"
  },
  {
    id: "TSK-11",
    at: "TaskState.legacy",
    original: "task.ttlMillis ?? null",
    broken: "task.ttlMillis ?? 0",
    test: "packages/tasks/test/TaskState.test.ts",
    name: "has its times, its message and its lifetime"
  },
  {
    id: "TSK-28",
    at: "TaskSettings.make",
    original: "maxTtl = \"1 day\"",
    broken: "maxTtl = \"Infinity\"",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-12] [TSK-28]"
  },
  {
    id: "TSK-28",
    at: "TaskSettings.make",
    original: "ttl = \"1 hour\"",
    broken: "ttl = \"Infinity\"",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-12] [TSK-28]"
  },
  {
    id: "TSK-28",
    at: "TaskSettings.make",
    original: "limits: { maxTasks, maxBytes }",
    broken: "limits: { maxTasks: Number.POSITIVE_INFINITY, maxBytes }",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-12] [TSK-28]"
  },
  {
    id: "TSK-10",
    at: "TaskState.legacy",
    original: "timeOf(task.createdAt)",
    broken: "timeOf(task.updatedAt)",
    test: "packages/tasks/test/TaskState.test.ts",
    name: "has its times, its message and its lifetime"
  },
  {
    id: "TSK-25",
    at: "OwnedTasks.list",
    original: "McpError.invalidParams(\"Invalid cursor\")",
    broken: "McpError.invalidRequest(\"Invalid cursor\")",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-18] [TSK-22] [TSK-25]"
  },
  {
    id: "TSK-25",
    at: "OwnedTasks.unknownTask",
    original: "McpError.invalidParams(\"Unknown task; it may have expired\")",
    broken: "McpError.methodNotFound(\"Unknown task; it may have expired\")",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-18] [TSK-22] [TSK-25]"
  },
  {
    id: "TSK-22",
    at: "OwnedTasks.list",
    original: "const { next } = listed",
    broken: "const next = undefined",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-18] [TSK-22] [TSK-25]"
  },
  {
    id: "TSK-19",
    at: "RequestedTasks.of",
    original: "request(getRow, { taskId: id })",
    broken: "request(getRow, { taskId: id, _meta: { \"io.modelcontextprotocol/related-task\": { taskId: id } } })",
    test: "packages/tasks/test/clientTasks.test.ts",
    name: "[TSK-19]"
  },
  {
    id: "TSK-27",
    at: "TaskRuns.taskOf",
    original: "id: webCrypto.randomUUID()",
    broken: "id: String(now + this.#running.size)",
    test: "packages/tasks/test/serverTasks.test.ts",
    name: "[TSK-27]"
  }
]
