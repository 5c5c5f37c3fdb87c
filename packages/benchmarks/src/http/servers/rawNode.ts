import { createServer } from "node:http"
import { answer } from "./echo.ts"
import { listen } from "./listen.ts"

const server = createServer((request, response) => {
  if (request.method === "DELETE") {
    response.writeHead(204).end()
    return
  }
  let text = ""
  request.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk
  }).on("end", () => {
    const { body, id } = answer(text)
    if (body === undefined) {
      response.writeHead(202, { "content-length": 0 }).end()
      return
    }
    response.writeHead(200, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      ...(id === undefined ? {} : { "mcp-session-id": id })
    }).end(body)
  })
})

await listen(server)
