/**
 * Checks of the built site: it loads nothing from another host, and each link inside of it leads to a page and a
 * heading.
 */
import * as fs from "node:fs"
import * as path from "node:path"

/** A file of the site: its path and its text. */
export interface BuiltFile {
  readonly file: string
  readonly text: string
}

/** Addresses that a page loads when it is shown: of scripts, styles, images and fonts, on any host. */
const loads = [
  /<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*\s(?:src|srcset|data)="?((?:https?:)?\/\/[^\s">]+)/gi,
  /<(?:image|use)\b[^>]*\s(?:xlink:)?href="?((?:https?:)?\/\/[^\s">]+)/gi,
  /<link\b(?![^>]*rel="?canonical)[^>]*\shref="?((?:https?:)?\/\/[^\s">]+)/gi,
  /url\(\s*["']?((?:https?:)?\/\/[^\s"')]+)/gi,
  /@import\s+["']((?:https?:)?\/\/[^"']+)/gi,
  /\b(?:fetch|importScripts|import)\(\s*["'`]((?:https?:)?\/\/[^"'`]+)/g
]

/**
 * The place from which the theme of VitePress loads icons that it does not have. The icons of this site are in its
 * styles, and the policy in the head of each page prevents the rest.
 */
const neverLoaded = "https://api.iconify.design/"

/** Returns the addresses of other hosts from which the files of a site load something. */
export const foreignLoads = (files: ReadonlyArray<BuiltFile>): ReadonlyArray<string> =>
  files.flatMap(({ file, text }) =>
    loads.flatMap((pattern) => Array.from(text.matchAll(pattern), ([, address = ""]) => address))
      .filter((address) => !address.startsWith(neverLoaded))
      .map((address) => `${file} loads ${address}`)
  )

const idsOf = (text: string): ReadonlySet<string> =>
  new Set(Array.from(text.matchAll(/\sid="([^"]+)"/g), ([, id = ""]) => id))

/**
 * Returns the links between pages that lead nowhere. `base` is the path at which the site is served, with a slash at
 * both ends. Files are named by their path in the site.
 */
export const deadLinks = (
  files: ReadonlyArray<BuiltFile>,
  base: string,
  hasFile: (file: string) => boolean
): ReadonlyArray<string> => {
  const ids = new Map(files.filter(({ file }) => file.endsWith(".html")).map(({ file, text }) => [file, idsOf(text)]))
  const pageAt = (address: string): string | undefined =>
    [address, `${address}.html`, `${address}index.html`, `${address}/index.html`].find((file) => ids.has(file))
  return files.filter(({ file }) => ids.has(file)).flatMap(({ file, text }) => {
    const links = new Set(Array.from(text.matchAll(/<a\b[^>]*\shref="([^"]*)"/g), ([, href = ""]) => href))
    return [...links].flatMap((href) => {
      if (/^[a-z]+:/.test(href)) return []
      const [address = "", anchor] = href.replaceAll("&amp;", "&").split("#")
      const absolute = address === ""
        ? undefined
        : address.startsWith("/")
        ? address
        : path.posix.join(base, path.posix.dirname(file), address)
      if (absolute !== undefined && !absolute.startsWith(base)) return [`${file} links to ${href}, outside of the site`]
      const page = absolute === undefined ? file : pageAt(absolute.slice(base.length))
      if (page === undefined) {
        return absolute !== undefined && hasFile(absolute.slice(base.length))
          ? []
          : [`${file} links to ${href}, which is no page`]
      }
      return anchor === undefined || anchor === "" || ids.get(page)?.has(decodeURIComponent(anchor))
        ? []
        : [`${file} links to ${href}, which is no heading`]
    })
  })
}

/** Returns the text files of a site. */
export const readSite = (folder: string): ReadonlyArray<BuiltFile> =>
  fs.globSync("**/*.{html,css,js}", { cwd: folder }).map((file) => ({
    file: file.replaceAll(path.sep, "/"),
    text: fs.readFileSync(path.join(folder, file), "utf8")
  }))
