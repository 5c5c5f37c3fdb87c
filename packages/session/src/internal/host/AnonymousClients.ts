/** The anonymous clients of a host, and the sessions of each. */

import { LinkedList } from "../collections/LinkedList.ts"
import type { HostedSession } from "./HostedSession.ts"

/** The sessions of one anonymous client. */
export class AnonymousClient {
  readonly name: string
  /** The number of its sessions. */
  sessions = 0
  /** The number of its sessions whose handshake is not finished. */
  handshakes = 0
  /** The sessions that operate and are not held, the least recently used one first. */
  readonly unused = new LinkedList<HostedSession>()
  /** The sessions that are held, the one that is held for longest first. */
  readonly held = new LinkedList<HostedSession>()

  constructor(name: string) {
    this.name = name
  }
}

/** The anonymous clients of a host that are distinguished. A client without sessions is not stored. */
export class AnonymousClients {
  readonly #clients = new Map<string, AnonymousClient>()

  /** Returns the client of a session; `undefined` if it has a principal or is not distinguished. */
  of({ client, principal }: HostedSession): AnonymousClient | undefined {
    return principal !== undefined || client === undefined ? undefined : this.#clients.get(client)
  }

  /** Returns the sessions of a client that operate and are not held, the least recently used one first. */
  unusedOf(name: string): LinkedList<HostedSession> | undefined {
    return this.#clients.get(name)?.unused
  }

  /** Returns the number of unfinished handshakes of a client. */
  handshakesOf(name: string): number {
    return this.#clients.get(name)?.handshakes ?? 0
  }

  /** Counts a session, and returns its client. */
  enter({ client, principal }: HostedSession): AnonymousClient | undefined {
    if (principal !== undefined || client === undefined) return undefined
    const known = this.#clients.get(client) ?? new AnonymousClient(client)
    known.sessions++
    this.#clients.set(client, known)
    return known
  }

  /** Stops counting a session, which must be in no list. */
  leave(hosted: HostedSession): void {
    const client = this.of(hosted)
    if (client !== undefined && --client.sessions === 0) this.#clients.delete(client.name)
  }
}
