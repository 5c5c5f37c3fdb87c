/** The plan of a soak: its sessions and their endings, the same for the same seed. */
import type { EndingName } from "./EndingName.ts"
import { endings } from "./endings.ts"
import * as Random from "./Random.ts"
import type { Subject } from "./Subject.ts"

/** A planned session. */
export interface PlannedSession {
  readonly subject: Subject
  readonly ending: EndingName
  /** The client's name. */
  readonly client: string
  /** A number of at least 0 and less than 1 for random choices. */
  readonly chance: number
}

/** Sessions of the same round. After all of them have ended, the process is measured. */
export type Round = ReadonlyArray<PlannedSession>

export interface PlanOptions {
  readonly subjects: ReadonlyArray<Subject>
  /** The selected endings. Default: all. */
  readonly only?: ReadonlyArray<EndingName>
  /** The number of sessions, in addition to one of each kind at the start of the first round. */
  readonly sessions: number
  readonly rounds: number
  readonly seed: number
}

/** Returns the names of an object's own members, with their type. */
const namesOf = (expected: Subject["endings"]): ReadonlyArray<EndingName> => {
  const names: Array<EndingName> = []
  const isName = (name: string): name is EndingName => name in expected
  for (const name of Object.keys(expected)) if (isName(name)) names.push(name)
  return names
}

/** The factor by which endings are more frequent if they are not slow. */
const fastShare = 4

/** Returns an endless sequence of a subject's endings, shuffled in each pass, so that each has its exact share. */
const endingSequence = (names: ReadonlyArray<EndingName>, random: Random.Random) => {
  const all = names.flatMap((name) => Array.from({ length: endings[name].slow === true ? 1 : fastShare }, () => name))
  let left: Array<EndingName> = []
  return (): ReadonlyArray<EndingName> => {
    if (left.length === 0) left = [...random.shuffled(all)]
    return left.splice(-1)
  }
}

/** Distributes the sessions among the rounds, and among the subjects by weight. */
export const make = ({ only, rounds, seed, sessions, subjects }: PlanOptions): ReadonlyArray<Round> => {
  const random = Random.make(seed)
  const queues = subjects.map((subject) => {
    const names = namesOf(subject.endings).filter((name) => only === undefined || only.includes(name))
    return { subject, names, next: endingSequence(names, random), planned: 0 }
  })
  const weights = subjects.reduce((sum, { weight }) => sum + weight, 0)
  let clients = 0
  const session = (subject: Subject, ending: EndingName): PlannedSession => ({
    subject,
    ending,
    client: `client-${clients++}`,
    chance: random.next()
  })
  return Array.from({ length: rounds }, (_, index) =>
    random.shuffled(queues.flatMap((queue) => {
      const due = Math.round((sessions * queue.subject.weight * (index + 1)) / (weights * rounds))
      const next = Array.from({ length: due - queue.planned }, queue.next).flat()
      queue.planned = due
      return [...index === 0 ? queue.names : [], ...next].map((ending) => session(queue.subject, ending))
    })))
}
