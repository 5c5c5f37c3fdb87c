/** The signature algorithms that a server accepts. Those with a shared secret, and `none`, are never among them. */
import { InvalidOptionError } from "@effect-mcp/session/InvalidOptionError"

const asymmetric: ReadonlyArray<string> = [
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
  "PS256",
  "PS384",
  "PS512",
  "RS256",
  "RS384",
  "RS512"
]

/** The algorithms that are accepted by default. */
export const defaults: ReadonlyArray<string> = ["ES256", "ES384", "EdDSA", "Ed25519", "PS256", "RS256"]

/** Throws an error for an algorithm that no server accepts. */
export const check = (option: string, algorithms: ReadonlyArray<string>): void => {
  if (algorithms.length > 0 && algorithms.every((algorithm) => asymmetric.includes(algorithm))) return
  throw new InvalidOptionError({ option, given: algorithms.join(", "), allowed: `some of ${asymmetric.join(", ")}` })
}
