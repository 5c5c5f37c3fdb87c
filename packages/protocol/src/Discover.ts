/**
 * `server/discover`, which takes the place of the handshake in revision 2026-07-28.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"
import { ServerCapabilities } from "./Capabilities.ts"
import { Meta } from "./Meta.ts"

/**
 * The result of `server/discover` (VER-09): the revisions that the server serves, and what it can do. The name and the
 * version of the server are in the metadata of every result.
 *
 * @category models
 */
export interface DiscoverResult {
  readonly supportedVersions: ReadonlyArray<string>
  readonly capabilities: ServerCapabilities
  readonly instructions?: string
  readonly _meta?: Meta
}

export const DiscoverResult: Schema.Codec<DiscoverResult> = Schema.Struct({
  supportedVersions: Schema.Array(Schema.String),
  capabilities: ServerCapabilities,
  instructions: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})
