/** The path that clients POST to, derived from the URL of their stream. */

/** Clients read a backslash as a slash. */
const segmentsOf = (path: string): ReadonlyArray<string> => path.split(/[/\\]/).filter((segment) => segment !== "")

/** The path of a URL, without its query. */
const pathOf = (url: string): string => url.replace(/^https?:\/\/[^/?#]*/i, "").replace(/[?#].*$/s, "")

/**
 * Returns the path for POSTs, for the URL by which a client requested its stream. It keeps the prefix under which a
 * router is mounted, and the values of path parameters that both paths share.
 */
export const messagesPath = (stream: string, messages: string) => {
  const [from, to] = [segmentsOf(stream), segmentsOf(messages)]
  const differing = from.findIndex((segment, index) => segment !== to[index])
  const shared = differing < 0 ? Math.min(from.length, to.length) : differing
  return (url: string): string => {
    const requested = segmentsOf(pathOf(url))
    // Segments are joined anew: two slashes at the beginning would make the next segment the name of another server.
    return `/${
      [...requested.slice(0, Math.max(requested.length - from.length + shared, 0)), ...to.slice(shared)].join("/")
    }`
  }
}
