/** The bound on the memory of a peer's profile, which a session stores until it ends. */

import type { Implementation, Profile } from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import * as Weight from "./Weight.ts"

/** A profile within the limit. */
export interface Kept<P> {
  readonly profile: P
  /** Whether the info was trimmed. */
  readonly isTrimmed: boolean
}

/** Returns the info without icons and without unknown members. */
const trimmed = (
  { description, name, title, version, websiteUrl }: Implementation.Implementation
): Implementation.Implementation => ({
  name,
  version,
  ...(title === undefined ? undefined : { title }),
  ...(description === undefined ? undefined : { description }),
  ...(websiteUrl === undefined ? undefined : { websiteUrl })
})

const membersOf = (profile: Profile.Profile): string =>
  "instructions" in profile ? "serverInfo, capabilities and instructions" : "clientInfo and capabilities"

/** Returns the profile if it is within the limit, or the profile without icons. Fails if that is still too large. */
export const within = <P extends Profile.Profile>(profile: P, limitBytes: number): Result.Result<Kept<P>, string> => {
  if (Weight.of(profile) <= limitBytes) return Result.succeed({ profile, isTrimmed: false })
  const smaller = profile.info === undefined ? profile : { ...profile, info: trimmed(profile.info) }
  const bytes = Weight.of(smaller)
  return bytes <= limitBytes
    ? Result.succeed({ profile: smaller, isTrimmed: true })
    : Result.fail(`${membersOf(profile)} take ${bytes} bytes of memory; the limit is ${limitBytes}`)
}
