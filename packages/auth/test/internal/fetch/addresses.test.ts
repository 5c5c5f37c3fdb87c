import { assert, describe, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as AddressPolicy from "../../../src/internal/fetch/AddressPolicy.ts"
import * as ForbiddenAddress from "../../../src/internal/fetch/ForbiddenAddress.ts"
import * as NodeExchange from "../../../src/internal/fetch/NodeExchange.ts"
import * as OAuthHttp from "../../../src/internal/fetch/OAuthHttp.ts"
import * as MetadataServer from "../../support/metadataServer.ts"

const remote = new URL("https://mcp.example/mcp")

/** Returns a request that is sent because of a server. */
const get = (url: string): OAuthHttp.OAuthRequest => ({ method: "GET", url: new URL(url), headers: {} })

const tagOf = (http: OAuthHttp.OAuthHttp, server: URL, url: string) =>
  Effect.map(Effect.result(http.send(server, get(url))), (result) =>
    result._tag === "Success"
      ? result.success.status
      : result.failure._tag === "OAuthError"
      ? result.failure.reason._tag
      : result.failure._tag)

/** The forms of addresses that lead to this machine or into a private network. `{port}` is that of a server here. */
const forms = [
  "http://localhost:{port}",
  "http://LOCALHOST.:{port}",
  "http://service.localhost:{port}",
  "http://127.0.0.1:{port}",
  "http://127.1:{port}",
  "http://0x7f.1:{port}",
  "http://0177.0.0.1:{port}",
  "http://2130706433:{port}",
  "http://0.0.0.0:{port}",
  "http://[::1]:{port}",
  "http://[::]:{port}",
  "http://[::ffff:127.0.0.1]:{port}",
  "http://[::ffff:7f00:1]:{port}",
  "http://[64:ff9b::7f00:1]:{port}",
  "https://10.0.0.1",
  "https://172.31.255.255",
  "https://192.168.1.1",
  "https://100.64.0.1",
  "https://169.254.169.254/latest/meta-data",
  "https://[fe80::1]",
  "https://[fd00:ec2::254]",
  "https://[2002:7f00:1::]",
  "https://[ff02::1]",
  "https://224.0.0.1",
  "https://255.255.255.255",
  // Without TLS, only this machine is reached.
  "http://issuer.example",
  "ftp://issuer.example"
]

describe("[AUT-54] addresses that a remote server names", () => {
  for (const form of forms) {
    it.live(`${form} is forbidden, and nothing connects`, () =>
      Effect.gen(function*() {
        const { port, requests } = yield* MetadataServer.start
        const url = form.replace("{port}", String(port))
        const node = yield* OAuthHttp.makePlatform()
        const web = OAuthHttp.make(
          yield* Effect.provide(HttpClient.HttpClient, FetchHttpClient.layer)
        )
        for (const http of [node, web]) {
          assert.isDefined(http.check(remote, new URL(url)))
          assert.strictEqual(yield* tagOf(http, remote, url), "AddressForbidden")
        }
        assert.lengthOf(requests, 0)
      }))
  }

  it.live("a name that leads to this machine is refused while the connection is opened", () =>
    Effect.gen(function*() {
      const { origin, requests } = yield* MetadataServer.start
      const node = yield* NodeExchange.make
      if (node === undefined) return assert.fail("Node has the modules")
      // The name is checked in the same call that resolves it, so a name that changes (rebinding) is of no use.
      const error = yield* Effect.flip(Effect.scoped(node.guarded(get(origin))))
      assert.isDefined(ForbiddenAddress.find(error))
      assert.lengthOf(requests, 0)
      assert.strictEqual((yield* Effect.scoped(node.open(get(origin)))).status, 404)
    }))

  it("public addresses are not forbidden", () => {
    for (
      const address of ["8.8.8.8", "1.1.1.1", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
    ) {
      assert.isTrue(AddressPolicy.isPublic(address), address)
    }
    const { decide } = AddressPolicy.make([])
    for (const url of ["https://issuer.example", "https://8.8.8.8", "https://[2606:4700::1111]"]) {
      assert.strictEqual(decide(remote, new URL(url))._tag, "Guarded", url)
    }
  })
})

describe("[AUT-54] addresses that are reached", () => {
  it.live("the origin of the server itself, and an origin that the program allows", () =>
    Effect.gen(function*() {
      const { port } = yield* MetadataServer.start
      const other = yield* MetadataServer.start
      const own = `http://127.0.0.1:${port}`
      const http = yield* OAuthHttp.makePlatform({ allowedOrigins: [`${other.origin}/path`] })
      assert.strictEqual(yield* tagOf(http, remote, `${other.origin}/any`), 404)
      assert.strictEqual(yield* tagOf(http, remote, `http://localhost:${port}/any`), "AddressForbidden")
      assert.isUndefined(http.check(new URL("http://10.0.0.1/mcp"), new URL("http://10.0.0.1/.well-known/a")))
      assert.isDefined(http.check(new URL("http://10.0.0.1/mcp"), new URL("http://10.0.0.1:8080/.well-known/a")))
      // Servers listen at `localhost`, which is this address or that of IPv6.
      assert.isUndefined(http.check(new URL(own), new URL(`http://[::1]:${port}/any`)))
    }))

  it.live("all places of this machine, because of a server of this machine", () =>
    Effect.gen(function*() {
      const { origin } = yield* MetadataServer.start
      const http = yield* OAuthHttp.makePlatform()
      assert.strictEqual(yield* tagOf(http, new URL("http://127.0.0.1:1/mcp"), origin), 404)
      assert.strictEqual(yield* tagOf(http, new URL("http://127.0.0.1:1/mcp"), "http://10.0.0.1"), "AddressForbidden")
    }))
})

describe("the bounds of a request", () => {
  const local = new URL("http://localhost:1/mcp")

  it.live("[AUT-54] redirects are not followed, by any client", () =>
    Effect.gen(function*() {
      const { origin, paths, routes } = yield* MetadataServer.start
      routes.set("/from", (response) => response.writeHead(307, { location: "/to" }).end())
      routes.set("/to", { json: {} })
      const node = yield* OAuthHttp.makePlatform()
      const web = OAuthHttp.make(yield* Effect.provide(HttpClient.HttpClient, FetchHttpClient.layer))
      for (const http of [node, web]) {
        assert.strictEqual(yield* tagOf(http, local, `${origin}/from`), "UnusableResponse")
      }
      assert.deepStrictEqual(paths(), ["/from", "/from"])
    }))

  it.live("a body of 64 KiB is read, and a larger one is not", () =>
    Effect.gen(function*() {
      const { origin, routes } = yield* MetadataServer.start
      routes.set("/fits", (response) => response.end("x".repeat(65_536)))
      routes.set("/large", (response) => response.end("x".repeat(65_537)))
      const http = yield* OAuthHttp.makePlatform()
      assert.strictEqual(yield* tagOf(http, local, `${origin}/fits`), 200)
      assert.strictEqual(yield* tagOf(http, local, `${origin}/large`), "UnusableResponse")
    }))

  it.live("a server that does not answer, and one that cannot be reached, are Unavailable", () =>
    Effect.gen(function*() {
      const { origin, routes } = yield* MetadataServer.start
      routes.set("/silent", () => {})
      const http = yield* OAuthHttp.makePlatform({ timeout: "100 millis" })
      assert.strictEqual(yield* tagOf(http, local, `${origin}/silent`), "Unavailable")
      assert.strictEqual(yield* tagOf(http, local, "http://localhost:1/"), "Unavailable")
    }))
})

describe("a platform without the HTTP modules of Node", () => {
  const workers = {
    request: () => {
      throw Object.assign(new Error("The options.lookup option is not implemented"), {
        code: "ERR_OPTION_NOT_IMPLEMENTED"
      })
    },
    Agent: class {
      destroy() {}
    }
  }

  for (const [name, modules] of Object.entries({ none: undefined, "those of workers": workers })) {
    it.live(`sends its requests by fetch, and checks literal addresses (${name})`, () =>
      Effect.gen(function*() {
        const { origin, requests } = yield* MetadataServer.start
        const builtin = vi.spyOn(process, "getBuiltinModule").mockReturnValue(modules)
        yield* Effect.addFinalizer(() => Effect.sync(() => builtin.mockRestore()))
        const http = yield* OAuthHttp.makePlatform()
        assert.strictEqual(yield* tagOf(http, new URL(origin), `${origin}/any`), 404)
        // The modules of Node send no such header.
        assert.isDefined(requests[0]?.headers["sec-fetch-mode"])
        assert.strictEqual(yield* tagOf(http, remote, "https://10.0.0.1"), "AddressForbidden")
      }))
  }
})
