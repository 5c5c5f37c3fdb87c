import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js"
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { ResourceUpdatedNotificationSchema, SubscribeRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { throughJson } from "../peers/json.ts"
import { info } from "../peers/tools.ts"
import { delivery, type Subscribers, uri } from "./Subscribers.ts"

/** Connects clients of the official SDK, version 1, and subscribes them. Each has a server, as the SDK requires. */
export const connect = async (clients: number): Promise<Subscribers> => {
  const { next, received } = delivery(clients)
  const subscribed = new Set<Server>()
  const opened: Array<Client> = []
  for (let index = 0; index < clients; index++) {
    const [near, far] = InMemoryTransport.createLinkedPair()
    ;[near, far].forEach(throughJson)
    const server = new Server(info, { capabilities: { resources: { subscribe: true } } })
    server.setRequestHandler(SubscribeRequestSchema, () => {
      subscribed.add(server)
      return {}
    })
    const client = new Client(info)
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, received)
    await Promise.all([server.connect(far), client.connect(near)])
    await client.subscribeResource({ uri })
    opened.push(client)
  }
  return {
    update: async () => {
      const delivered = next()
      await Promise.all([...subscribed].map((server) => server.sendResourceUpdated({ uri })))
      await delivered
    },
    close: async () => {
      for (const client of opened) await client.close()
    }
  }
}
