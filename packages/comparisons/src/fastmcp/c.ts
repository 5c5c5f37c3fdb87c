/** A stdio server whose tool asks the user and samples the client's model, written with FastMCP. */
import { FastMCP, type FastMCPSession, UserError } from "fastmcp"
import * as z from "zod/v4"

const Wishes = z.object({ audience: z.enum(["kids", "experts"]), words: z.int().min(10).max(500) })

const server = new FastMCP({ name: "reports", version: "1.0.0" })
// A tool does not know its session, and the server lists the session some time after its first request.
const connected = new Promise<FastMCPSession>((resolve) => {
  server.on("connect", ({ session }) => resolve(session))
})

server.addTool({
  name: "report",
  description: "Writes a report",
  parameters: z.object({ topic: z.string() }),
  outputSchema: z.object({ text: z.string(), model: z.string() }),
  execute: async ({ topic }, { elicit, log, reportProgress }) => {
    log.info("report", { topic })
    await reportProgress({ progress: 0, total: 2, message: "asking" })
    const answer = await elicit({
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
    if (answer.action !== "accept") throw new UserError(`The user chose to ${answer.action}`)
    const { audience, words } = Wishes.parse(answer.content)
    await reportProgress({ progress: 1, total: 2, message: "writing" })
    const session = await connected
    const { content, model } = await session.requestSampling({
      messages: [{ role: "user", content: { type: "text", text: `Write ${words} words on ${topic} for ${audience}` } }],
      maxTokens: 1000
    })
    if (content.type !== "text") throw new UserError(`The model answered with ${content.type}`)
    await reportProgress({ progress: 2, total: 2 })
    return { text: content.text, model }
  }
})

await server.start({ transportType: "stdio" })
