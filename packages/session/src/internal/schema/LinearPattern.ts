import * as CharacterSet from "./CharacterSet.ts"
import { type Expression, parse, UnsupportedPattern } from "./PatternSyntax.ts"
import type { Steps } from "./Steps.ts"

/**
 * A regular expression of ECMA-262 that is matched in time proportional to its size and to that of the text, by
 * following all ways through it at once (Thompson). Every state that is looked at is a step, so that the caller bounds
 * the time.
 */
export interface LinearPattern {
  readonly test: (text: string) => boolean
}

/** A state of the machine that a pattern becomes. `mark` is the visit at which it was reached last. */
interface State {
  readonly kind: "Character" | "Split" | "Edge" | "Look" | "Match"
  readonly set: CharacterSet.CharacterSet
  readonly edge: "Start" | "End" | "Word" | "NoWord"
  readonly look: Look | undefined
  next: State | undefined
  other: State | undefined
  mark: number
}

/** A machine, and the way in which it goes through a text. */
interface Machine {
  readonly start: State
  readonly forwards: boolean
}

/** What has to hold, or not to hold, around a position. */
interface Look {
  readonly machine: Machine
  readonly negated: boolean
  /** Whether the machine ends at this position, for each position of the text that is being tested. */
  ends: Uint8Array
}

const none = CharacterSet.make({ ranges: [], properties: [] })

/**
 * Turns an expression into machines. Each visit to a part of it is paid for, so that `((a{99}){99}){99}` is given up.
 */
class Assembler {
  readonly looks: Array<Look> = []
  readonly spend: () => void

  constructor(spend: () => void) {
    this.spend = spend
  }

  state(kind: State["kind"], fields: Partial<State>): State {
    return { kind, set: none, edge: "Start", look: undefined, next: undefined, other: undefined, mark: 0, ...fields }
  }

  machine(expression: Expression, forwards: boolean): Machine {
    return { start: this.before(expression, this.state("Match", {}), forwards), forwards }
  }

  /** The state at which to begin so as to pass this expression and come to the next state. */
  before(expression: Expression, next: State, forwards: boolean): State {
    this.spend()
    switch (expression._tag) {
      case "Character":
        return this.state("Character", { set: expression.set, next })
      case "Edge":
        return this.state("Edge", { edge: expression.edge, next })
      case "Sequence": {
        const parts = forwards ? expression.parts.toReversed() : expression.parts
        return parts.reduce((entry, part) => this.before(part, entry, forwards), next)
      }
      case "Choice":
        return expression.options.map((option) => this.before(option, next, forwards)).reduceRight((other, entry) =>
          this.state("Split", { next: entry, other })
        )
      case "Look": {
        // Read against the direction, it ends where what it looks for begins, or the other way round.
        const machine = this.machine(expression.body, !expression.ahead)
        const look: Look = { machine, negated: expression.negated, ends: new Uint8Array() }
        this.looks.push(look)
        return this.state("Look", { look, next })
      }
      case "Repeat":
        return this.repeated(expression, next, forwards)
    }
  }

  repeated({ body, least, most }: Extract<Expression, { _tag: "Repeat" }>, next: State, forwards: boolean): State {
    let entry = next
    if (most === Number.POSITIVE_INFINITY) {
      const loop = this.state("Split", { other: next })
      loop.next = this.before(body, loop, forwards)
      entry = loop
    } else {
      for (let count = least; count < most; count++) {
        entry = this.state("Split", { next: this.before(body, entry, forwards), other: next })
      }
    }
    for (let count = 0; count < least; count++) entry = this.before(body, entry, forwards)
    return entry
  }
}

/** The text as code points, if the pattern goes by code points and some of them have two code units. */
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

/** Whether an expression can match at the beginning only, however late it is tried. */
const isAnchored = (expression: Expression): boolean => {
  switch (expression._tag) {
    case "Edge":
      return expression.edge === "Start"
    case "Sequence":
      return expression.parts[0] !== undefined && isAnchored(expression.parts[0])
    case "Choice":
      return expression.options.every(isAnchored)
    default:
      return false
  }
}

/** One walk of a machine through a text. */
class Walk {
  readonly text: string
  readonly points: Uint32Array | undefined
  readonly length: number
  readonly steps: Steps
  /** The states that are still to be followed, and the steps that were taken since the last ones were paid for. */
  readonly stack: Array<State> = []
  count = 0
  /** Marks states; it grows from walk to walk, so that no state has to be reset. */
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

  holds({ edge }: State, position: number): boolean {
    switch (edge) {
      case "Start":
        return position === 0
      case "End":
        return position === this.length
      default: {
        const isEdge = CharacterSet.isWord(this.at(position - 1)) !== CharacterSet.isWord(this.at(position))
        return isEdge === (edge === "Word")
      }
    }
  }

  /** Adds the states at which a character is waited for to `waiting`. Returns whether the machine ends here. */
  reach(from: State | undefined, position: number, waiting: Array<State>): boolean {
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
          case "Edge":
            state = this.holds(state, position) ? state.next : undefined
            break
          case "Look":
            state = (state.look?.ends[position] === 1) === state.look?.negated ? undefined : state.next
            break
        }
      }
      if (stack.length === 0) return ended
      state = stack.pop()
    }
  }

  /** Goes through the text, and calls `ended` with each position at which the machine ends until it returns true. */
  go({ forwards, start }: Machine, anchored: boolean, ended: (position: number) => boolean): void {
    const direction = forwards ? 1 : -1
    const end = forwards ? this.length : 0
    const reached: Array<State> = []
    const waiting: Array<State> = []
    for (let position = forwards ? 0 : this.length;; position += direction) {
      this.visit++
      this.count = 2
      waiting.length = 0
      let ends = false
      for (const state of reached) ends = this.reach(state, position, waiting) || ends
      if (!anchored || position === 0) ends = this.reach(start, position, waiting) || ends
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

/** How many states a pattern may have, that what it counts be written out. */
const maximumStates = 10_000

/**
 * Makes a machine of a pattern. Throws a `SyntaxError` if it is no pattern, and `UnsupportedPattern` if it has a
 * backreference, a group with flags, or repetitions that take more than 10,000 states. Matching spends from `steps`,
 * and throws what that does.
 */
export const compile = (pattern: string, steps: Steps, compiling: Steps): LinearPattern => {
  const { expression, unicode } = parse(pattern)
  let states = 0
  const assembler = new Assembler(() => {
    compiling.spend(1)
    if (++states > maximumStates) throw new UnsupportedPattern(pattern, `more than ${maximumStates} states`)
  })
  const machine = assembler.machine(expression, true)
  const anchored = isAnchored(expression)
  const { looks } = assembler
  let visit = 0
  return {
    test: (text) => {
      // Each look is told where it ends before what surrounds it asks; those inside of it come first.
      steps.spend(1 + (text.length >> 3) + looks.length * (text.length + 1))
      const walk = new Walk(text, unicode, steps, visit)
      try {
        for (const look of looks) {
          const ends = new Uint8Array(walk.length + 1)
          walk.go(look.machine, false, (position) => {
            ends[position] = 1
            return false
          })
          look.ends = ends
        }
        let found = false
        walk.go(machine, anchored, () => {
          found = true
          return true
        })
        return found
      } finally {
        visit = walk.visit
        for (const look of looks) look.ends = new Uint8Array()
      }
    }
  }
}
