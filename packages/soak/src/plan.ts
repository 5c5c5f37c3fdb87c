/** Which sessions there will be, and what becomes of each: the same for the same seed. */
import * as Dice from "./Dice.ts"
import type { EndingName } from "./EndingName.ts"
import { endings } from "./endings.ts"
import type { Subject } from "./Subject.ts"

/** One session to be. */
export interface Visit {
  readonly subject: Subject
  readonly ending: EndingName
  /** The client's name. */
  readonly client: string
  /** From 0, and less than 1. */
  readonly chance: number
}

/** Sessions that are held at the same time; when all have ended, it is looked what is left. */
export type Round = ReadonlyArray<Visit>

export interface PlanOptions {
  readonly subjects: ReadonlyArray<Subject>
  /** The endings that are wanted; default all. */
  readonly only?: ReadonlyArray<EndingName>
  /** How many there are besides one of each kind, which the first round begins with. */
  readonly sessions: number
  readonly rounds: number
  readonly seed: number
}

/** The names of an object's own members, as TypeScript knows them. */
const namesOf = (expected: Subject["endings"]): ReadonlyArray<EndingName> => {
  const names: Array<EndingName> = []
  const isName = (name: string): name is EndingName => name in expected
  for (const name of Object.keys(expected)) if (isName(name)) names.push(name)
  return names
}

/** How much more there is of an ending that is not slow. */
const quickShare = 4

/** All endings of a subject again and again, each time in another order, so that each comes up as often as it should. */
const deckOf = (names: ReadonlyArray<EndingName>, dice: Dice.Dice) => {
  const all = names.flatMap((name) => Array.from({ length: endings[name].slow === true ? 1 : quickShare }, () => name))
  let left: Array<EndingName> = []
  return (): ReadonlyArray<EndingName> => {
    if (left.length === 0) left = [...dice.shuffled(all)]
    return left.splice(-1)
  }
}

/** Shares the sessions out among the rounds and, by their weights, the subjects. */
export const make = ({ only, rounds, seed, sessions, subjects }: PlanOptions): ReadonlyArray<Round> => {
  const dice = Dice.make(seed)
  const decks = subjects.map((subject) => {
    const names = namesOf(subject.endings).filter((name) => only === undefined || only.includes(name))
    return { subject, names, deal: deckOf(names, dice), dealt: 0 }
  })
  const weights = subjects.reduce((sum, { weight }) => sum + weight, 0)
  let clients = 0
  const visit = (subject: Subject, ending: EndingName): Visit => ({
    subject,
    ending,
    client: `client-${clients++}`,
    chance: dice.next()
  })
  return Array.from({ length: rounds }, (_, index) =>
    dice.shuffled(decks.flatMap((deck) => {
      const due = Math.round((sessions * deck.subject.weight * (index + 1)) / (weights * rounds))
      const dealt = Array.from({ length: due - deck.dealt }, deck.deal).flat()
      deck.dealt = due
      return [...index === 0 ? deck.names : [], ...dealt].map((ending) => visit(deck.subject, ending))
    })))
}
