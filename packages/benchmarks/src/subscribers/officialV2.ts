import { Client, InMemoryTransport } from "@modelcontextprotocol/client"
import { Server } from "@modelcontextprotocol/server"
import { throughJson } from "../peers/json.ts"
import { info } from "../peers/tools.ts"
import * as Pairs from "./Pairs.ts"
import { type Subscribers, uri } from "./Subscribers.ts"

/** Connects clients of the official SDK, version 2, and subscribes them. */
export const connect = (clients: number): Promise<Subscribers> =>
  Pairs.connect(clients, async (received) => {
    const [near, far] = InMemoryTransport.createLinkedPair()
    ;[near, far].forEach(throughJson)
    const server = new Server(info, { capabilities: { resources: { subscribe: true } } })
    let isSubscribed = false
    server.setRequestHandler("resources/subscribe", () => {
      isSubscribed = true
      return {}
    })
    const client = new Client(info)
    client.setNotificationHandler("notifications/resources/updated", received)
    await Promise.all([server.connect(far), client.connect(near)])
    await client.subscribeResource({ uri })
    return {
      update: async () => {
        if (isSubscribed) await server.sendResourceUpdated({ uri })
      },
      close: () => client.close()
    }
  })
