import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "MRTR-01",
    at: "ReplayedRun.#inputRequired",
    original: "this.#isSuspended = true",
    broken: "",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks in its result, with a state"
  },
  {
    id: "MRTR-02",
    at: "ModernRequestGate.prepare",
    original: "!InputRequired.methods.has(method)",
    broken: "method === \"tools/list\"",
    test: "packages/session/test/replay/questions.test.ts",
    name: "gets an error where the method has no questions"
  },
  {
    id: "MRTR-03",
    at: "ReplayedRun.#inputRequired",
    original: "{ inputRequests: questions, requestState }",
    broken: "{}",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks in its result, with a state"
  },
  {
    id: "MRTR-04",
    at: "QuestionJournal.enter",
    original: "before !== undefined && before !== digest",
    broken: "false",
    test: "packages/session/test/replay/questions.test.ts",
    name: "fails if two questions have one key"
  },
  {
    id: "MRTR-05",
    at: "ClientQuestion.make",
    original: "method: name",
    broken: "method: `${name}d`",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks in its result, with a state"
  },
  {
    id: "MRTR-06",
    at: "ClientQuestion.blocked",
    original: "Outgoing.validateCapability(row, profile, ({ capabilities }) => capabilities)",
    broken: "undefined",
    test: "packages/session/test/replay/questions.test.ts",
    name: "asks its client only for what the request declares"
  },
  {
    id: "MRTR-07",
    at: "RequestState.open",
    original: "yield* warnOfForeign(settings, owner)\n    return yield* Effect.fail(rejected)",
    broken: "return initial",
    test: "packages/session/test/replay/requestState.test.ts",
    name: "is rejected for a changed state"
  },
  {
    id: "MRTR-08",
    at: "RequestState.open",
    original: "yield* warnOfForeign(settings, owner)\n    return yield* Effect.fail(rejected)",
    broken: "return initial",
    test: "packages/session/test/replay/requestState.test.ts",
    name: "is rejected for a state that is cut off"
  },
  {
    id: "MRTR-09",
    at: "RequestState.contextOf",
    original: "principal?.id ?? null, method, own",
    broken: "method, own",
    test: "packages/session/test/replay/requestState.test.ts",
    name: "is rejected for another principal"
  },
  {
    id: "MRTR-09",
    at: "RequestState.contextOf",
    original: "principal?.id ?? null, method, own",
    broken: "principal?.id ?? null, method",
    test: "packages/session/test/replay/requestState.test.ts",
    name: "is rejected for other arguments"
  },
  {
    id: "MRTR-09",
    at: "RequestState.open",
    original: "if (expiresAt <= now()) return yield* Effect.fail(rejected)",
    broken: "",
    test: "packages/session/test/replay/requestState.test.ts",
    name: "is rejected when it has expired"
  },
  {
    id: "MRTR-10",
    at: "RequestState.open",
    original: "used !== undefined",
    broken: "used !== undefined && false",
    test: "packages/session/test/replay/requestState.test.ts",
    name: "is accepted once where the server says so"
  },
  {
    id: "MRTR-10",
    at: "ServerDefinition.requestStateSettings",
    original: "Context.get(context, UsedStates)",
    broken: "Context.get(Context.empty(), UsedStates)",
    test: "packages/transport/test/replicas.test.ts",
    name: "with a common store, reject a state that"
  },
  {
    id: "MRTR-11",
    at: "RunFiber.cut",
    original:
      "this.#close()\n    const root = this.#root\n    root?.interruptUnsafe()\n    const isEnded = root === undefined || root.pollUnsafe() !== undefined",
    broken: "this.#isClosed = true\n    const root = this.#root\n    const isEnded = true",
    test: "packages/session/test/replay/questions.test.ts",
    name: "keeps nothing for a client that does not come back"
  },
  {
    id: "MRTR-12",
    at: "RequestState.restore",
    original: "validateRetry(owner.params ?? {})",
    broken:
      "validateRetry(owner.params ?? {})\n    if (Result.isFailure(retry)) return Effect.succeed({ state: initial, responses: new Map() })",
    test: "packages/session/test/replay/requestState.test.ts",
    name: "and answers of a wrong form are invalid"
  },
  {
    id: "MRTR-13",
    at: "ReplayedRun.#suspend",
    original:
      "{\n      return this.#fiber.cut(failure(`it asks in more than ${maxRounds} rounds (\\`limits.maxRounds\\`)`))\n    }",
    broken:
      "{\n      return this.#fiber.cut(failure(`it asks in more than ${maxRounds} rounds (\\`limits.maxRounds\\`)`))\n    }\n    if (this.#journal.answers.length > 0) return this.#fiber.cut(failure(\"an answer is missing\"))",
    test: "packages/session/test/replay/questions.test.ts",
    name: "may ask the same again after an answer is missing"
  },
  {
    id: "MRTR-17",
    at: "PendingRequests.#nextNumber",
    original: "return this.#nextId++",
    broken: "return Math.min(this.#nextId++, 1)",
    test: "packages/session/test/inputRounds.test.ts",
    name: "is answered by the handler of its method"
  },
  {
    id: "MRTR-15",
    at: "InputRounds.#retry",
    original: "requestState === undefined ? {} : { requestState }",
    broken: "{ requestState: requestState ?? \"\" }",
    test: "packages/session/test/inputRounds.test.ts",
    name: "its answers and its state go with the next round only"
  },
  {
    id: "MRTR-18",
    at: "InputRounds.repeated",
    original: "{ inputResponses: _, requestState: __, ...given }: InputRequired.Retry = params",
    broken: "{ ...given }: InputRequired.Retry = Object.assign(params, retry)",
    test: "packages/session/test/inputRounds.test.ts",
    name: "its answers and its state go with the next round only"
  },
  {
    id: "MRTR-18",
    at: "InputRounds.repeated",
    original: "{ inputResponses: _, requestState: __, ...given }: InputRequired.Retry",
    broken: "{ ...given }: InputRequired.Retry",
    test: "packages/session/test/inputRounds.test.ts",
    name: "the caller's own answers are not sent again"
  },
  {
    id: "MRTR-14",
    at: "InputRounds.answers",
    original: "this.#answer(method, key, question)",
    broken: "Effect.raceFirst(this.#answer(method, key, question), Effect.as(Effect.yieldNow, {}))",
    test: "packages/session/test/inputRounds.test.ts",
    name: "no answer is sent before all answers"
  },
  {
    id: "MRTR-16",
    at: "InputRounds.#retry",
    original: "{ requestState }",
    broken: "{ requestState: requestState.trim() }",
    test: "packages/session/test/inputRounds.test.ts",
    name: "its state is a text that the client sends back"
  },
  {
    id: "MRTR-16",
    at: "InputRounds.#retry",
    original: "{ requestState }",
    broken: "{ requestState: requestState.normalize() }",
    test: "packages/session/test/inputRounds.test.ts",
    name: "its state keeps characters"
  },
  {
    id: "MRTR-15",
    at: "InputRounds.#retry",
    original: "{ requestState }",
    broken: "{ requestState: requestState.trim() }",
    test: "packages/session/test/inputRounds.test.ts",
    name: "its state is a text that the client sends back"
  },
  {
    id: "MRTR-13",
    at: "ReplayedRun.serve",
    original: "this.#journal = new QuestionJournal({ responses, state })",
    broken:
      "if ([...responses.keys()].some((key) => !Object.hasOwn(state.questions, key))) {\n          return Effect.fail(McpError.invalidParams(\"an answer to no question\"))\n        }\n        this.#journal = new QuestionJournal({ responses, state })",
    test: "packages/session/test/replay/questions.test.ts",
    name: "may ask the same again after an answer is missing"
  }
]
