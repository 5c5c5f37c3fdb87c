/** One example of each state. */
import { type Handshake, type Profile, Revision } from "@effect-mcp/protocol"

/** The variant with this tag. */
export type Variant<Union extends { readonly _tag: string }, Tag extends string> = Extract<
  Union,
  { readonly _tag: Tag }
>

/** The variants by their tags. */
export type Variants<Union extends { readonly _tag: string }> = {
  readonly [Tag in Union["_tag"]]: Variant<Union, Tag>
}

export const info = { name: "peer", version: "1" }
export const clientProfile: Profile.ClientProfile = { revision: Revision.latestLegacy, capabilities: {}, info }
export const serverProfile: Profile.ServerProfile = {
  revision: Revision.latestLegacy,
  capabilities: {},
  info,
  instructions: undefined
}
export const modernServerProfile: Profile.ModernServerProfile = { ...serverProfile, revision: Revision.latest }

const ending = {
  Closing: { _tag: "Closing", reason: { _tag: "HandshakeFailed", problem: "the first reason" } },
  Closed: { _tag: "Closed", reason: { _tag: "HandshakeFailed", problem: "the first reason" } }
} as const

export const clientStates: Variants<Handshake.ClientState> = {
  Idle: { _tag: "Idle" },
  Probing: { _tag: "Probing" },
  Initializing: { _tag: "Initializing", offer: Revision.latestLegacy },
  Operating: { _tag: "Operating", profile: serverProfile },
  Modern: { _tag: "Modern", profile: modernServerProfile },
  ...ending
}

export const serverStates: Variants<Handshake.ServerState> = {
  AwaitingInitialize: { _tag: "AwaitingInitialize" },
  Initializing: { _tag: "Initializing", profile: clientProfile },
  Negotiated: { _tag: "Negotiated", profile: clientProfile },
  Operating: { _tag: "Operating", profile: clientProfile },
  ...ending
}

export const statelessServerStates: Variants<Handshake.StatelessServerState> = {
  Stateless: { _tag: "Stateless" },
  ...ending
}

// A transition that modified its input state would throw.
const all = [clientStates, serverStates, statelessServerStates].flatMap((states) => Object.values<State>({ ...states }))
for (const state of all) Object.freeze(state)

export type State = Handshake.ClientState | Handshake.ServerState | Handshake.StatelessServerState

export const profileOf = (state: State): Profile.Profile | undefined => "profile" in state ? state.profile : undefined
export const reasonOf = (state: State) => "reason" in state ? state.reason : undefined
