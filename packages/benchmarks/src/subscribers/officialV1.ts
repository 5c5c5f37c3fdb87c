import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js"
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { ResourceUpdatedNotificationSchema, SubscribeRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { throughJson } from "../peers/json.ts"
import { info } from "../peers/tools.ts"
import * as Pairs from "./Pairs.ts"
import { type Subscribers, uri } from "./Subscribers.ts"

/** Connects clients of the official SDK, version 1, and subscribes them. */
export const connect = (clients: number): Promise<Subscribers> =>
  Pairs.connect(clients, async (received) => {
    const [near, far] = InMemoryTransport.createLinkedPair()
    ;[near, far].forEach(throughJson)
    const server = new Server(info, { capabilities: { resources: { subscribe: true } } })
    let isSubscribed = false
    server.setRequestHandler(SubscribeRequestSchema, () => {
      isSubscribed = true
      return {}
    })
    const client = new Client(info)
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, received)
    await Promise.all([server.connect(far), client.connect(near)])
    await client.subscribeResource({ uri })
    return {
      update: async () => {
        if (isSubscribed) await server.sendResourceUpdated({ uri })
      },
      close: () => client.close()
    }
  })
