import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "MRTR-01",
    file: "packages/session/src/internal/server/replay/ReplayedRun.ts",
    original: "          this.#isSuspended = true\n",
    broken: "",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks in its result, with a state"
  },
  {
    id: "MRTR-02",
    file: "packages/session/src/internal/server/ModernExchange.ts",
    original: "if (!InputRequired.methods.has(method)) return",
    broken: "if (method === \"tools/list\") return",
    test: "packages/session/test/replay/questions.test.ts",
    name: "gets an error where the method has no questions"
  },
  {
    id: "MRTR-03",
    file: "packages/session/src/internal/server/replay/ReplayedRun.ts",
    original: "{ inputRequests: questions, requestState }",
    broken: "{}",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks in its result, with a state"
  },
  {
    id: "MRTR-04",
    file: "packages/session/src/internal/server/replay/ReplayedRun.ts",
    original: "before !== undefined && before !== digest",
    broken: "false",
    test: "packages/session/test/replay/questions.test.ts",
    name: "fails if two questions have one key"
  },
  {
    id: "MRTR-05",
    file: "packages/session/src/internal/engine/ClientQuestion.ts",
    original: "    method: name,\n",
    broken: "    method: `${name}d`,\n",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks in its result, with a state"
  },
  {
    id: "MRTR-06",
    file: "packages/session/src/internal/engine/ClientQuestion.ts",
    original: "Outgoing.validateCapability(row, profile, ({ capabilities }) => capabilities)",
    broken: "undefined",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks its client only for what the request declares"
  },
  {
    id: "MRTR-07",
    file: "packages/session/src/internal/server/replay/RequestState.ts",
    original: "    yield* warnOfForeign(settings, owner)\n    return yield* Effect.fail(rejected)\n",
    broken: "    return initial\n",
    test: "packages/session/test/replay/requestState.test.ts",
    name: "is rejected for a changed state"
  },
  {
    id: "MRTR-08",
    file: "packages/session/src/internal/server/replay/RequestState.ts",
    original: "    yield* warnOfForeign(settings, owner)\n    return yield* Effect.fail(rejected)\n",
    broken: "    return initial\n",
    test: "packages/session/test/replay/requestState.test.ts",
    name: "is rejected for a state that is cut off"
  },
  {
    id: "MRTR-09",
    file: "packages/session/src/internal/server/replay/RequestState.ts",
    original: "principal?.id ?? null, method, own",
    broken: "method, own",
    test: "packages/session/test/replay/requestState.test.ts",
    name: "is rejected for another principal"
  },
  {
    id: "MRTR-09",
    file: "packages/session/src/internal/server/replay/RequestState.ts",
    original: "principal?.id ?? null, method, own",
    broken: "principal?.id ?? null, method",
    test: "packages/session/test/replay/requestState.test.ts",
    name: "is rejected for other arguments"
  },
  {
    id: "MRTR-09",
    file: "packages/session/src/internal/server/replay/RequestState.ts",
    original: "  if (expiresAt <= now()) return yield* Effect.fail(rejected)\n",
    broken: "",
    test: "packages/session/test/replay/requestState.test.ts",
    name: "is rejected when it has expired"
  },
  {
    id: "MRTR-10",
    file: "packages/session/src/internal/server/replay/RequestState.ts",
    original: "  if (used !== undefined && ",
    broken: "  if (used !== undefined && false && ",
    test: "packages/session/test/replay/requestState.test.ts",
    name: "is accepted once where the server says so"
  },
  {
    id: "MRTR-10",
    file: "packages/session/src/internal/server/ServerDefinition.ts",
    original: "isSingleUse ? Context.get(context, UsedStates)",
    broken: "isSingleUse ? Context.get(Context.empty(), UsedStates)",
    test: "packages/transport/test/replicas.test.ts",
    name: "with a common store, reject a state that"
  },
  {
    id: "MRTR-11",
    file: "packages/session/src/internal/server/replay/ReplayedRun.ts",
    original:
      "    this.#close()\n    const root = this.#root\n    root?.interruptUnsafe()\n    const isEnded = root === undefined || root.pollUnsafe() !== undefined\n",
    broken: "    this.#isClosed = true\n    const root = this.#root\n    const isEnded = true\n",
    test: "packages/session/test/replay/questions.test.ts",
    name: "keeps nothing for a client that does not come back"
  },
  {
    id: "MRTR-12",
    file: "packages/session/src/internal/server/replay/RequestState.ts",
    original: "    if (Result.isFailure(retry)) {\n",
    broken:
      "    if (Result.isFailure(retry)) return Effect.succeed({ state: initial, responses: new Map() })\n    if (Result.isFailure(retry)) {\n",
    test: "packages/session/test/replay/requestState.test.ts",
    name: "and answers of a wrong form are invalid"
  },
  {
    id: "MRTR-13",
    file: "packages/session/src/internal/server/replay/ReplayedRun.ts",
    original: "    const questions = [...this.#open].map(([key, { question }]) => [key, question] as const)\n",
    broken:
      "    if (this.#taken.size > 0) return this.#cut(failure(\"an answer is missing\"))\n    const questions = [...this.#open].map(([key, { question }]) => [key, question] as const)\n",
    test: "packages/session/test/replay/questions.test.ts",
    name: "may ask the same again after an answer is missing"
  },
  {
    id: "MRTR-17",
    file: "packages/session/src/internal/engine/PendingRequests.ts",
    original: "    return this.#nextId++\n",
    broken: "    return Math.min(this.#nextId++, 1)\n",
    test: "packages/session/test/inputRounds.test.ts",
    name: "is answered by the handler of its method"
  },
  {
    id: "MRTR-15",
    file: "packages/session/src/internal/client/InputRounds.ts",
    original: "requestState === undefined ? {} : { requestState }",
    broken: "{ requestState: requestState ?? \"\" }",
    test: "packages/session/test/inputRounds.test.ts",
    name: "its answers and its state go with the next round only"
  },
  {
    id: "MRTR-18",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "  const { inputResponses: _, requestState: __, ...given }: InputRequired.Retry = params\n",
    broken: "  const { ...given }: InputRequired.Retry = Object.assign(params, retry)\n",
    test: "packages/session/test/inputRounds.test.ts",
    name: "its answers and its state go with the next round only"
  },
  {
    id: "MRTR-18",
    file: "packages/session/src/internal/engine/Sender.ts",
    original: "const { inputResponses: _, requestState: __, ...given }: InputRequired.Retry = params",
    broken: "const { ...given }: InputRequired.Retry = params",
    test: "packages/session/test/inputRounds.test.ts",
    name: "the caller's own answers are not sent again"
  },
  {
    id: "MRTR-14",
    file: "packages/session/src/internal/client/InputRounds.ts",
    original: "Effect.map(this.#answer({ method }, server, key, question), (answer) => [key, answer] as const),",
    broken:
      "Effect.map(Effect.raceFirst(this.#answer({ method }, server, key, question), Effect.as(Effect.yieldNow, {})), (answer) => [key, answer] as const),",
    test: "packages/session/test/inputRounds.test.ts",
    name: "no answer is sent before all answers"
  },
  {
    id: "MRTR-16",
    file: "packages/session/src/internal/client/InputRounds.ts",
    original: "requestState === undefined ? {} : { requestState }",
    broken: "requestState === undefined ? {} : { requestState: requestState.trim() }",
    test: "packages/session/test/inputRounds.test.ts",
    name: "its state is a text that the client sends back"
  },
  {
    id: "MRTR-16",
    file: "packages/session/src/internal/client/InputRounds.ts",
    original: "requestState === undefined ? {} : { requestState }",
    broken: "requestState === undefined ? {} : { requestState: requestState.normalize() }",
    test: "packages/session/test/inputRounds.test.ts",
    name: "its state keeps characters"
  },
  {
    id: "MRTR-15",
    file: "packages/session/src/internal/client/InputRounds.ts",
    original: "requestState === undefined ? {} : { requestState }",
    broken: "requestState === undefined ? {} : { requestState: requestState.trim() }",
    test: "packages/session/test/inputRounds.test.ts",
    name: "its state is a text that the client sends back"
  },
  {
    id: "MRTR-13",
    file: "packages/session/src/internal/server/replay/ReplayedRun.ts",
    original: "        this.#state = state\n        this.#responses = responses\n",
    broken:
      "        if ([...responses.keys()].some((key) => !Object.hasOwn(state.questions, key))) {\n          return Effect.fail(McpError.invalidParams(\"an answer to no question\"))\n        }\n        this.#state = state\n        this.#responses = responses\n",
    test: "packages/session/test/replay/questions.test.ts",
    name: "may ask the same again after an answer is missing"
  }
]
