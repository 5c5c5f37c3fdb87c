/**
 * So many times a second at most.
 */
export interface RateLimit {
  /** Takes one of this second's times, if there is one left. */
  readonly take: () => boolean
}

export const make = (perSecond: number, now: () => number): RateLimit => {
  let second = Number.NEGATIVE_INFINITY
  let taken = 0
  return {
    take: () => {
      if (now() - second >= 1000) {
        second = now()
        taken = 0
      }
      return ++taken <= perSecond
    }
  }
}
