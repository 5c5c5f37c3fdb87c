/** The connections of sessions that a host keeps: a transport server finds its own connection of a session again. */
import type { Hosted } from "@effect-mcp/session/SessionHost"
import type { Transport } from "@effect-mcp/session/Transport"

/**
 * The connections of one kind, by the transports that hosts were given. A host keeps sessions of all transports, so a
 * session that it finds may have no connection of this kind.
 */
export class HostedConnections<Connection extends Transport["Service"]> {
  readonly #byTransport = new WeakMap<Transport["Service"], Connection>()

  /** Registers a connection before its session opens. */
  register(connection: Connection): Connection {
    this.#byTransport.set(connection, connection)
    return connection
  }

  /** Returns the connection of this session; `undefined` for a session of another transport. */
  of({ transport }: Pick<Hosted, "transport">): Connection | undefined {
    return this.#byTransport.get(transport)
  }
}
