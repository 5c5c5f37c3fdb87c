/** A stdio server whose tool asks the user and samples the client's model, written with the official SDK. */
import { McpServer } from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import * as z from "zod/v4"

const Wishes = z.object({ audience: z.enum(["kids", "experts"]), words: z.int().min(10).max(500) })

serveStdio(() => {
  const server = new McpServer({ name: "reports", version: "1.0.0" }, { capabilities: { logging: {} } })
  server.registerTool("report", {
    description: "Writes a report",
    inputSchema: z.object({ topic: z.string() }),
    outputSchema: z.object({ text: z.string(), model: z.string() })
  }, async ({ topic }, { mcpReq }) => {
    const report = async (progress: number, message?: string) => {
      const progressToken = mcpReq._meta?.progressToken
      if (progressToken === undefined) return
      const params = { progressToken, progress, total: 2, ...(message === undefined ? {} : { message }) }
      await mcpReq.notify({ method: "notifications/progress", params })
    }
    await mcpReq.log("info", { topic }, "report")
    await report(0, "asking")
    const answer = await mcpReq.elicitInput({
      mode: "form",
      message: `Who is the report on ${topic} for?`,
      requestedSchema: {
        type: "object",
        properties: {
          audience: { type: "string", enum: ["kids", "experts"] },
          words: { type: "integer", minimum: 10, maximum: 500 }
        },
        required: ["audience", "words"]
      }
    })
    if (answer.action !== "accept") throw new Error(`The user chose to ${answer.action}`)
    const { audience, words } = Wishes.parse(answer.content)
    await report(1, "writing")
    const { content, model } = await mcpReq.requestSampling({
      messages: [{ role: "user", content: { type: "text", text: `Write ${words} words on ${topic} for ${audience}` } }],
      maxTokens: 1000
    })
    const [block] = [content].flat()
    if (block?.type !== "text") throw new Error(`The model answered with ${block?.type}`)
    await report(2)
    const output = { text: block.text, model }
    return { content: [{ type: "text", text: JSON.stringify(output) }], structuredContent: output }
  })
  return server
})
