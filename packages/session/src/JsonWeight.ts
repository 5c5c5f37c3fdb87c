/**
 * Estimates of the memory of parsed JSON, which may be twenty times the size of its text.
 */
import * as Weight from "./internal/engine/Weight.ts"

/**
 * Returns the bytes of memory that parsed JSON takes, for bounds of what a program keeps of its peers. It counts at
 * most a million arrays and objects, and no instances of classes such as `Map`.
 *
 * @example
 * ```ts
 * import { JsonWeight } from "@effect-mcp/session"
 *
 * export const isHeavier = JsonWeight.of([[], [], []]) > 10 * JSON.stringify([[], [], []]).length // => true
 * ```
 *
 * @category memory
 */
export const of = (value: unknown): number => Weight.of(value)
