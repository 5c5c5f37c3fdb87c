import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "TKX-01",
    file: "packages/session/src/internal/tasks/TaskDispatch.ts",
    original: "support === \"forbidden\" || !DeclaredExtension.isIn(profile) ? undefined : begins",
    broken: "support === \"forbidden\" ? undefined : begins",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-01] [TKX-02]"
  },
  {
    id: "TKX-02",
    file: "packages/session/src/internal/tasks/TaskDispatch.ts",
    original: "!DeclaredExtension.isCallable(plan.support, profile)",
    broken: "plan.support === \"required\" && profile.revision === \"2025-11-25\"",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-01] [TKX-02]"
  },
  {
    id: "TKX-06",
    file: "packages/session/src/internal/server/ModernExchange.ts",
    original: "this.#isTask ? TaskExtension.resultType : \"complete\"",
    broken: "\"complete\"",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-06] [TKX-07]"
  },
  {
    id: "TKX-07",
    file: "packages/session/src/internal/tasks/TaskRuns.ts",
    original: "      yield* Effect.onError(this.#tasks.create(task), () => Effect.sync(release))\n",
    broken: "      yield* Effect.forkIn(Effect.delay(Effect.ignore(this.#tasks.create(task)), 1_000), this.#scope)\n",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-06] [TKX-07]"
  },
  {
    id: "TKX-08",
    file: "packages/session/src/internal/tasks/TaskState.ts",
    original: "{ ...fields, status, inputRequests: inputRequests(task) }",
    broken: "{ ...fields, status, inputRequests: {} }",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-08] [TKX-09]"
  },
  {
    id: "TKX-09",
    file: "packages/session/src/internal/tasks/TaskQuestions.ts",
    original: "keyAt(questions.length, given)",
    broken: "keyAt(questions.filter(TaskState.isOpen).length, given)",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-08] [TKX-09]"
  },
  {
    id: "TKX-10",
    file: "packages/session/src/internal/tasks/TaskExtensionHandlers.ts",
    original: "Effect.as(runs.cancel(taskId, principal), {})",
    broken: "Effect.map(runs.cancel(taskId, principal), ({ task }) => TaskState.extension(task))",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-10] [TKX-14]"
  },
  {
    id: "TKX-11",
    file: "packages/session/src/internal/tasks/TaskExtensionHandlers.ts",
    original: "TaskState.isOpen(one) && answers.has(one.key) ? {",
    broken: "answers.has(one.key) ? {",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-08] [TKX-09]"
  },
  {
    id: "TKX-12",
    file: "packages/session/src/internal/tasks/TaskState.ts",
    original: "return { ...fields, status: \"completed\", result: membersOf(outcome.result) }",
    broken:
      "return isFailure(outcome.result)\n        ? { ...fields, status: \"failed\", error: McpError.internalError }\n        : { ...fields, status: \"completed\", result: membersOf(outcome.result) }",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-08] [TKX-12]"
  },
  {
    id: "TKX-14",
    file: "packages/session/src/internal/tasks/OwnedTasks.ts",
    original: "const unknownTask = McpError.invalidParams(",
    broken: "const unknownTask = McpError.methodNotFound(",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-10] [TKX-14]"
  },
  {
    id: "TKX-16",
    file: "packages/session/src/internal/tasks/OwnedTasks.ts",
    original: "createdAt + ttlMillis <= now",
    broken: "createdAt + ttlMillis / 2 <= now",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-08] [TKX-12]"
  },
  {
    id: "TKX-18",
    file: "packages/session/src/internal/tasks/OwnedTasks.ts",
    original: "state === undefined || state.principal !== principal ||",
    broken: "state === undefined || (state.principal !== undefined && principal === undefined) ||",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-18]"
  },
  {
    id: "TKX-04",
    file: "packages/session/src/internal/tasks/TaskListening.ts",
    original: "if (!DeclaredExtension.isIn(profile)) return",
    broken: "if (!DeclaredExtension.isIn(profile) && requested.length > 100) return",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-04]"
  },
  {
    id: "TKX-17",
    file: "packages/session/src/internal/server/ListenStream.ts",
    original: "(task) => this.#send(this.#notification(\"notifications/tasks\", { ...task }))",
    broken:
      "(task) => Effect.andThen(this.#send(this.#notification(\"notifications/progress\", { progress: 1 })), this.#send(this.#notification(\"notifications/tasks\", { ...task })))",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-17]"
  },
  {
    id: "TKX-03",
    file: "packages/session/src/internal/client/ExtensionTasks.ts",
    original: "      isTask(response)\n        ? Effect.map(",
    broken: "      isTask(response) || tool !== \"\"\n        ? Effect.map(",
    test: "packages/session/test/tasks/extensionClient.test.ts",
    name: "[TKX-03]"
  },
  {
    id: "TKX-03",
    file: "packages/session/src/internal/client/ResultEnvelope.ts",
    original: "const rest = resultType === TaskExtension.resultType ? { ...others, resultType } : others",
    broken: "const rest = others",
    test: "packages/session/test/tasks/extensionClient.test.ts",
    name: "[TKX-03]"
  },
  {
    id: "TKX-05",
    file: "packages/session/src/internal/tasks/TaskPolling.ts",
    original: "pause(last.pollInterval, closed)",
    broken: "pause(100, closed)",
    test: "packages/session/test/tasks/extensionClient.test.ts",
    name: "[TKX-05]"
  },
  {
    id: "TKX-13",
    file: "packages/session/src/internal/client/ExtensionTasks.ts",
    original: "() => Effect.asVoid(Effect.forkDetach(Effect.ignore(this.#cancel(taskId))))",
    broken: "() => Effect.void",
    test: "packages/session/test/tasks/extensionClient.test.ts",
    name: "[TKX-13]"
  },
  {
    id: "TKX-15",
    file: "packages/protocol/src/RequestHeaders.ts",
    original: "  \"tasks/get\": \"taskId\",\n",
    broken: "",
    test: "packages/transport/test/http/client/streamable/modern.test.ts",
    name: "[TKX-15]"
  },
  {
    id: "TKX-18",
    file: "packages/session/src/internal/tasks/TaskRuns.ts",
    original: "id: webCrypto.randomUUID(),",
    broken: "id: `task-${this.#running.size}`,",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-18]"
  },
  {
    id: "TKX-09",
    file: "packages/session/src/internal/tasks/TaskQuestions.ts",
    original: "keyAt(questions.length, given)",
    broken: "keyAt(questions.filter((one) => !isWithdrawn(one)).length, given)",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-09] never uses the key of a question again"
  },
  {
    id: "TKX-06",
    file: "packages/session/src/internal/tasks/TaskDispatch.ts",
    original: "prepareTask(message, params, profile, {}, plan, (task) => TaskState.extension(task))",
    broken: "prepareTask(message, params, profile, {}, plan, (task) => ({ task: TaskState.extension(task) }))",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-06] [TKX-07]"
  },
  {
    id: "TKX-12",
    file: "packages/session/src/internal/tasks/TaskState.ts",
    original: "return { ...fields, status: \"failed\", error: { ...outcome.error,",
    broken: "return { ...fields, status: \"completed\", error: { ...outcome.error,",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-08] [TKX-12]"
  },
  {
    id: "TKX-08",
    file: "packages/session/src/internal/tasks/TaskState.ts",
    original: "status: \"completed\", result: membersOf(outcome.result) }",
    broken: "status: \"completed\", result: {} }",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-08] [TKX-12]"
  },
  {
    id: "TKX-08",
    file: "packages/session/src/internal/tasks/TaskState.ts",
    original: "status: \"failed\", error: { ...outcome.error,",
    broken: "status: \"failed\", error: { ...outcome.error, data: undefined,",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-08] [TKX-12]"
  },
  {
    id: "TKX-10",
    file: "packages/session/src/internal/tasks/TaskExtensionHandlers.ts",
    original: "Effect.fail(answersTooLarge) : Effect.succeed({})",
    broken: "Effect.fail(answersTooLarge) : Effect.succeed({ taskId })",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-08] [TKX-09]"
  },
  {
    id: "TKX-05",
    file: "packages/session/src/internal/tasks/TaskPolling.ts",
    original: "pause(last.pollInterval, closed)",
    broken: "pause(100_000, closed)",
    test: "packages/session/test/tasks/extensionClient.test.ts",
    name: "[TKX-05]",
    hangs: true
  },
  {
    id: "TKX-11",
    file: "packages/session/src/internal/tasks/TaskExtensionHandlers.ts",
    original: "Effect.flatMap(tasks.load(taskId, principal), ({ openQuestions }) => {\n",
    broken:
      "Effect.flatMap(tasks.load(taskId, principal), ({ openQuestions }) => {\n            if (Object.keys(inputResponses).some((key) => !openQuestions.some((one) => one.key === key))) {\n              return Effect.fail(McpError.invalidParams(\"an answer to no question\"))\n            }\n",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-08] [TKX-09]"
  },
  {
    id: "TKX-14",
    file: "packages/session/src/internal/tasks/TaskExtensionHandlers.ts",
    original: "    Extension.request(\n      requests[\"tasks/get\"],\n",
    broken:
      "    Extension.request({ ...requests[\"tasks/get\"], name: \"tasks/result\" }, () => Effect.succeed({})),\n    Extension.request(\n      requests[\"tasks/get\"],\n",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-10] [TKX-14]"
  },
  {
    id: "TKX-14",
    file: "packages/session/src/internal/tasks/TaskExtensionHandlers.ts",
    original: "    Extension.request(\n      requests[\"tasks/get\"],\n",
    broken:
      "    Extension.request({ ...requests[\"tasks/get\"], name: \"tasks/list\" }, () => Effect.succeed({})),\n    Extension.request(\n      requests[\"tasks/get\"],\n",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-10] [TKX-14]"
  },
  {
    id: "TKX-17",
    file: "packages/session/src/internal/server/ListenStream.ts",
    original: "(task) => this.#send(this.#notification(\"notifications/tasks\", { ...task }))",
    broken:
      "(task) => Effect.andThen(this.#send(this.#notification(\"notifications/message\", { level: \"info\", data: 1 })), this.#send(this.#notification(\"notifications/tasks\", { ...task })))",
    test: "packages/session/test/tasks/taskExtension.test.ts",
    name: "[TKX-17]"
  }
]
