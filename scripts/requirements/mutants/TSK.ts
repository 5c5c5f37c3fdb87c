import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "TSK-06",
    file: "packages/session/src/internal/engine/Dispatch.ts",
    original: "    if (!isKnown) {",
    broken: "    if (!isKnown || (request.params !== undefined && \"task\" in request.params)) {",
    test: "packages/session/test/undeclaredCapabilities.test.ts",
    name: "[TSK-06]"
  }
]
