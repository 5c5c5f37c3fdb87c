/**
 * The home page: what the project is, the groups of pages, and then the README.
 */
import { addressOf, groups } from "./places.ts"

/** Returns a text as a value of YAML. */
const quoted = (text: string): string => JSON.stringify(text)

/** Returns the home page, with the text of the README. */
export const homePage = (readme: string): string => {
  const features = groups.filter(({ title }) => title !== "Start" && title !== "Project").map((
    { job, pages, title }
  ) => [
    `  - title: ${title}`,
    `    details: ${quoted(job)}`,
    `    link: ${quoted(`/${addressOf(pages[0]?.page ?? "")}`)}`
  ])
  return [
    "---",
    "layout: home",
    "hero:",
    "  name: Effect MCP",
    "  text: The Model Context Protocol for Effect",
    "  tagline: Servers and clients whose sessions are Layers, with typed errors, deadlines and structural teardown",
    "  actions:",
    "    - { theme: brand, text: A server in five minutes, link: /start/first-server }",
    "    - { theme: alt, text: A client, link: /start/first-client }",
    "    - { theme: alt, text: Hosts, link: /start/hosts }",
    "    - { theme: alt, text: Examples, link: /start/examples }",
    "    - { theme: alt, text: Reference, link: /reference/ }",
    "features:",
    ...features.flat(),
    "---",
    "",
    readme.replace(/^# .*\n/, "")
  ].join("\n")
}
