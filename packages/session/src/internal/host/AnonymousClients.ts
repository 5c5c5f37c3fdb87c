import { LinkedList } from "../collections/LinkedList.ts"
import type { HostedSession } from "./HostedSession.ts"

/** The sessions of one anonymous client. */
export class AnonymousClient {
  readonly name: string
  /** The number of its sessions, and of those whose handshake is not finished. */
  sessions = 0
  handshakes = 0
  /** The sessions that operate and are not held, the one that is unused for longest first. */
  readonly unused = new LinkedList<HostedSession>()
  /** The sessions that connections or requests hold, the one that is held for longest first. */
  readonly held = new LinkedList<HostedSession>()

  constructor(name: string) {
    this.name = name
  }
}

/** The anonymous clients of a host that are distinguished, each with its sessions. */
export class AnonymousClients {
  readonly #clients = new Map<string, AnonymousClient>()

  /** The client of a session, if it is anonymous and distinguished; nothing is known of one without sessions. */
  of({ client, principal }: HostedSession): AnonymousClient | undefined {
    return principal !== undefined || client === undefined ? undefined : this.#clients.get(client)
  }

  /** The number of unfinished handshakes of a client. */
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

  /** Counts a session no more. It is in no list then. */
  leave(hosted: HostedSession): void {
    const client = this.of(hosted)
    if (client !== undefined && --client.sessions === 0) this.#clients.delete(client.name)
  }
}
