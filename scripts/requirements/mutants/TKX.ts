import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "TKX-01",
    at: "TaskDispatch.beginningIn",
    original: "support === \"forbidden\" || !TaskExtension.isDeclared(profile.capabilities)",
    broken: "support === \"forbidden\"",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-01] [TKX-02]"
  },
  {
    id: "TKX-02",
    at: "TaskDispatch.#prepareByServer",
    original: "!TaskExtension.isCallable(plan.support, profile)",
    broken: "plan.support === \"required\" && profile.revision === \"2025-11-25\"",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-01] [TKX-02]"
  },
  {
    id: "TKX-06",
    at: "ModernRequestGate.constructor",
    original: "this.#isTask ? TaskExtension.resultType : \"complete\"",
    broken: "\"complete\"",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-06] [TKX-07]"
  },
  {
    id: "TKX-07",
    at: "TaskRuns.start",
    original: "Effect.onError(this.#tasks.create(task), () => Effect.sync(release))",
    broken: "Effect.forkIn(Effect.delay(Effect.ignore(this.#tasks.create(task)), 1_000), this.#scope)",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-06] [TKX-07]"
  },
  {
    id: "TKX-08",
    at: "TaskState.extension",
    original: "inputRequests: inputRequests(task)",
    broken: "inputRequests: {}",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-08] [TKX-09]"
  },
  {
    id: "TKX-09",
    at: "TaskQuestions.#put",
    original: "keyAt(questions.length, given)",
    broken: "keyAt(questions.filter(TaskState.isOpen).length, given)",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-08] [TKX-09]"
  },
  {
    id: "TKX-10",
    at: "TaskExtensionHandlers.make",
    original: "Effect.as(runs.cancel(taskId, principal), {})",
    broken: "Effect.map(runs.cancel(taskId, principal), ({ task }) => TaskState.extension(task))",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-10] [TKX-14]"
  },
  {
    id: "TKX-11",
    at: "TaskExtensionHandlers.make",
    original: "TaskState.isOpen(one) && answers.has(one.key) ? { ...one, answer: answers.get(one.key) } : one",
    broken: "answers.has(one.key) ? { ...one, answer: answers.get(one.key) } : one",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-08] [TKX-09]"
  },
  {
    id: "TKX-12",
    at: "TaskState.extension",
    original: "{ ...fields, status: \"completed\", result: membersOf(outcome.result) }",
    broken:
      "isFailure(outcome.result)\n        ? { ...fields, status: \"failed\", error: McpError.internalError }\n        : { ...fields, status: \"completed\", result: membersOf(outcome.result) }",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-08] [TKX-12]"
  },
  {
    id: "TKX-14",
    at: "OwnedTasks.unknownTask",
    original: "McpError.invalidParams(\"Unknown task; it may have expired\")",
    broken: "McpError.methodNotFound(\"Unknown task; it may have expired\")",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-10] [TKX-14]"
  },
  {
    id: "TKX-16",
    at: "OwnedTasks.isExpired",
    original: "createdAt + ttlMillis <= now",
    broken: "createdAt + ttlMillis / 2 <= now",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-08] [TKX-12]"
  },
  {
    id: "TKX-18",
    at: "OwnedTasks.ownState",
    original: "state.principal !== principal",
    broken: "(state.principal !== undefined && principal === undefined)",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-18]"
  },
  {
    id: "TKX-04",
    at: "TaskListening.serving",
    original: "TaskExtension.isDeclared(profile.capabilities)",
    broken: "TaskExtension.isDeclared(profile.capabilities) && requested.length > 100",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-04]"
  },
  {
    id: "TKX-17",
    at: "ListenStream.#deliver",
    original: "this.#send(this.#notification(\"notifications/tasks\", { ...task }))",
    broken:
      "Effect.andThen(this.#send(this.#notification(\"notifications/progress\", { progress: 1 })), this.#send(this.#notification(\"notifications/tasks\", { ...task })))",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-17]"
  },
  {
    id: "TKX-03",
    at: "ExtensionCalls.make",
    original:
      "isTask(response)\n        ? Effect.map(read(TaskExtension.CreatedTask, response), ({ taskId }) => of(taskId, tool))\n        : answered(tool, response)",
    broken:
      "isTask(response) || tool !== \"\"\n        ? Effect.map(read(TaskExtension.CreatedTask, response), ({ taskId }) => of(taskId, tool))\n        : answered(tool, response)",
    test: "packages/tasks/test/extensionClient.test.ts",
    name: "[TKX-03]"
  },
  {
    id: "TKX-03",
    at: "ResultEnvelope.remove",
    original: "resultType === TaskExtension.resultType ? { ...others, resultType } : others",
    broken: "others",
    test: "packages/tasks/test/extensionClient.test.ts",
    name: "[TKX-03]"
  },
  {
    id: "TKX-05",
    at: "TaskPolling.states",
    original: "pause(last.pollInterval, closed)",
    broken: "pause(100, closed)",
    test: "packages/tasks/test/extensionClient.test.ts",
    name: "[TKX-05]"
  },
  {
    id: "TKX-13",
    at: "TaskResults.#finish",
    original: "Effect.asVoid(Effect.forkDetach(Effect.ignore(sender.request(requests[\"tasks/cancel\"], { taskId }))))",
    broken: "Effect.void",
    test: "packages/tasks/test/extensionClient.test.ts",
    name: "[TKX-13]"
  },
  {
    id: "TKX-15",
    at: "RequestHeaders.nameSources",
    original: "\"tasks/get\": \"taskId\",",
    broken: "",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "[TKX-15]"
  },
  {
    id: "TKX-18",
    at: "TaskRuns.taskOf",
    original: "id: webCrypto.randomUUID()",
    broken: "id: `task-${this.#running.size}`",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-18]"
  },
  {
    id: "TKX-09",
    at: "TaskQuestions.#put",
    original: "keyAt(questions.length, given)",
    broken: "keyAt(questions.filter((one) => !isWithdrawn(one)).length, given)",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-09] never uses the key of a question again"
  },
  {
    id: "TKX-06",
    at: "TaskDispatch.#prepareByServer",
    original: "(task) => TaskState.extension(task)",
    broken: "(task) => ({ task: TaskState.extension(task) })",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-06] [TKX-07]"
  },
  {
    id: "TKX-12",
    at: "TaskState.extension",
    original: "status: \"failed\"",
    broken: "status: \"completed\"",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-08] [TKX-12]"
  },
  {
    id: "TKX-08",
    at: "TaskState.extension",
    original: "result: membersOf(outcome.result)",
    broken: "result: {}",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-08] [TKX-12]"
  },
  {
    id: "TKX-08",
    at: "TaskState.extension",
    original: "...outcome.error",
    broken: "...outcome.error, data: undefined",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-08] [TKX-12]"
  },
  {
    id: "TKX-10",
    at: "TaskExtensionHandlers.make",
    original: "Effect.fail(answersTooLarge) : Effect.succeed({})",
    broken: "Effect.fail(answersTooLarge) : Effect.succeed({ taskId })",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-08] [TKX-09]"
  },
  {
    id: "TKX-05",
    at: "TaskPolling.states",
    original: "pause(last.pollInterval, closed)",
    broken: "pause(100_000, closed)",
    test: "packages/tasks/test/extensionClient.test.ts",
    name: "[TKX-05]",
    hangs: true
  },
  {
    id: "TKX-11",
    at: "TaskExtensionHandlers.make",
    original: "const answers = new Map(Object.entries(inputResponses))",
    broken:
      "if (Object.keys(inputResponses).some((key) => !openQuestions.some((one) => one.key === key))) {\n              return Effect.fail(McpError.invalidParams(\"an answer to no question\"))\n            }\n              const answers = new Map(Object.entries(inputResponses))",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-08] [TKX-09]"
  },
  {
    id: "TKX-14",
    at: "TaskExtensionHandlers.make",
    original: "requests[\"tasks/get\"]",
    broken:
      "{ ...requests[\"tasks/get\"], name: \"tasks/result\" }, () => Effect.succeed({})),\n    Extension.request(\n      requests[\"tasks/get\"]",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-10] [TKX-14]"
  },
  {
    id: "TKX-14",
    at: "TaskExtensionHandlers.make",
    original: "requests[\"tasks/get\"]",
    broken:
      "{ ...requests[\"tasks/get\"], name: \"tasks/list\" }, () => Effect.succeed({})),\n    Extension.request(\n      requests[\"tasks/get\"]",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-10] [TKX-14]"
  },
  {
    id: "TKX-17",
    at: "ListenStream.#deliver",
    original: "this.#send(this.#notification(\"notifications/tasks\", { ...task }))",
    broken:
      "Effect.andThen(this.#send(this.#notification(\"notifications/message\", { level: \"info\", data: 1 })), this.#send(this.#notification(\"notifications/tasks\", { ...task })))",
    test: "packages/tasks/test/taskExtension.test.ts",
    name: "[TKX-17]"
  }
]
