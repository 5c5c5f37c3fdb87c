/** The metadata of each request in a revision without a handshake: the client, and the level of its log messages. */

import type { Logging, Meta, Profile } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as ClientDescription from "./ClientDescription.ts"

/** The metadata of the requests of one session. */
export class ClientMetadata {
  readonly #description: ClientDescription.ClientDescription
  readonly #server: Profile.ModernServerProfile
  /** The level that the program has set. */
  #level: Logging.Level | undefined
  /** The number of handlers and streams of log messages. */
  #followers: number
  #current: Meta.Meta

  constructor(
    description: ClientDescription.ClientDescription,
    server: Profile.ModernServerProfile,
    followers: number
  ) {
    this.#description = description
    this.#server = server
    this.#followers = followers
    this.#current = this.#make()
  }

  get current(): Meta.Meta {
    return this.#current
  }

  /** Sets the level of the log messages that later requests ask for. */
  setLevel(level: Logging.Level): void {
    this.#level = level
    this.#current = this.#make()
  }

  /**
   * Returns a stream of log messages during which requests ask for them. If the program sets no level, servers of older
   * revisions send all that they log, so here the client asks for all.
   */
  during<A>(stream: Stream.Stream<A>): Stream.Stream<A> {
    const follow = (difference: number) =>
      Effect.sync(() => {
        this.#followers += difference
        this.#current = this.#make()
      })
    return Stream.unwrap(Effect.as(Effect.acquireRelease(follow(1), () => follow(-1)), stream))
  }

  #make(): Meta.Meta {
    const isFollowed = this.#followers > 0 && this.#server.capabilities.logging !== undefined
    return ClientDescription.metadata(
      this.#description,
      this.#server.revision,
      this.#level ?? (isFollowed ? "debug" : undefined)
    )
  }
}
