/** Regular expressions that match in linear time, for patterns of foreign schemas. */

import * as CharacterSet from "./CharacterSet.ts"
import { type Expression, parse, UnsupportedPattern } from "./PatternSyntax.ts"
import type { Steps } from "./Steps.ts"

/**
 * A regular expression of ECMA-262 that matches in time proportional to its size times the length of the text. It
 * follows all paths through its automaton at the same time (Thompson). Each visited state is a step, so that the caller
 * bounds the time.
 */
export interface LinearPattern {
  readonly test: (text: string) => boolean
}

/** A state of an automaton. `mark` is the last visit that reached it. */
interface State {
  readonly kind: "Character" | "Split" | "Assertion" | "Lookaround" | "Match"
  readonly set: CharacterSet.CharacterSet
  readonly assertion: "Start" | "End" | "WordBoundary" | "NoWordBoundary"
  readonly lookaround: Lookaround | undefined
  next: State | undefined
  other: State | undefined
  mark: number
}

/** A nondeterministic automaton, and its direction through the text. */
interface Automaton {
  readonly start: State
  readonly forwards: boolean
}

/** A lookahead or a lookbehind. */
interface Lookaround {
  readonly automaton: Automaton
  readonly negated: boolean
  /** For each position of the current text, 1 if the automaton ends there. */
  ends: Uint8Array
}

const none = CharacterSet.make({ ranges: [], properties: [] })

/**
 * Compiles an expression to automata. Each visit to a part of the expression is a step, so that `((a{99}){99}){99}`
 * fails early.
 */
class AutomatonBuilder {
  readonly lookarounds: Array<Lookaround> = []
  readonly spend: () => void

  constructor(spend: () => void) {
    this.spend = spend
  }

  state(kind: State["kind"], fields: Partial<State>): State {
    return {
      kind,
      set: none,
      assertion: "Start",
      lookaround: undefined,
      next: undefined,
      other: undefined,
      mark: 0,
      ...fields
    }
  }

  automaton(expression: Expression, forwards: boolean): Automaton {
    return { start: this.before(expression, this.state("Match", {}), forwards), forwards }
  }

  /** Returns the first state of this expression, which leads to the next state. */
  before(expression: Expression, next: State, forwards: boolean): State {
    this.spend()
    switch (expression._tag) {
      case "Character":
        return this.state("Character", { set: expression.set, next })
      case "Assertion":
        return this.state("Assertion", { assertion: expression.assertion, next })
      case "Sequence": {
        const parts = forwards ? expression.parts.toReversed() : expression.parts
        return parts.reduce((entry, part) => this.before(part, entry, forwards), next)
      }
      case "Disjunction": {
        const entries = expression.alternatives.map((alternative) => this.before(alternative, next, forwards))
        return entries.reduceRight((other, entry) => this.state("Split", { next: entry, other }))
      }
      case "Lookaround": {
        // A lookahead runs backwards: it ends at the positions where its body begins. A lookbehind runs forwards.
        const automaton = this.automaton(expression.body, !expression.ahead)
        const lookaround: Lookaround = { automaton, negated: expression.negated, ends: new Uint8Array() }
        this.lookarounds.push(lookaround)
        return this.state("Lookaround", { lookaround, next })
      }
      case "Repeat":
        return this.repeated(expression, next, forwards)
    }
  }

  repeated({ body, min, max }: Extract<Expression, { _tag: "Repeat" }>, next: State, forwards: boolean): State {
    let entry = next
    if (max === Number.POSITIVE_INFINITY) {
      const loop = this.state("Split", { other: next })
      loop.next = this.before(body, loop, forwards)
      entry = loop
    } else {
      for (let count = min; count < max; count++) {
        entry = this.state("Split", { next: this.before(body, entry, forwards), other: next })
      }
    }
    for (let count = 0; count < min; count++) entry = this.before(body, entry, forwards)
    return entry
  }
}

/** Returns the text as code points, if the pattern matches code points and some of them have two code units. */
const pointsOf = (text: string, unicode: boolean): Uint32Array | undefined => {
  if (!unicode || !/[\uD800-\uDBFF]/.test(text)) return undefined
  const points = new Uint32Array(text.length)
  let length = 0
  for (let index = 0; index < text.length; index++) {
    const point = text.codePointAt(index) ?? 0
    points[length++] = point
    if (point > 0xffff) index++
  }
  return points.subarray(0, length)
}

/** Returns whether an expression can match only at the beginning of the text. */
const isAnchored = (expression: Expression): boolean => {
  switch (expression._tag) {
    case "Assertion":
      return expression.assertion === "Start"
    case "Sequence":
      return expression.parts[0] !== undefined && isAnchored(expression.parts[0])
    case "Disjunction":
      return expression.alternatives.every(isAnchored)
    default:
      return false
  }
}

/** The match of one text. */
class Match {
  readonly text: string
  readonly points: Uint32Array | undefined
  readonly length: number
  readonly steps: Steps
  /** The states still to visit. */
  readonly stack: Array<State> = []
  /** The steps since the last ones were spent. */
  count = 0
  /** The number of the visit, which marks states. It grows from match to match, so that no mark has to be reset. */
  visit: number

  constructor(text: string, unicode: boolean, steps: Steps, visit: number) {
    this.text = text
    this.points = pointsOf(text, unicode)
    this.length = this.points?.length ?? text.length
    this.steps = steps
    this.visit = visit
  }

  at(position: number): number | undefined {
    if (position < 0 || position >= this.length) return undefined
    return this.points === undefined ? this.text.charCodeAt(position) : this.points[position]
  }

  holds({ assertion }: State, position: number): boolean {
    switch (assertion) {
      case "Start":
        return position === 0
      case "End":
        return position === this.length
      default: {
        const isEdge = CharacterSet.isWord(this.at(position - 1)) !== CharacterSet.isWord(this.at(position))
        return isEdge === (assertion === "WordBoundary")
      }
    }
  }

  /** Adds the states that wait for a character to `waiting`. Returns whether the automaton ends at this position. */
  follow(from: State | undefined, position: number, waiting: Array<State>): boolean {
    const { stack, visit } = this
    let ended = false
    let state = from
    for (;;) {
      while (state !== undefined && state.mark !== visit) {
        state.mark = visit
        this.count++
        switch (state.kind) {
          case "Character":
            waiting.push(state)
            state = undefined
            break
          case "Match":
            ended = true
            state = undefined
            break
          case "Split":
            if (state.other !== undefined) stack.push(state.other)
            state = state.next
            break
          case "Assertion":
            state = this.holds(state, position) ? state.next : undefined
            break
          case "Lookaround":
            state = (state.lookaround?.ends[position] === 1) === state.lookaround?.negated ? undefined : state.next
            break
        }
      }
      if (stack.length === 0) return ended
      state = stack.pop()
    }
  }

  /** Runs an automaton through the text. Calls `ended` with each position at which it ends, until that returns true. */
  run({ forwards, start }: Automaton, anchored: boolean, ended: (position: number) => boolean): void {
    const direction = forwards ? 1 : -1
    const end = forwards ? this.length : 0
    const reached: Array<State> = []
    const waiting: Array<State> = []
    for (let position = forwards ? 0 : this.length;; position += direction) {
      this.visit++
      this.count = 2
      waiting.length = 0
      let ends = false
      for (const state of reached) ends = this.follow(state, position, waiting) || ends
      if (!anchored || position === 0) ends = this.follow(start, position, waiting) || ends
      if (ends && ended(position)) return
      if (position === end || (anchored && waiting.length === 0)) return
      reached.length = 0
      const code = this.at(forwards ? position : position - 1) ?? 0
      for (const { next, set } of waiting) {
        this.count += set.steps
        if (next !== undefined && set.has(code)) reached.push(next)
      }
      this.steps.spend(this.count)
    }
  }
}

/** The greatest number of states of a pattern. A counted repetition has states for each of its rounds. */
const maxStates = 10_000

/**
 * Compiles a pattern. Throws a `SyntaxError` if it is no pattern, and `UnsupportedPattern` if it has a backreference, a
 * group with flags, or repetitions that take more than 10,000 states. Matching spends from `steps`, and throws
 * `StepsExhausted` if they are exhausted.
 */
export const compile = (pattern: string, steps: Steps, compiling: Steps): LinearPattern => {
  const { expression, unicode } = parse(pattern)
  let states = 0
  const builder = new AutomatonBuilder(() => {
    compiling.spend(1)
    if (++states > maxStates) throw new UnsupportedPattern(pattern, `more than ${maxStates} states`)
  })
  const automaton = builder.automaton(expression, true)
  const anchored = isAnchored(expression)
  const { lookarounds } = builder
  let visit = 0
  return {
    test: (text) => {
      // Lookarounds run before the expressions around them, which read their `ends`. Inner ones run first.
      steps.spend(1 + (text.length >> 3) + lookarounds.length * (text.length + 1))
      const match = new Match(text, unicode, steps, visit)
      try {
        for (const lookaround of lookarounds) {
          const ends = new Uint8Array(match.length + 1)
          match.run(lookaround.automaton, false, (position) => {
            ends[position] = 1
            return false
          })
          lookaround.ends = ends
        }
        let found = false
        match.run(automaton, anchored, () => {
          found = true
          return true
        })
        return found
      } finally {
        visit = match.visit
        for (const lookaround of lookarounds) lookaround.ends = new Uint8Array()
      }
    }
  }
}
