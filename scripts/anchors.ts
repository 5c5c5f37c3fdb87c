/** The anchors of headings. Checks of pages and the documentation site use the same, because pages link to them. */

/** Returns the anchor of a heading as GitHub derives it. Headings with the same text are not told apart. */
export const anchorOf = (heading: string): string =>
  heading.trim().toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-")
