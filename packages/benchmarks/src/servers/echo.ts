/** The minimum of any server over stdio, without MCP: it reads lines, parses and encodes JSON, and writes lines. */
let rest = ""
process.stdin.setEncoding("utf8").on("data", (chunk) => {
  const lines = `${rest}${chunk}`.split("\n")
  rest = lines.pop() ?? ""
  const answers = lines.map((line) => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return ""
    const text = () =>
      params.name === "text" ? "x".repeat(params.arguments.bytes) : String(params.arguments.a + params.arguments.b)
    const result = method === "tools/call"
      ? { content: [{ type: "text", text: text() }] }
      : { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "benchmark", version: "1.0.0" } }
    return `${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`
  }).join("")
  if (answers !== "") process.stdout.write(answers)
})
