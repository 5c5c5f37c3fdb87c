/** Changes of the library that break it: each is a place in the sources of the public packages, and its new text. */
import { type Place, Places } from "./places.ts"
import { publicPackages, read } from "./workspace.ts"

/** A change of the library. */
export interface SourceChange extends Place {
  /** The text that replaces the original. */
  readonly broken: string
}

/** A source file with a change. */
export interface ChangedSource {
  readonly file: string
  readonly text: string
}

let places: Places | undefined

/** Returns the sources of the public packages. They are read when a place is first looked for. */
export const sources = (): Places =>
  places ??= new Places(publicPackages.flatMap((one) => one.sources).map((file) => ({ file, text: read(file) })))

/** Returns the changed source and its file, or the reason why the change cannot be applied. */
export const changed = ({ at, broken, original }: SourceChange): ChangedSource | { readonly fault: string } => {
  if (broken === original) return { fault: "its original and broken text are equal" }
  const range = sources().find({ at, original })
  return "fault" in range ? range : { file: range.file, text: sources().replace(range, broken) }
}
