/** The settings of the authorization at one server. */
import type * as Clock from "effect/Clock"
import type { Grant } from "../../Grant.ts"
import type { TokenStore } from "../../TokenStore.ts"
import type { UserAgent } from "../../UserAgent.ts"
import type { Discovery } from "../discovery/Discovery.ts"
import type { OAuthHttp } from "../fetch/OAuthHttp.ts"
import type { Identity, Registration } from "../registration/Registration.ts"
import type { SignInQueue } from "./SignInQueue.ts"

export interface ServerSettings {
  readonly server: URL
  readonly clock: Clock.Clock
  readonly http: OAuthHttp
  readonly store: TokenStore["Service"]
  readonly discovery: Discovery
  readonly registration: Registration
  readonly identity: Identity
  readonly account: string
  readonly userAgent: UserAgent
  readonly grant: Grant | undefined
  readonly scopes: ReadonlyArray<string> | undefined
  /** Whether tokens are bound to a key even if no challenge demands it. */
  readonly isProven: boolean
  /** The redirect URI that a configuration names. */
  readonly redirectUri: string | undefined
  /** The sign-ins of all servers. */
  readonly queue: SignInQueue
}
