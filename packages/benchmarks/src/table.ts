/** Formats a table for the terminal: the first column is left-aligned, the others are right-aligned. */
export const format = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)))
  return rows.map((row) =>
    row.map((cell, column) => {
      const width = widths[column] ?? 0
      return column === 0 ? cell.padEnd(width) : cell.padStart(width)
    }).join("   ").trimEnd()
  ).join("\n")
}

/** Formats a table in Markdown. */
export const markdown = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const line = (cells: ReadonlyArray<string>) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`
  const [head = [], ...body] = rows
  return [line(head), line(head.map(() => "---")), ...body.map(line)].join("\n")
}
