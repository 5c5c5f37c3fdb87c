/** Images, audio and files of servers as parts of a prompt. */

import { Excerpt } from "@effect-mcp/protocol"
import * as Prompt from "effect/ai/Prompt"
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"
import * as PlainText from "../../PlainText.ts"

/** A type and a subtype. Parameters are left out, because providers put a media type into `data:` URLs. */
const essence = /^[\w!#$&^.+-]{1,64}\/[\w!#$&^.+-]{1,64}(?=[;\s]|$)/

/** Returns a media type of a server without its parameters. */
const mediaTypeOf = (mimeType: string | undefined): string =>
  essence.exec(mimeType ?? "")?.[0] ?? "application/octet-stream"

/** Returns the name of the file at a URI: the last segment of its path. */
const nameOf = (uri: string): string | undefined => {
  const path = uri.replace(/[?#].*$/s, "")
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1)
  // Cut before it is escaped as well, because the server decides its length.
  const shown = Excerpt.of(PlainText.line(Excerpt.of(name)))
  return /^\.*$/.test(shown) ? undefined : shown
}

/**
 * Returns a file as bytes, or the problem of its data. Providers take other text for the URL or the id of a file, so a
 * server could have any of them sent to the model.
 */
export const of = (
  base64: string,
  mimeType: string | undefined,
  uri?: string
): Result.Result<Prompt.FilePart, string> => {
  const mediaType = mediaTypeOf(mimeType)
  const fileName = uri === undefined ? undefined : nameOf(uri)
  return Result.mapBoth(Base64.decode(base64), {
    onSuccess: (data) => Prompt.filePart({ mediaType, data, ...fileName === undefined ? undefined : { fileName } }),
    onFailure: () => `the data of ${mediaType} is not base64`
  })
}
