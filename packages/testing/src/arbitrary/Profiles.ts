/**
 * Arbitrary capabilities and profiles of peers, in the form of each revision.
 *
 * @stability unstable
 */
import {
  Capabilities,
  Implementation,
  Logging,
  type Meta,
  type Profile,
  RequestMetadata,
  type Revision,
  RevisionProjection
} from "@effect-mcp/protocol"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { choose, memoised } from "../internal/arbitrary/generators.ts"
import { overTheWire } from "../internal/arbitrary/overTheWire.ts"
import { trust } from "../internal/trust.ts"

/** Generates values of a schema as they are sent in a member of `initialize` or of its response. */
const inHandshake = <A>(schema: Schema.Codec<A>, part: "params" | "result", member: string) =>
  memoised((revision: Revision.Revision): Arbitrary.Arbitrary<A> =>
    Arbitrary.map(Arbitrary.schema(schema), (value) =>
      // The value was generated from the schema, and the projection removes only optional members.
      trust<A>(
        RevisionProjection.project("initialize", part, revision, { [member]: overTheWire(value) }, "strict")[member]
      ))
  )

/**
 * Generates the capabilities that a client of this revision can declare.
 *
 * @example
 * ```ts
 * import { Profiles } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * // A later revision added elicitation.
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(Profiles.clientCapabilities("2025-03-26"), ({ elicitation }) => elicitation === undefined),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const clientCapabilities: (
  revision: Revision.Revision
) => Arbitrary.Arbitrary<Capabilities.ClientCapabilities> = inHandshake(
  Capabilities.ClientCapabilities,
  "params",
  "capabilities"
)

/**
 * Generates the capabilities that a server of this revision can declare.
 *
 * @example
 * ```ts
 * import { Capabilities } from "@effect-mcp/protocol"
 * import { Profiles } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 *
 * export const withTools = Arbitrary.filter(
 *   Profiles.serverCapabilities("2025-06-18"),
 *   (capabilities) => Capabilities.declares(capabilities, "tools")
 * )
 * ```
 *
 * @category arbitraries
 */
export const serverCapabilities: (
  revision: Revision.Revision
) => Arbitrary.Arbitrary<Capabilities.ServerCapabilities> = inHandshake(
  Capabilities.ServerCapabilities,
  "result",
  "capabilities"
)

/**
 * Generates the name, the version and further details of a peer of this revision.
 *
 * @example
 * ```ts
 * import { Profiles } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * // Names and versions are as old as the protocol, icons are not.
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(Profiles.implementation("2024-11-05"), (info) => Object.keys(info).length === 2),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const implementation: (revision: Revision.Revision) => Arbitrary.Arbitrary<Implementation.Implementation> =
  inHandshake(Implementation.Implementation, "params", "clientInfo")

/**
 * Generates the profile that a server has of a client of this revision. A server without sessions has no name of its
 * client.
 *
 * @example
 * ```ts
 * import { Handshake } from "@effect-mcp/protocol"
 * import { Profiles } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(Profiles.clientProfile("2025-11-25"), (profile) => {
 *     const { state } = Handshake.server.step({ _tag: "AwaitingInitialize" }, { _tag: "ReceiveInitialize", profile })
 *     return state._tag === "Initializing" && state.profile === profile
 *   }),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const clientProfile: (revision: Revision.Revision) => Arbitrary.Arbitrary<Profile.ClientProfile> = memoised(
  (revision) =>
    Arbitrary.map(
      Arbitrary.all([
        clientCapabilities(revision),
        choose<Implementation.Implementation | undefined>(implementation(revision), Arbitrary.Constant(undefined))
      ]),
      ([capabilities, info]) => ({ revision, capabilities, info })
    )
)

/**
 * Generates the profile that a client has of a server of this revision.
 *
 * @example
 * ```ts
 * import { Profiles } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * export const revisions = Effect.map(
 *   Arbitrary.sampleEffect(Profiles.serverProfile("2025-06-18"), { count: 2, seed: 1 }),
 *   (profiles) => profiles.map(({ revision }) => revision)
 * ) // => ["2025-06-18", "2025-06-18"]
 * ```
 *
 * @category arbitraries
 */
export const serverProfile: (revision: Revision.Revision) => Arbitrary.Arbitrary<Profile.ServerProfile> = memoised(
  (revision) =>
    Arbitrary.map(
      Arbitrary.all([
        serverCapabilities(revision),
        implementation(revision),
        choose<string | undefined>(Arbitrary.Constant(undefined), Arbitrary.schema(Schema.String))
      ]),
      ([capabilities, info, instructions]) => ({ revision, capabilities, info, instructions })
    )
)

/**
 * Generates the metadata of a request in a revision without a handshake: its revision, and the client that sends it.
 *
 * @example
 * ```ts
 * import { RequestMetadata } from "@effect-mcp/protocol"
 * import { Profiles } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(Profiles.requestMetadata("2026-07-28"), (meta) => RequestMetadata.isIn(meta)),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const requestMetadata: (revision: Revision.ModernRevision) => Arbitrary.Arbitrary<Meta.Meta> = memoised(
  (revision) =>
    Arbitrary.map(
      Arbitrary.all([
        clientProfile(revision),
        choose<Logging.Level | undefined>(Arbitrary.Constant(undefined), Arbitrary.schema(Logging.Level))
      ]),
      ([{ capabilities, info }, logLevel]) =>
        RequestMetadata.write({
          protocolVersion: revision,
          clientCapabilities: capabilities,
          clientInfo: info,
          logLevel
        })
    )
)
