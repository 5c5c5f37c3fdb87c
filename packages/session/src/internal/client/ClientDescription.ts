/** The client as it describes itself to a server. */

import {
  type Capabilities,
  type Implementation,
  type Initialize,
  type Meta,
  RequestMetadata,
  Revision,
  RevisionProjection
} from "@effect-mcp/protocol"
import type * as HandshakeError from "../../HandshakeError.ts"

/** The client as it describes itself to a server. */
export interface ClientDescription {
  readonly revisions: ReadonlyArray<Revision.Revision>
  /** The newest of `revisions` without a handshake. The client asks the server for it first. */
  readonly probe: Revision.ModernRevision | undefined
  /** The newest of `revisions` with a handshake. The client requests it by `initialize`. */
  readonly offer: Revision.LegacyRevision | undefined
  /** The rejection of `initialize` over an earlier connection, which showed that the server has no handshake. */
  readonly rejection: HandshakeError.HandshakeErrorReason | undefined
  readonly info: Implementation.Implementation
  readonly capabilities: Capabilities.ClientCapabilities
  readonly projection: RevisionProjection.Projection | undefined
}

/** Describes a client by its options. */
export const describe = (options: {
  readonly revisions?: ReadonlyArray<Revision.Revision>
  readonly info: Implementation.Implementation
  readonly capabilities: Capabilities.ClientCapabilities
  readonly projection?: RevisionProjection.Projection | undefined
}): ClientDescription => {
  const revisions = options.revisions ?? Revision.supported
  return {
    revisions,
    probe: Revision.modern.findLast((revision) => revisions.includes(revision)),
    offer: Revision.legacy.findLast((revision) => revisions.includes(revision)),
    rejection: undefined,
    info: options.info,
    capabilities: options.capabilities,
    projection: options.projection
  }
}

/** Returns the client without its revisions that have no handshake. */
export const withHandshake = (description: ClientDescription): ClientDescription => ({
  ...description,
  revisions: description.revisions.filter(Revision.isLegacy),
  probe: undefined
})

/** Returns the client without its revisions that have a handshake, after the server has rejected `initialize`. */
export const withoutHandshake = (
  description: ClientDescription,
  rejection: HandshakeError.HandshakeErrorReason
): ClientDescription => ({
  ...description,
  revisions: description.revisions.filter(Revision.isModern),
  offer: undefined,
  rejection
})

/** Returns the metadata of requests, in a revision without a handshake. */
export const metadata = (
  description: ClientDescription,
  version: Revision.ModernRevision,
  logLevel: RequestMetadata.RequestMetadata["logLevel"]
): Meta.Meta => {
  const { capabilities, clientInfo } = initializeParams(description, version)
  return RequestMetadata.write({ protocolVersion: version, clientCapabilities: capabilities, clientInfo, logLevel })
}

/** Returns the params of `initialize`, in the form of a revision. */
export const initializeParams = (
  { capabilities, info, projection }: ClientDescription,
  revision: Revision.Revision
): Initialize.InitializeParams =>
  RevisionProjection.project("initialize", "params", revision, {
    protocolVersion: revision,
    capabilities,
    clientInfo: info
  }, projection)
