/** An authorization server that gives tokens to the client of `pageWithTokens.ts`, also in a page of another origin. */
import { generateKeyPairSync, randomUUID, sign } from "node:crypto"
import { once } from "node:events"
import * as http from "node:http"

const headers = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers": "*, authorization",
  "content-type": "application/json"
}

/** Starts the server, and returns its URL. */
export const start = async (): Promise<string> => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")
  const signed = (claims: Readonly<Record<string, unknown>>): string => {
    const text = `${part({ alg: "ES256", typ: "at+jwt", kid: "1" })}.${part(claims)}`
    const signature = sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" })
    return `${text}.${signature.toString("base64url")}`
  }
  const tokenFor = (form: URLSearchParams, issuer: string) => {
    const now = Math.floor(Date.now() / 1000)
    const claims = { iss: issuer, sub: "greeter", client_id: "greeter", scope: "greet", jti: randomUUID() }
    const token = signed({ ...claims, aud: form.get("resource"), iat: now, exp: now + 300 })
    return { access_token: token, token_type: "Bearer", expires_in: 300, scope: "greet" }
  }
  const server = http.createServer((request, response) => {
    if (request.method === "OPTIONS") return void response.writeHead(204, headers).end()
    const issuer = `http://${request.headers.host}`
    const answer = (value: unknown) => void response.writeHead(200, headers).end(JSON.stringify(value))
    switch (request.url) {
      case "/.well-known/oauth-authorization-server":
        return answer({
          issuer,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/keys`,
          response_types_supported: ["code"],
          grant_types_supported: ["client_credentials"],
          token_endpoint_auth_methods_supported: ["client_secret_basic"]
        })
      case "/keys":
        return answer({ keys: [{ ...publicKey.export({ format: "jwk" }), alg: "ES256", kid: "1", use: "sig" }] })
      case "/token": {
        const isClient =
          request.headers.authorization === `Basic ${Buffer.from("greeter:open+sesame").toString("base64")}`
        let body = ""
        return void request.on("data", (chunk: Buffer) => {
          body += chunk.toString()
        }).on("end", () => {
          if (isClient) answer(tokenFor(new URLSearchParams(body), issuer))
          else response.writeHead(401, headers).end(JSON.stringify({ error: "invalid_client" }))
        })
      }
      default:
        return void response.writeHead(404, headers).end("{}")
    }
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
}
