/**
 * The links of pages. In a file they lead to other files of the repository. In the site they lead to the pages that
 * are made of these files, and else to the repository.
 */
import * as path from "node:path"
import { pageOfFile } from "../../../scripts/addresses.ts"

/** The repository and the site, as links see them. */
export interface Places {
  /** The page of a file, if it has one. */
  readonly pageOf: (file: string) => string | undefined
  /** Whether the repository has the file or folder. */
  readonly exists: (file: string) => boolean
  /** The link to a page of the site. */
  readonly linkTo: (page: string) => string
}

/** A link of a page that leads nowhere. */
export class DeadLinkError extends Error {}

/** Returns the link of a file as the site has it. */
export const siteLink = (file: string, link: string, places: Places): string => {
  const isOwn = link.startsWith(pageOfFile)
  if (link.startsWith("#") || (!isOwn && /^[a-z]+:/.test(link))) return link
  const [target = "", anchor] = (isOwn ? link.slice(pageOfFile.length) : link).split("#")
  const linked = (isOwn ? target : path.posix.join(path.posix.dirname(file), target)).replace(/\/$/, "")
  const page = places.pageOf(linked)
  if (page === undefined && !places.exists(linked)) {
    throw new DeadLinkError(`${file} links to ${link}, which does not exist`)
  }
  const address = page === undefined ? `${pageOfFile}${linked}` : places.linkTo(page)
  return anchor === undefined ? address : `${address}#${anchor}`
}

/** A block of code, code in a line (of one paragraph), the target of a link or an image, or that of a label. */
const tokens = new RegExp(
  [
    /^(?<indent> *)(?<fence>`{3,}).*\n[\s\S]*?^\k<indent>\k<fence>`*$/,
    /(?<!`)(?<ticks>`+)(?!`)(?:(?!\n\n)[\s\S])*?(?<!`)\k<ticks>(?!`)/,
    /\]\((?<inline>[^)\s]+)\)/,
    /^(?<label>\[[^\]]+\]: )(?<defined>\S+)$/
  ].map(({ source }) => source).join("|"),
  "gm"
)

/** Returns the Markdown of a file with its links as the site has them. Code stays as it is. */
export const withSiteLinks = (file: string, text: string, places: Places): string =>
  text.replaceAll(
    tokens,
    (whole, _indent, _fence, _ticks, inline?: string, label?: string, defined?: string) =>
      inline !== undefined
        ? `](${siteLink(file, inline, places)})`
        : defined !== undefined
        ? `${label ?? ""}${siteLink(file, defined, places)}`
        : whole
  )
