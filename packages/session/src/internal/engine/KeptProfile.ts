/** The profile of a peer as a session keeps it: within a limit, because it is kept as long as the session. */

import type { Implementation, Profile } from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import * as Weight from "./Weight.ts"

/** A profile that may be kept. */
export interface Kept<P> {
  readonly profile: P
  /** The info was trimmed. */
  readonly isTrimmed: boolean
}

/** Returns the texts of the info, without icons and without members that this library does not know. */
const trimmed = (
  { description, name, title, version, websiteUrl }: Implementation.Implementation
): Implementation.Implementation => ({
  name,
  version,
  ...(title === undefined ? undefined : { title }),
  ...(description === undefined ? undefined : { description }),
  ...(websiteUrl === undefined ? undefined : { websiteUrl })
})

const whatOf = (profile: Profile.Profile): string =>
  "instructions" in profile ? "serverInfo, capabilities and instructions" : "clientInfo and capabilities"

/**
 * Returns the profile as far as it may be kept: whole if its memory is within the limit, otherwise without icons. Fails
 * with the reason if that is still too large.
 */
export const within = <P extends Profile.Profile>(profile: P, limitBytes: number): Result.Result<Kept<P>, string> => {
  if (Weight.of(profile) <= limitBytes) return Result.succeed({ profile, isTrimmed: false })
  const smaller = profile.info === undefined ? profile : { ...profile, info: trimmed(profile.info) }
  const bytes = Weight.of(smaller)
  return bytes <= limitBytes
    ? Result.succeed({ profile: smaller, isTrimmed: true })
    : Result.fail(`${whatOf(profile)} take ${bytes} bytes of memory; the limit is ${limitBytes}`)
}
