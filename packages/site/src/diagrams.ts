/**
 * The diagrams of state machines, drawn when the site is built.
 */
import { renderMermaidSVG } from "beautiful-mermaid"

/**
 * Returns a state diagram with one arrow for each pair of states, and none from a state to itself. With all of them a
 * diagram is wider than a page; the table below it has them.
 */
export const summaryOf = (diagram: string): string => {
  const arrows = new Map<string, ReadonlyArray<string>>()
  for (const line of diagram.split("\n")) {
    const [, from, to, event] = /^\s*(\S+) --> (\S+?)(?:: (.*) \/ .*)?$/.exec(line) ?? []
    if (from === undefined || from === to) continue
    const arrow = `${from} --> ${to}`
    arrows.set(arrow, [...arrows.get(arrow) ?? [], ...event === undefined ? [] : [event]])
  }
  return [
    "stateDiagram-v2",
    ...Array.from(arrows, ([arrow, events]) => events.length === 0 ? arrow : `${arrow}: ${events.join("<br>")}`)
  ].join("\n")
}

/** Returns a state diagram as SVG, in the colors of the site. */
export const draw = (diagram: string): string =>
  renderMermaidSVG(summaryOf(diagram), {
    bg: "var(--vp-c-bg)",
    fg: "var(--vp-c-text-1)",
    transparent: true
  })
    // The drawing has the font of the page, and loads none from another host.
    .replaceAll(/@import url\([^)]*\);/g, "")
    .replaceAll(/font-family: [^;]*;/g, "font-family: inherit;")
    .replaceAll(/\n\s*/g, " ")
