import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "PRM-01",
    file: "packages/session/src/Handlers.ts",
    original: "    if (path === undefined) continue\n",
    broken: "    if (path === undefined || path.split(\".\")[0] === \"prompts\") continue\n",
    test: "packages/session/test/Handlers.test.ts",
    name: "[PRM-01] each capability is that of the handler's row"
  },
  {
    id: "PRM-02",
    file: "packages/session/src/internal/server/ServerSessionImplementation.ts",
    original: "return this.#notify(\"notifications/prompts/list_changed\", {})",
    broken: "return Effect.void",
    test: "packages/session/test/allFeatures.test.ts",
    name: "all a client may ask (one stream) > [TOOL-02] [RES-02] [PRM-02] lists that change",
    hangs: true
  }
]
