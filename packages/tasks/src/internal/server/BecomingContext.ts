/** The context of a call that may become a task while its handler runs. */

import type { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Effect from "effect/Effect"
import { trust } from "../trust.ts"

type Service = RequestContext["Service"]

/**
 * Passes everything to the context of the call, and after the call has become a task to that of the task. A handler may
 * have kept a member from before, so each member looks when it is used.
 */
export class BecomingContext implements Service {
  readonly #call: Service
  #current: Service
  readonly #become: Effect.Effect<boolean, Effect.Error<Service["becomeTask"]>>

  constructor(call: Service, become: Service["becomeTask"]) {
    this.#call = call
    this.#current = call
    this.#become = become
  }

  /** Passes everything to this context from now on. */
  replace(context: Service): void {
    this.#current = context
  }

  get id(): Service["id"] {
    return this.#current.id
  }

  get method(): string {
    return this.#current.method
  }

  get meta(): Service["meta"] {
    return this.#current.meta
  }

  get principal(): Service["principal"] {
    return this.#current.principal
  }

  get session(): Service["session"] {
    return this.#current.session
  }

  get profile(): Service["profile"] {
    return this.#current.profile
  }

  get parameterHeaders(): Service["parameterHeaders"] {
    return this.#current.parameterHeaders
  }

  get becomeTask(): Service["becomeTask"] {
    return this.#become
  }

  get progress(): Service["progress"] {
    return (step) => Effect.suspend(() => this.#current.progress(step))
  }

  get log(): Service["log"] {
    return (message) => Effect.suspend(() => this.#current.log(message))
  }

  get notify(): Service["notify"] {
    return (name, params) => Effect.suspend(() => this.#current.notify(name, params))
  }

  get releaseStream(): Service["releaseStream"] {
    return Effect.suspend(() => this.#current.releaseStream)
  }

  get request(): Service["request"] {
    return (name, params, options) => Effect.suspend(() => this.#current.request(name, params, options))
  }

  get isOwnError(): Service["isOwnError"] {
    return (error) => this.#call.isOwnError(error) || this.#current.isOwnError(error)
  }

  get createMessage(): Service["createMessage"] {
    const create = (...args: Parameters<Service["createMessage"]>) =>
      Effect.suspend(() => this.#current.createMessage(...args))
    // Each overload is passed on as it is.
    return trust<Service["createMessage"]>(create)
  }

  get elicit(): Service["elicit"] {
    return (params, options) => Effect.suspend(() => this.#current.elicit(params, options))
  }

  get taskRequests(): Service["taskRequests"] {
    return this.#current.taskRequests
  }

  get once(): Service["once"] {
    return (key, schemas, step) => Effect.suspend(() => this.#current.once(key, schemas, step))
  }

  get listRoots(): Service["listRoots"] {
    return (options) => Effect.suspend(() => this.#current.listRoots(options))
  }
}
