/** The parts of `oidc-provider` that tests use: it has no types of its own. */
declare module "oidc-provider" {
  import type { RequestListener } from "node:http"

  /** An access token that the provider has issued. */
  export interface IssuedToken {
    readonly accountId?: string
    readonly aud?: string | ReadonlyArray<string>
    readonly scope?: string
    readonly clientId: string
    readonly jkt?: string
    readonly exp: number
    destroy(): Promise<void>
  }

  export class Provider {
    constructor(issuer: string, configuration: object)
    proxy: boolean
    callback(): RequestListener
    on(event: string, listener: (...values: ReadonlyArray<unknown>) => void): this
    readonly AccessToken: { find(token: string): Promise<IssuedToken | undefined> }
    readonly Client: { find(id: string): Promise<object | undefined> }
    readonly Grant: new(members: object) => {
      addResourceScope(resource: string, scope: string): void
      save(): Promise<string>
    }
    readonly RefreshToken: new(members: object) => { save(): Promise<string> }
    readonly ClientCredentials: { find(token: string): Promise<IssuedToken | undefined> }
  }

  export default Provider
}
