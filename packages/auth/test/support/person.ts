/** A person who signs in at `oidc-provider`: follows redirects by `fetch`, and submits the forms. */

/** The most pages on the way. */
const maxPages = 20

/** The parts of a page that the person uses. */
const formOf = (page: string): ReadonlyMap<string, string> | undefined => {
  if (!/<form/.test(page)) return undefined
  const inputs = Array.from(page.matchAll(/<input[^>]*>/g), ([tag]) => tag)
  const attribute = (tag: string, name: string) => new RegExp(`${name}="([^"]*)"`).exec(tag)?.[1]
  return new Map(inputs.flatMap((tag) => {
    const name = attribute(tag, "name")
    return name === undefined ? [] : [[name, attribute(tag, "value") ?? ""] as const]
  }))
}

const actionOf = (page: string): string | undefined => /<form[^>]*action="([^"]*)"/.exec(page)?.[1]

/** Decisions of the person. */
export interface Decisions {
  readonly login?: string
  /** The person leaves the page of the authorization server by its link to cancel. */
  readonly cancels?: boolean
  /** The beginning of the URL that the browser does not visit: the redirect URI of a program without a listener. */
  readonly stopAt?: string
  /** The code that the person enters on a device. */
  readonly userCode?: string
}

/**
 * Visits a URL until a page does not lead further, and returns it with the text of the page. Redirects are followed, so
 * that the last URL is that of the program if it redirects there.
 */
export const visit = async (
  start: string | URL,
  { cancels = false, login = "ada", stopAt, userCode }: Decisions = {}
): Promise<{ readonly url: URL; readonly status: number; readonly text: string }> => {
  const cookies = new Map<string, Map<string, string>>()
  let url = new URL(start)
  let form: URLSearchParams | undefined
  let hasCancelled = false
  for (let page = 0; page < maxPages; page++) {
    const jar = cookies.get(url.origin) ?? new Map<string, string>()
    cookies.set(url.origin, jar)
    const response = await fetch(url, {
      redirect: "manual",
      headers: { cookie: Array.from(jar, ([name, value]) => `${name}=${value}`).join("; ") },
      ...(form === undefined ? {} : { method: "POST", body: form })
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = ""] = cookie.split(";")
      const at = pair.indexOf("=")
      if (/expires=Thu, 01 Jan 1970/i.test(cookie)) jar.delete(pair.slice(0, at))
      else jar.set(pair.slice(0, at), pair.slice(at + 1))
    }
    const location = response.headers.get("location")
    const text = await response.text()
    form = undefined
    if (location !== null) {
      url = new URL(location, url)
      if (stopAt !== undefined && url.href.startsWith(stopAt)) return { url, status: response.status, text }
      continue
    }
    const abort = /href="([^"]*\/abort)"/.exec(text)?.[1]
    if (cancels && abort !== undefined) {
      hasCancelled = true
      url = new URL(abort, url)
      continue
    }
    const fields = formOf(text)
    // The page for codes of devices is shown again, for another code.
    if (response.status !== 200 || fields === undefined || hasCancelled) return { url, status: response.status, text }
    form = new URLSearchParams()
    for (const [name, value] of fields) {
      if (name === "login") form.set(name, login)
      else if (name === "password") form.set(name, "secret")
      else if (name === "user_code") form.set(name, userCode ?? value)
      else if (name !== "abort") form.set(name, value)
    }
    url = new URL(actionOf(text) ?? url.href, url)
  }
  throw new Error(`the sign-in has more than ${maxPages} pages; the last is ${url.href}`)
}
