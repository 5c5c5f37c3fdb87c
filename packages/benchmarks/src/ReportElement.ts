/** The report of a part: texts, tables and charts, for the terminal and for a page in Markdown. */
import * as Table from "./table.ts"

/** A part of a report. */
export type Element =
  | { readonly kind: "text"; readonly text: string }
  | {
    readonly kind: "table"
    /** The first row is the head. */
    readonly rows: ReadonlyArray<ReadonlyArray<string>>
    /** Whether the table is for the terminal only: costs, which depend on the machine more than their ratios do. */
    readonly isTerminalOnly: boolean
  }
  | { readonly kind: "chart"; readonly file: string; readonly title: string; readonly svg: string }

/** The elements of a report, in their order. */
export type Report = ReadonlyArray<Element>

/** Creates a paragraph. */
export const text = (text: string): Element => ({ kind: "text", text })

/** Creates a table of costs, for the terminal only. */
export const costs = (rows: ReadonlyArray<ReadonlyArray<string>>): Element => ({
  kind: "table",
  rows,
  isTerminalOnly: true
})

/** Creates a table for the terminal and the page. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>): Element => ({
  kind: "table",
  rows,
  isTerminalOnly: false
})

/** Creates a chart, for the page only. `file` is its name without the extension. */
export const chart = (file: string, title: string, svg: string): Element => ({ kind: "chart", file, title, svg })

/** Returns a report for the terminal. */
export const toText = (report: Report): string =>
  report.flatMap((element) =>
    element.kind === "text" ? [element.text] : element.kind === "table" ? [Table.format(element.rows)] : []
  ).join("\n\n")

/** Returns a report for a page, with its charts in a folder beside the page. */
export const toMarkdown = (report: Report, folder: string): string =>
  report.flatMap((element) => {
    switch (element.kind) {
      case "text":
        return [element.text]
      case "table":
        return element.isTerminalOnly ? [] : [Table.markdown(element.rows)]
      case "chart":
        return [`![${element.title}](${folder}/${element.file}.svg)`]
    }
  }).join("\n\n")
