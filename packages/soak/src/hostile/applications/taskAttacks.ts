/** The attacks of hostile clients on a server with tasks, in both eras. */
import type * as net from "node:net"
import type { Attack } from "../connectionAttacks.ts"
import { nested } from "../frames.ts"
import { pause } from "../httpRequests.ts"
import type { PreparedTarget } from "./PreparedTarget.ts"
import * as PrincipalClient from "./PrincipalClient.ts"

type Revision = PrincipalClient.Revision

/** Arguments of 290 KB, which take much more memory when they are parsed. */
const large = nested(290_000)

/** Returns a call that becomes a task, and runs until it is cancelled. */
const work = ({ revision }: PrincipalClient.PrincipalClient, everyMillis?: number): PrincipalClient.Request => ({
  method: "tools/call",
  name: "work",
  params: `"name":"work","arguments":{${everyMillis === undefined ? "" : `"everyMillis":${everyMillis},`}` +
    `"input":${large}}${revision === "2025-11-25" ? `,"task":{"ttl":3600000}` : ""}`
})

const requestOf = (method: string, taskId: string): PrincipalClient.Request => ({
  method,
  name: taskId,
  params: `"taskId":"${taskId}"`
})

/** Starts a task, and returns its id; `undefined` if the server rejects it. */
const start = async (
  client: PrincipalClient.PrincipalClient,
  everyMillis?: number
): Promise<string | undefined> => /"taskId":"([^"]+)"/.exec(await client.send(work(client, everyMillis)) ?? "")?.[1]

/** Starts tasks until the server rejects one or there are enough. */
const startMany = async (
  client: PrincipalClient.PrincipalClient,
  signal: AbortSignal,
  limit: number
): Promise<ReadonlyArray<string>> => {
  const ids: Array<string> = []
  while (!signal.aborted && ids.length < limit) {
    const id = await start(client)
    if (id === undefined) return ids
    ids.push(id)
  }
  return ids
}

/** Uses clients of as many principals at the same time. The server may reject a client, which then tries again. */
const withPrincipals = (
  count: number,
  revision: Revision,
  use: (client: PrincipalClient.PrincipalClient, target: PreparedTarget, signal: AbortSignal) => Promise<void>
): Attack<PreparedTarget> =>
async (target, signal) => {
  const useOne = async (_: unknown, index: number): Promise<void> => {
    while (!signal.aborted) {
      const client = await PrincipalClient.open(target, `attacker-${index}`, revision)
      if (client !== undefined) await use(client, target, signal)
      await pause(200)
    }
  }
  await Promise.all(Array.from({ length: count }, useOne))
}

/** Runs as many tasks as the server accepts, and tries again to start one more. */
const runningTasks = (principals: number, revision: Revision): Attack<PreparedTarget> => {
  const full = new Set<PrincipalClient.PrincipalClient>()
  return withPrincipals(principals, revision, async (client, target, signal) => {
    while (!signal.aborted) {
      await startMany(client, signal, 100)
      if (full.add(client).size === principals) target.prepared()
      await pause(200)
    }
  })
}

/** Repeats requests that look at tasks, several at the same time. */
const looks = (revision: Revision): Attack<PreparedTarget> =>
  withPrincipals(1, revision, async (client, target, signal) => {
    const ids = await startMany(client, signal, 28)
    target.prepared()
    const look = (index: number): PrincipalClient.Request =>
      revision === "2025-11-25" && index % 2 === 0
        ? { method: "tasks/list", params: "" }
        : requestOf("tasks/get", ids[index % ids.length] ?? "")
    const lookForever = async (_: unknown, first: number): Promise<void> => {
      for (let index = first; !signal.aborted; index++) await client.send(look(index))
    }
    await Promise.all(Array.from({ length: 16 }, lookForever))
  })

/** The streams that follow one task. */
const streamsOnOneTask = 300

/** Opens one stream that follows a task: in revision 2025-11-25, the stream of a session, or a waiting request. */
const follow = async (
  client: PrincipalClient.PrincipalClient,
  target: PreparedTarget,
  id: string,
  index: number
): Promise<net.Socket | undefined> => {
  if (client.revision === "2026-07-28") {
    return client.sendUnread({ method: "subscriptions/listen", params: `"notifications":{"taskIds":["${id}"]}` })
  }
  if (index % 2 === 0) return client.sendUnread(requestOf("tasks/result", id))
  return (await PrincipalClient.open(target, "attacker-0", client.revision))?.streamUnread()
}

const idleStreams = (revision: Revision): Attack<PreparedTarget> =>
  withPrincipals(1, revision, async (client, target, signal) => {
    const id = await start(client, 100)
    if (id === undefined) return
    const sockets = new Set<net.Socket>()
    for (let index = 0; !signal.aborted; index++) {
      if (index === streamsOnOneTask) target.prepared()
      const socket = sockets.size < streamsOnOneTask ? await follow(client, target, id, index) : undefined
      if (socket === undefined) await pause(100)
      else {
        sockets.add(socket)
        socket.on("close", () => sockets.delete(socket))
      }
    }
    for (const socket of sockets) socket.destroy()
  })

/**
 * The longest delay of the event loop in attacks with small requests, in milliseconds. Their cost must not depend on
 * the arguments of the tasks that they are about.
 */
export const smallRequestDelay = 1000

/** Returns attacks, each in both eras. */
const inBothEras = (
  attacks: Readonly<Record<string, (revision: Revision) => Attack<PreparedTarget>>>
): Readonly<Record<string, Attack<PreparedTarget>>> =>
  Object.fromEntries(
    Object.entries(attacks).flatMap(([name, attack]) =>
      PrincipalClient.revisions.map((revision) => [`${name} (${revision})`, attack(revision)])
    )
  )

/** The attacks that send small requests about tasks with large arguments. */
export const smallTaskAttacks = inBothEras({
  "looks at tasks with 290 KB of nested arrays": looks,
  "300 idle streams on one task": idleStreams
})

export const taskAttacks: Readonly<Record<string, Attack<PreparedTarget>>> = {
  ...inBothEras({
    "running tasks with 290 KB of nested arrays": (revision) => runningTasks(1, revision),
    "running tasks of ten principals with 290 KB of nested arrays": (revision) => runningTasks(10, revision)
  }),
  ...smallTaskAttacks
}
