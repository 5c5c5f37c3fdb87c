/**
 * The minimum of a server that lists tools over stdio, without MCP: it answers `tools/list` with texts that were
 * prepared, which it receives with the notification `prepare`. It adds numbers as `echo.ts` does.
 */
let pages = [""]
let page = 0
let rest = ""
process.stdin.setEncoding("utf8").on("data", (chunk) => {
  const lines = `${rest}${chunk}`.split("\n")
  rest = lines.pop() ?? ""
  const answers = lines.map((line) => {
    const { id, method, params } = JSON.parse(line)
    if (method === "prepare") pages = params.pages
    if (id === undefined) return ""
    if (method === "tools/list") {
      page = params?.cursor === undefined ? 0 : page + 1
      return `{"jsonrpc":"2.0","id":${id},"result":${pages[page]}}\n`
    }
    const sum = () => params.arguments.a + params.arguments.b
    const result = method === "tools/call"
      ? { content: [{ type: "text", text: JSON.stringify({ sum: sum() }) }], structuredContent: { sum: sum() } }
      : { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "benchmark", version: "1.0.0" } }
    return `${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`
  }).join("")
  if (answers !== "") process.stdout.write(answers)
})
