import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "RES-01",
    file: "packages/session/src/Handlers.ts",
    original: "{ [part]: flags.has(path) ? true : {}, ...known }",
    broken: "{ ...known }",
    test: "packages/session/test/Handlers.test.ts",
    name: "a handler of subscriptions adds subscribe to the declared resources"
  },
  {
    id: "RES-02",
    file: "packages/session/src/internal/server/ServerSessionImplementation.ts",
    original: "return this.#notify(\"notifications/resources/list_changed\", {})",
    broken: "return Effect.void",
    test: "packages/session/test/allFeatures.test.ts",
    name: "requests of a client (one stream) > [TOOL-02] [RES-02] [PRM-02] list_changed notifications reach the client",
    hangs: true
  }
]
