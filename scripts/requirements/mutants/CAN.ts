import type { Mutant } from "../Mutant.ts"

export const mutants: ReadonlyArray<Mutant> = [
  {
    id: "CAN-04",
    file: "packages/session/src/internal/Inflight.ts",
    original: "  served.fiber?.interruptUnsafe()\n",
    broken: "\n",
    test: "packages/session/test/cancelledQuestions.test.ts",
    name: "stops, does not answer, and shows why",
    hangs: true
  }
]
