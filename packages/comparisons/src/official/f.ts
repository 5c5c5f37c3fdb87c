/** A client that signs a person in by the browser and keeps the tokens, written with the official SDK. */
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError
} from "@modelcontextprotocol/client"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import * as fs from "node:fs"
import { createServer } from "node:http"
import * as path from "node:path"
import * as z from "zod/v4"

const url = new URL(process.argv[2] ?? "http://127.0.0.1:3461/mcp")
const folder = process.env["TOKENS"] ?? "tokens"
const port = 14_580
const state = randomUUID()
let verifier = ""

const Information = z.looseObject({ client_id: z.string() })
const Tokens = z.looseObject({ access_token: z.string(), token_type: z.string(), refresh_token: z.string().optional() })

const read = <S extends z.ZodType>(name: string, schema: S) => {
  const file = path.join(folder, `${name}.json`)
  return fs.existsSync(file) ? schema.parse(JSON.parse(fs.readFileSync(file, "utf8"))) : undefined
}
const write = (name: string, value: unknown) => {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = path.join(folder, `${name}.json`)
  fs.writeFileSync(`${file}.new`, JSON.stringify(value), { mode: 0o600 })
  fs.renameSync(`${file}.new`, file)
}
const remove = (name: string) => fs.rmSync(path.join(folder, `${name}.json`), { force: true })

const redirectUrl = `http://127.0.0.1:${port}/callback`

let redirect: Promise<URLSearchParams> | undefined
const receiveRedirect = () =>
  new Promise<URLSearchParams>((resolve, reject) => {
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "/", redirectUrl)
      const isExpected = pathname === "/callback" && searchParams.get("state") === state
      response.writeHead(isExpected ? 200 : 400, { connection: "close" }).end(isExpected ? "Close this window." : "")
      if (!isExpected) return
      server.close()
      resolve(searchParams)
    }).on("error", reject).listen(port, "127.0.0.1")
  })

const authProvider: OAuthClientProvider = {
  redirectUrl,
  clientMetadata: {
    client_name: "Notes",
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    application_type: "native"
  },
  state: () => state,
  clientInformation: () => read("client", Information),
  saveClientInformation: (information) => write("client", information),
  tokens: () => read("tokens", Tokens),
  saveTokens: (tokens) => write("tokens", tokens),
  invalidateCredentials: (scope) => {
    if (scope === "all" || scope === "client") remove("client")
    if (scope === "all" || scope === "tokens") remove("tokens")
  },
  redirectToAuthorization: ({ href, protocol }) => {
    if (protocol !== "https:" && protocol !== "http:") throw new Error(`${protocol} is no page`)
    redirect = receiveRedirect()
    spawn("xdg-open", [href], { stdio: "ignore", detached: true }).unref()
  },
  saveCodeVerifier: (value) => {
    verifier = value
  },
  codeVerifier: () => verifier
}

const connect = async () => {
  const transport = new StreamableHTTPClientTransport(url, { authProvider })
  const client = new Client({ name: "sign-in", version: "1.0.0" })
  try {
    await client.connect(transport)
    return client
  } catch (error) {
    if (!(error instanceof UnauthorizedError) || redirect === undefined) throw error
    await transport.finishAuth(await redirect)
  }
  const signedIn = new Client({ name: "sign-in", version: "1.0.0" })
  await signedIn.connect(new StreamableHTTPClientTransport(url, { authProvider }))
  return signedIn
}

const client = await connect()
const { structuredContent } = await client.callTool({ name: "read" })
console.log(JSON.stringify(structuredContent))
await client.close()
process.exit()
