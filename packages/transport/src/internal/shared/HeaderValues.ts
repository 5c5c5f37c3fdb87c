/** The values of headers. */
import type { Redacted } from "effect/Redacted"

/** Headers by name. A `Redacted` value does not appear where headers are shown. */
export type HeaderValues = Readonly<Record<string, string | Redacted<string>>>
