import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "RES-01",
    file: "packages/session/src/Handlers.ts",
    original: "{ [part]: flags.has(path) ? true : {}, ...known }",
    broken: "{ ...known }",
    test: "packages/session/test/Handlers.test.ts",
    name: "subscriptions are declared beside whatever else is said of resources"
  },
  {
    id: "RES-02",
    file: "packages/session/src/internal/server/ServerSessionImplementation.ts",
    original: "return this.#notify(\"notifications/resources/list_changed\", {})",
    broken: "return Effect.void",
    test: "packages/session/test/allFeatures.test.ts",
    name: "all a client may ask (one stream) > [TOOL-02] [RES-02] [PRM-02] lists that change",
    hangs: true
  }
]
