/** The rule of the processes of the fleet. */
import type { History } from "../History.ts"
import type { Violation } from "./Violation.ts"

/** A process ends only by a fault, and ends after SIGTERM. */
export const processes = ({ crashes }: History): ReadonlyArray<Violation> =>
  crashes.map(({ at, problem, process }) => ({
    rule: "processes",
    problem: `process ${process} ${problem} at ${Math.round(at)}`,
    exchanges: []
  }))
