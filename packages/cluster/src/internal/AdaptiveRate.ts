/** The state of a rate that adapts to the answers of the limited service, as Effect's stores of rates keep it. */
import * as Duration from "effect/Duration"
import type * as RateLimiter from "effect/persistence/RateLimiter"

/** The time after its use for which a state is kept. */
const graceMillis = 60_000

/** The longest time for which an answer can stop requests. */
const maxMillis = 60 * 60_000

/** The state of one key. Times are milliseconds since the epoch. */
export interface State {
  readonly phase: RateLimiter.AdaptivePhase
  readonly epoch: number
  readonly cooldownUntil: number
  readonly learningStartedAt: number
  readonly observedTokens: number
  readonly learnedLimit: number
  readonly learnedWindowMillis: number
  readonly expiresAt: number
}

const bounded = (millis: number): number => millis > 0 ? Math.min(millis, maxMillis) : 1

const cooling = (epoch: number, cooldownUntil: number): State => ({
  phase: "cooldown",
  epoch,
  cooldownUntil,
  learningStartedAt: 0,
  observedTokens: 0,
  learnedLimit: 0,
  learnedWindowMillis: 0,
  expiresAt: cooldownUntil + graceMillis
})

const result = ({ epoch, phase }: State, delay: number): RateLimiter.AdaptiveConsumeResult => ({
  delay: delay <= 0 ? Duration.zero : Duration.millis(delay),
  epoch,
  phase
})

/** Takes tokens. Returns the delay, and the next state; `undefined` without a state. */
export const consume = (
  state: State | undefined,
  { fallbackWindow, tokens }: RateLimiter.AdaptiveConsumeOptions,
  now: number
): readonly [RateLimiter.AdaptiveConsumeResult, State | undefined] => {
  if (state === undefined || state.expiresAt <= now) {
    return [{ delay: Duration.zero, epoch: 0, phase: "inactive" }, undefined]
  }
  switch (state.phase) {
    case "cooldown": {
      if (state.cooldownUntil > now) return [result(state, state.cooldownUntil - now), state]
      const learning: State = {
        ...state,
        phase: "learning",
        epoch: state.epoch + 1,
        learningStartedAt: now,
        observedTokens: tokens,
        expiresAt: now + Duration.toMillis(fallbackWindow) + graceMillis
      }
      return [result(learning, 0), learning]
    }
    case "learning": {
      const next = { ...state, observedTokens: state.observedTokens + tokens }
      return [result(next, 0), next]
    }
    case "learned": {
      const { learnedLimit, learnedWindowMillis } = state
      const refillMillis = learnedWindowMillis / learnedLimit
      const isOver = state.cooldownUntil <= now
      const observedTokens = (isOver ? 0 : state.observedTokens) + tokens
      const cooldownUntil = (isOver ? now : state.cooldownUntil) + refillMillis * tokens
      const elapsed = observedTokens * refillMillis - (cooldownUntil - now)
      const window = Math.floor((observedTokens - 1) / learnedLimit)
      const next = { ...state, observedTokens, cooldownUntil }
      return [result(next, window * learnedWindowMillis - elapsed), next]
    }
    case "inactive":
      return [result(state, 0), state]
  }
}

/** Returns the state after an answer; the same one if the answer changes nothing. */
export const answered = (
  state: State | undefined,
  { epoch, retryAfter, status, tokens }: RateLimiter.AdaptiveFeedbackOptions,
  now: number
): State | undefined => {
  if (status !== 429 || retryAfter === undefined) return state
  const retryMillis = bounded(Duration.toMillis(retryAfter))
  const cooldownUntil = now + retryMillis
  if (state === undefined || state.expiresAt <= now) return epoch === 0 ? cooling(0, cooldownUntil) : undefined
  if (state.epoch !== epoch) return state
  switch (state.phase) {
    case "cooldown": {
      const until = Math.max(state.cooldownUntil, cooldownUntil)
      return { ...state, cooldownUntil: until, expiresAt: until + graceMillis }
    }
    case "learning": {
      const accepted = state.observedTokens - tokens
      if (accepted <= 0) return cooling(state.epoch, cooldownUntil)
      const learnedWindowMillis = bounded(now - state.learningStartedAt + retryMillis)
      return {
        ...state,
        phase: "learned",
        epoch: state.epoch + 1,
        cooldownUntil: state.learningStartedAt + learnedWindowMillis,
        observedTokens: accepted,
        learnedLimit: accepted,
        learnedWindowMillis,
        expiresAt: now + learnedWindowMillis + graceMillis
      }
    }
    case "learned":
      return cooling(state.epoch, cooldownUntil)
    case "inactive":
      return state
  }
}
