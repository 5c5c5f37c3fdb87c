/** Clients take a backslash for a slash. */
const segmentsOf = (path: string): ReadonlyArray<string> => path.split(/[/\\]/).filter((segment) => segment !== "")

/** The path of a URL, or of what stands in for one in a request. */
const pathOf = (url: string): string => url.replace(/^https?:\/\/[^/?#]*/i, "").replace(/[?#].*$/s, "")

/**
 * The path to POST to, for a client that asked for its stream by this URL. What stands before the path of the stream there stands before
 * it here, too: a router may have been mounted under a prefix. What both paths begin with may have parameters, which keep their values.
 */
export const messagesPath = (stream: string, messages: string) => {
  const [from, to] = [segmentsOf(stream), segmentsOf(messages)]
  const differing = from.findIndex((segment, index) => segment !== to[index])
  const shared = differing < 0 ? Math.min(from.length, to.length) : differing
  return (url: string): string => {
    const asked = segmentsOf(pathOf(url))
    // Never with two slashes at the beginning, which would stand before the name of another server.
    return `/${[...asked.slice(0, Math.max(asked.length - from.length + shared, 0)), ...to.slice(shared)].join("/")}`
  }
}
