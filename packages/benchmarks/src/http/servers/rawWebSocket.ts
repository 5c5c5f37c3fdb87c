import { NodeWS } from "@effect/platform-node"
import { createServer } from "node:http"
import { answer } from "./echo.ts"
import { listen } from "./listen.ts"

const server = createServer()
new NodeWS.WebSocketServer({ server }).on("connection", (socket) => {
  socket.on("message", (data) => {
    const { body } = answer(String(data))
    if (body !== undefined) socket.send(body)
  })
})

await listen(server)
