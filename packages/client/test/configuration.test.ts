/** Configurations of servers as hosts keep them in files, the good ones and the bad ones. */
import { McpClient, McpClients, McpServersConfig, type McpTarget, ServerStatus } from "@effect-mcp/client/node"
import { Content, PlainText } from "@effect-mcp/protocol"
import { RequestContext, SessionHost } from "@effect-mcp/session"
import { Authentication, HttpSseServer, StreamableHttpServer, WebSocketServer } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Tracer from "effect/Tracer"
import * as fs from "node:fs"
import { createServer } from "node:http"
import * as os from "node:os"
import * as path from "node:path"
import { inspect } from "node:util"
import * as Expansion from "../src/internal/configuration/Expansion.ts"

const info = { name: "host", version: "1.0.0" }

const program = path.join(import.meta.dirname, "fixtures/environment.ts")

const messageOf = (json: unknown, options: McpServersConfig.Options = {}): Effect.Effect<string> =>
  Effect.match(McpServersConfig.decode(json, { env: {}, ...options }), {
    onSuccess: () => "no problem",
    onFailure: ({ message }) => message
  })

const valuesOf = (values: Partial<Expansion.ExpansionValues>): Expansion.ExpansionValues => ({
  env: {},
  variables: {},
  inputs: {},
  allowance: { left: Expansion.maxCharacters },
  ...values
})

/** Returns what the fixture reports of its arguments and environment. */
const reportOf = Effect.fnUntraced(function*(target: McpTarget.McpTarget | undefined) {
  const client = yield* McpClient.make(target ?? assert.fail("no target"), { info })
  const { content } = yield* client.callTool("report", {}, { repeat: true })
  const [part] = content
  return part?.type === "text" ? JSON.parse(part.text) : undefined
})

describe("a configuration of servers", () => {
  it.live("a command starts with its arguments, its variables and its directory, and references are replaced", () =>
    Effect.gen(function*() {
      const targets = yield* McpServersConfig.decode({
        mcpServers: {
          report: {
            command: "${NODE}",
            args: [program, "${env:TOKEN}", "${MISSING:-by default}", "${input:key}", "$plain ${workspaceFolder}"],
            env: { TOKEN: "${TOKEN}", PORT: 8080, USER: null, NESTED: "${NESTED}" },
            cwd: "${workspaceFolder}",
            autoApprove: ["report"]
          }
        }
      }, {
        env: { NODE: process.execPath, TOKEN: "t0ken", NESTED: "${TOKEN}", MISSING: "" },
        inputs: { key: Redacted.make("the key") },
        variables: { workspaceFolder: import.meta.dirname }
      })
      assert.deepStrictEqual(yield* reportOf(targets["report"]), {
        args: ["t0ken", "by default", "the key", `$plain ${import.meta.dirname}`],
        env: { TOKEN: "t0ken", PORT: "8080", NESTED: "${TOKEN}" },
        cwd: import.meta.dirname
      })
    }))

  it.live("each transport leads to its server, with the headers", () =>
    Effect.gen(function*() {
      const identities = Authentication.layer(({ headers }) => {
        const user = headers["x-user"]
        return user === undefined
          ? Effect.fail(new Authentication.Unauthenticated({ challenge: "Test" }))
          : Effect.succeed({ id: user })
      })
      const host = SessionHost.layer({
        "tools/call": () =>
          Effect.map(RequestContext.RequestContext, ({ principal }) => ({
            content: [Content.text(principal?.id ?? "anonymous")]
          }))
      }, { info: { name: "remote", version: "1.0.0" } })
      const services = Layer.merge(host, identities)
      const portOf = <E>(server: Layer.Layer<HttpServer, E, Authentication.Authentication | SessionHost.SessionHost>) =>
        Effect.map(Layer.build(Layer.provide(server, services)), (context) => {
          const { address } = Context.get(context, HttpServer)
          return "port" in address ? address.port : 0
        })
      const http = yield* portOf(StreamableHttpServer.layerNode({ port: 0 }))
      const sse = yield* portOf(HttpSseServer.layerNode({ port: 0 }))
      const ws = yield* portOf(WebSocketServer.layerNode({ port: 0 }))
      const headers = { "x-user": "${ADA}" }
      const configuration = {
        mcpServers: {
          any: { url: `http://127.0.0.1:${http}/mcp`, headers },
          fallback: { url: `http://127.0.0.1:${sse}/sse`, headers },
          http: { type: "http", url: `http://127.0.0.1:${http}/mcp`, headers },
          streamable: { transport: "streamable-http", url: "http://127.0.0.1:${PORT}/mcp", headers },
          sse: { type: "sse", url: `http://127.0.0.1:${sse}/sse`, headers },
          ws: { type: "ws", url: `ws://127.0.0.1:${ws}/mcp`, headers },
          socket: { url: `ws://127.0.0.1:${ws}/mcp`, headers }
        }
      }
      const env = { ADA: "ada", PORT: String(http) }
      for (const [options, user] of [[{}, "ada"], [{ headers: { "X-User": "grace" } }, "grace"]] as const) {
        const targets = yield* McpServersConfig.decode(configuration, { env, ...options })
        const clients = yield* McpClients.make(targets, { info })
        const principals = yield* Effect.forEach(Object.keys(targets), (server) =>
          Effect.map(
            Effect.flatMap(clients.find(server), (client) => client.callTool("who")),
            ({ content }) => [server, ...content]
          ))
        assert.deepStrictEqual(principals, Object.keys(targets).map((server) => [server, Content.text(user)]))
        assert.strictEqual(targets["streamable"]?.description, "http://127.0.0.1:${PORT}/mcp")
      }
    }))

  it.effect("the files of VS Code are read, and disabled servers are left out", () =>
    Effect.gen(function*() {
      const targets = yield* McpServersConfig.parse(
        JSON.stringify({
          inputs: [{ type: "promptString", id: "key", password: true }],
          servers: {
            files: { type: "stdio", command: "npx", args: ["-y", "files", "--key", "${input:key}"] },
            search: { type: "http", url: "https://example.com/mcp?key=${input:key}" },
            old: { command: "npx", disabled: true }
          }
        }),
        { inputs: { key: "secret" } }
      )
      assert.deepStrictEqual(Object.entries(targets).map(([name, { description }]) => [name, description]), [
        ["files", "npx -y files (2 more arguments)"],
        ["search", "https://example.com/mcp"]
      ])
    }))

  it.effect("single servers are read although the entries of others are bad", () =>
    Effect.gen(function*() {
      const configuration = { mcpServers: { good: { command: "npx" }, bad: {}, off: { disabled: true }, "a b": 1 } }
      const text = JSON.stringify(configuration)
      assert.deepStrictEqual(yield* McpServersConfig.names(text), ["good", "bad", "a b"])
      const targets = yield* McpServersConfig.parse(text, { servers: ["good"] })
      assert.deepStrictEqual(Object.keys(targets), ["good"])
      assert.strictEqual(
        yield* messageOf(configuration, { servers: ["good", "goood"] }),
        "the configuration of servers is invalid: mcpServers.goood: there is no such server; " +
          "use one of: good, bad, a b"
      )
      assert.strictEqual(
        yield* messageOf(configuration, { servers: ["good", "off"] }),
        "the configuration of servers is invalid: mcpServers.off: it is disabled; " +
          "remove disabled, or leave it out of the option servers"
      )
      const error = yield* Effect.flip(McpServersConfig.names("{}"))
      assert.include(error.message, "it has no mcpServers")
    }))

  it.effect("one error names every bad entry, its field, and what to do", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* messageOf({
          mcpServers: {
            "empty": {},
            "no program": { type: "stdio", args: ["x"] },
            "both": { command: "npx", url: "https://example.com" },
            "typed": { type: "grpc", url: "https://example.com" },
            "mixed": { type: "sse", transport: "ws", url: "https://example.com" },
            "texts": { command: 5, args: "x" },
            "items": { command: "npx", args: ["ok", true], env: { A: true, "B=C": "x" }, cwd: [] },
            "remote": { type: "http" },
            "relative": { url: "example.com/mcp" },
            "scheme": { type: "ws", url: "https://example.com" },
            "file": { url: "file:///etc/passwd" },
            "user": { url: "https://ada:secret@example.com" },
            "headers": { url: "https://example.com", headers: { "a b": "x", c: 1, d: "x\ny" } },
            "missing": { command: "${NOWHERE}", args: ["${env:TOKEN}", "${input:key}", "${config:x}"] },
            "files": { command: "npx", envFile: ".env" },
            "text": "npx",
            "good": { command: "npx", unknown: 1 }
          }
        }),
        [
          "the configuration of servers has 25 problems:",
          "- mcpServers.empty.command: the entry has neither command nor url; " +
          "give command for a program, or url for a server",
          "- mcpServers[\"no program\"].command: it is missing; give the program to start",
          "- mcpServers.both.url: the entry has command, too; remove one of them, or set type",
          "- mcpServers.typed.type: \"grpc\" is no transport; use stdio, http, streamable-http, sse or ws",
          "- mcpServers.mixed.transport: it differs from type; remove one of them",
          "- mcpServers.texts.command: it is not a text; write it in quotes",
          "- mcpServers.texts.args: it is not a list; write a list of texts, such as [\"-y\", \"server\"]",
          "- mcpServers.items.args[1]: it is not a text; write it in quotes",
          "- mcpServers.items.env.A: it is not a text; write it in quotes",
          "- mcpServers.items.env: the name \"B=C\" is not allowed; use a name without =",
          "- mcpServers.items.cwd: it is not a text; write it in quotes",
          "- mcpServers.remote.url: it is missing; give the URL of the server",
          "- mcpServers.relative.url: it is no absolute URL; write one such as https://example.com/mcp",
          "- mcpServers.scheme.url: it begins with https:; use a URL that begins with ws: or wss:",
          "- mcpServers.file.url: it begins with file:; " +
          "use a URL that begins with http: or https: or ws: or wss: or unix:",
          "- mcpServers.user.url: it contains a user or a password; send them in headers, as Authorization",
          "- mcpServers.headers.headers: the name \"a b\" is not that of a header; use letters, digits and -",
          "- mcpServers.headers.headers.c: it is not a text; write it in quotes",
          "- mcpServers.headers.headers.d: its value has characters that a header cannot have; " +
          "remove line breaks and other ones",
          "- mcpServers.missing.command: the environment variable NOWHERE is not set; " +
          "set it, or write ${NOWHERE:-default}, or $${NOWHERE} as text",
          "- mcpServers.missing.args[0]: the environment variable TOKEN is not set; " +
          "set it, or write ${TOKEN:-default}, or $${TOKEN} as text",
          "- mcpServers.missing.args[1]: no value of the input \"key\" is given; pass it in the option inputs",
          "- mcpServers.missing.args[2]: the reference ${config:x} is not known; use ${NAME}, ${NAME:-default}, " +
          "${env:NAME}, ${input:id} or ${userHome}, give its value in the option variables, " +
          "or write $${ for the text ${",
          "- mcpServers.files.envFile: files of variables are not supported; put the variables into env",
          "- mcpServers.text: it is not an object; give command for a program, or url for a server"
        ].join("\n")
      )
    }))

  const env = { NAME: "ada", NESTED: "${NAME} $${NAME}", EMPTY: "", A: "a" }
  const variables = { workspaceFolder: "/work", nested: "${NAME}" }
  const inputs = { key: "${input:other}", other: "wrong" }

  const expansions: ReadonlyArray<readonly [kind: string, texts: Array<readonly [from: string, to: string]>]> = [
    ["two dollars before a brace are one dollar, and the braces stay", [
      ["$${NAME}", "${NAME}"],
      ["$$${NAME}", "$ada"],
      ["$$$${NAME}", "$${NAME}"],
      ["$${A:-$${B}}", "${A:-${B}}"],
      ["$${", "${"],
      ["$${1:-x}", "${1:-x}"],
      ["$$ $NAME $", "$$ $NAME $"]
    ]],
    ["braces that are no reference of any host stay", [
      ...["echo ${1:-x}", "${#a}", "${}", "${@}", "${a[0]}", "${a%.txt}", "${A:0:1}", "${A:=x}", "${my-name}", "${ }"]
        .map((text) => [text, text] as const),
      ["awk '${print $1}' ${NAME", "awk '${print $1}' ${NAME"],
      ["{\"a\": {\"b\": \"${NAME}\"}}", "{\"a\": {\"b\": \"ada\"}}"]
    ]],
    ["a value is not searched for references", [
      ["${NESTED}", "${NAME} $${NAME}"],
      ["${env:NESTED}", "${NAME} $${NAME}"],
      ["${nested}", "${NAME}"],
      ["${input:key}", "${input:other}"],
      ["${NONE:-$NAME}", "$NAME"]
    ]]
  ]

  for (const [kind, texts] of expansions) {
    it(kind, () => {
      const expanded = texts.map(([from]) =>
        [from, Expansion.expand(from, valuesOf({ env, variables, inputs }))] as const
      )
      assert.deepStrictEqual(expanded.map(([from, { value }]) => [from, value] as const), texts)
      assert.deepStrictEqual(expanded.flatMap(([, { problems }]) => problems), [])
    })
  }

  it.effect("a default with braces is a problem", () =>
    Effect.gen(function*() {
      const entry = { command: "npx", args: ["${A:-{}}", "${A:-${NAME}}"] }
      const advice = "use one without braces, or write $${ for the text ${"
      const error = yield* Effect.flip(McpServersConfig.decode({ mcpServers: { notes: entry } }, { env }))
      assert.deepStrictEqual(
        error.problems,
        [0, 1].map((index) => ({
          path: `mcpServers.notes.args[${index}]`,
          problem: "the default of A has braces, or no end",
          advice
        }))
      )
    }))

  it.live("with expand: false, all references are text", () =>
    Effect.gen(function*() {
      const targets = yield* McpServersConfig.decode({
        mcpServers: {
          report: {
            command: process.execPath,
            args: [program, "${NAME}", "${config:x}", "${A:-{}}", "$${NAME}"],
            env: { TOKEN: "${NAME}" }
          }
        }
      }, { env, expand: false })
      assert.deepInclude(yield* reportOf(targets["report"]), {
        args: ["${NAME}", "${config:x}", "${A:-{}}", "$${NAME}"],
        env: { TOKEN: "${NAME}" }
      })
    }))

  it.live("the key __proto__ is a name like every other, and changes no prototype", () =>
    Effect.gen(function*() {
      const targets = yield* McpServersConfig.parse(
        JSON.stringify({
          mcpServers: {
            "[proto]": {
              "command": process.execPath,
              "args": [program],
              "env": { "[proto]": "polluted", "TOKEN": "t0ken" }
            },
            inherits: { "[proto]": { command: "npx", disabled: true }, "url": "http://127.0.0.1:9" },
            headers: { "url": "http://127.0.0.1:9", "headers": { "[proto]": "x", "constructor": "y" } }
          }
        }).replaceAll("[proto]", "__proto__")
      )
      assert.deepStrictEqual(Object.keys(targets), ["__proto__", "inherits", "headers"])
      assert.strictEqual(Object.getPrototypeOf(targets), Object.prototype)
      const own = Object.getOwnPropertyDescriptor(targets, "__proto__")?.value
      assert.deepInclude(yield* reportOf(own), { env: { TOKEN: "t0ken" } })
      const clients = yield* McpClients.make(targets, { info })
      assert.deepStrictEqual(Object.keys(yield* clients.status), ["__proto__", "inherits", "headers"])
      assert.isUndefined(Object.getOwnPropertyDescriptor(Object.prototype, "polluted"))
      for (const server of ["toString", "constructor"]) {
        assert.include(yield* messageOf({ mcpServers: {} }, { servers: [server] }), "there is no such server")
      }
    }))

  it.effect("a header value with a line break is a problem, also if a reference brings it", () =>
    Effect.gen(function*() {
      const headers = {
        a: "x\r\nb: c",
        b: "x\r",
        c: "x\n",
        d: "x\0",
        e: "${BREAK}",
        f: "${NONE:-\r\n}",
        g: "${HARMLESS}"
      }
      const error = yield* Effect.flip(McpServersConfig.decode(
        { mcpServers: { search: { url: "https://example.com", headers } } },
        { env: { BREAK: "x\r\nauthorization: y", HARMLESS: "z" } }
      ))
      assert.deepStrictEqual(
        error.problems.map(({ path, problem }) => `${path}: ${problem}`),
        ["a", "b", "c", "d", "e", "f"].map((name) =>
          `mcpServers.search.headers.${name}: its value has characters that a header cannot have`
        )
      )
    }))

  it.effect("a file of another form says what is missing", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        [
          yield* messageOf([]),
          yield* messageOf({}),
          yield* messageOf({ mcpServers: [] }),
          yield* messageOf({
            mcpServers: {},
            servers: {}
          })
        ],
        [
          "the configuration of servers is invalid: it is not an object; write {\"mcpServers\": {…}}",
          "the configuration of servers is invalid: it has no mcpServers; write {\"mcpServers\": {…}}",
          "the configuration of servers is invalid: mcpServers: it is not an object; " +
          "write an entry for each server, by its name",
          "the configuration of servers is invalid: servers: there is mcpServers, too; keep one of them"
        ]
      )
    }))

  it.effect("a text that is not JSON is reported by its place, and is not quoted", () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(McpServersConfig.parse(
        "{ \"mcpServers\": { \"a\": { \"command\": \"a\", \"env\": { \"KEY\": \"secret\" \"B\": 1 } } } }"
      ))
      assert.match(
        message,
        /^the configuration of servers is invalid: the text is not JSON: .* \(line 1 column \d+\); /
      )
      assert.notInclude(message, "secret")
      const problemOf = (text: string) =>
        Effect.map(Effect.flip(McpServersConfig.parse(text)), ({ problems }) => problems[0]?.problem)
      const problems = [
        ["", "the text ends too early (line 1 column 1)"],
        ["{\r\n  \"a\": 1,\n  // b\n  c: 2 }", "a name in quotes or } is missing (line 4 column 3)"],
        ["{ /* }", "a comment has no end (line 1 column 3)"],
        ["[,]", "a value is missing (line 1 column 2)"],
        ["[1,,]", "a value is missing (line 1 column 4)"],
        ["[1 2]", "a comma or ] is missing (line 1 column 4)"],
        ["[01]", "a value is missing (line 1 column 2)"],
        ["{\"a\" 1}", "a colon is missing (line 1 column 6)"],
        ["{} {}", "there is more after the end of the value (line 1 column 4)"],
        ["[\"\\x\"]", "a text has no end, or a character that must be escaped (line 1 column 2)"],
        ["[\"a\n\"]", "a text has no end, or a character that must be escaped (line 1 column 2)"],
        ["[".repeat(100_000), "it has more than 128 levels (line 1 column 129)"],
        [`"${" ".repeat(2_000_000)}"`, "it has more than 1048576 characters"]
      ] as const
      for (const [text, problem] of problems) {
        assert.strictEqual(yield* problemOf(text), `the text is not JSON: ${problem}`)
      }
    }))

  it.effect("a file may have comments, trailing commas, a byte order mark and numbers in args", () =>
    Effect.gen(function*() {
      const targets = yield* McpServersConfig.parse(`\ufeff// mine
        {
          /* "off": {}, */ "mcpServers": {
            "a": { "command": "node", "args": ["--port", 8080, "// no comment /*",], },
            "b": { "type": "HTTP", "url": "https://example.com/b", "headers": {} }, // b
            "c": { "transport": "streamable_http", "url": "https://example.com/c" },
            "d": { "type": "Streamable-Http", "transport": "streamableHttp", "url": "https://example.com/d", },
            "__proto__": { "command": "e", "disabled": true }
          },
        }
      `)
      assert.deepStrictEqual(Object.entries(targets).map(([name, { description }]) => [name, description]), [
        ["a", "node (3 arguments)"],
        ["b", "https://example.com/b"],
        ["c", "https://example.com/c"],
        ["d", "https://example.com/d"]
      ])
    }))

  it.effect("a text is read in time that grows with its length", () =>
    Effect.gen(function*() {
      const texts = [
        `{"mcpServers":{}} ${"/*".repeat(500_000)}`,
        `{"mcpServers":{}, "a": "${"\\\"".repeat(500_000)}"}`,
        `{"mcpServers":{}, "a": [${"1,".repeat(500_000)}]}`,
        `{"mcpServers":{}, "a": ${"/**/".repeat(250_000)} 1}`
      ]
      const results = yield* Effect.forEach(texts, (text) => Effect.exit(McpServersConfig.names(text)))
      assert.deepStrictEqual(results.map(({ _tag }) => _tag), ["Failure", "Success", "Success", "Success"])
    }))

  it.live("a reference in a place is shown as it is written, and its value is in no description, error or status", () =>
    Effect.gen(function*() {
      const secret = "S3cr3t Ö"
      const says = "console.error(process.cwd()); process.exit(3)"
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), secret))
      yield* Effect.addFinalizer(() => Effect.sync(() => fs.rmSync(folder, { recursive: true })))
      const targets = yield* McpServersConfig.decode({
        mcpServers: {
          command: { command: "/no/such/${SECRET}", args: ["a"] },
          cwd: { command: "node", cwd: "/no/such/${SECRET}" },
          stderr: { command: "node", args: ["-e", says], cwd: folder.replace(secret, () => "${SECRET}") },
          path: { url: "http://127.0.0.1:9/${SECRET}/mcp" },
          host: { url: "ws://${HOST:-a}.invalid:9/" },
          sse: { type: "sse", url: "http://127.0.0.1:9/${SECRET}" },
          ws: { url: "ws://127.0.0.1:9/${SECRET}" },
          unix: { url: "unix:///no/such/${SECRET}" }
        }
      }, { env: { SECRET: secret, HOST: "S3CR3T" } })
      assert.deepStrictEqual(Object.values(targets).map(({ description }) => description), [
        "/no/such/${SECRET}",
        "node",
        "node (2 arguments)",
        "http://127.0.0.1:9/${SECRET}/mcp",
        "ws://${HOST:-a}.invalid:9/",
        "http://127.0.0.1:9/${SECRET}",
        "ws://127.0.0.1:9/${SECRET}",
        "unix:///no/such/${SECRET}"
      ])
      const clients = yield* McpClients.make(targets, { info })
      yield* clients.settled("10 seconds")
      const shown = Object.values(yield* clients.status).flatMap(({ status }) => [
        ServerStatus.describe(status),
        inspect(status, { depth: 20 }),
        JSON.stringify(status)
      ])
      shown.push(yield* messageOf({ mcpServers: { a: { url: "${SECRET}:x" } } }, { env: { SECRET: "s3cr3t-a" } }))
      for (const text of shown) assert.notMatch(text, /s3cr3t/i)
      assert.include(
        shown.join("\n"),
        "could not connect to unix:///no/such/${SECRET}: connect ENOENT /no/such/<redacted>"
      )
      assert.include(shown.join("\n"), "url: its scheme is not supported")
    }).pipe(Effect.scoped))

  it.live("a value in the host or the path of a URL is in no span", () =>
    Effect.gen(function*() {
      const spans: Array<Tracer.Span> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      const server = createServer((_, response) => response.writeHead(404).end())
      yield* Effect.acquireRelease(
        Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
        () => Effect.sync(() => server.close())
      )
      const address = server.address()
      const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`
      const spansOf = Effect.fnUntraced(
        function*(type: string, url: string) {
          spans.length = 0
          const targets = yield* McpServersConfig.decode({ mcpServers: { a: { type, url } } }, {
            env: { SECRET: "s3cr3t-path" }
          })
          const target = targets["a"] ?? assert.fail("no target")
          const client = yield* McpClient.make(target, { info, reconnect: Schedule.recurs(0) })
          yield* Effect.ignore(client.tools)
          return JSON.stringify(spans.map(({ attributes }) => [...attributes]))
        },
        Effect.provideService(Tracer.Tracer, tracer),
        Effect.scoped
      )
      for (const type of ["http", "sse"]) {
        assert.strictEqual(yield* spansOf(type, `${origin}/\${SECRET}/mcp`), "[]")
        const shown = yield* spansOf(type, `${origin}/mcp?key=\${SECRET}`)
        assert.include(shown, `["url.path","/mcp"]`)
        assert.notInclude(shown, "s3cr3t")
      }
    }).pipe(Effect.scoped))

  it("law 12: references are found in a time proportional to the text", () => {
    const text = "$".repeat(100_000)
    const values = valuesOf({})
    // With a time that grows with the square of the length, these would take minutes.
    for (let run = 0; run < 20; run++) assert.strictEqual(Expansion.expand(text, values).value, text)
    assert.strictEqual(Expansion.expand("$$${A}$${B}", { ...values, env: { A: "a" } }).value, "$a${B}")
  })

  it.effect("a file decides neither the length of an error, nor its lines, nor what a terminal does", () =>
    Effect.gen(function*() {
      const many = [
        // 262,000 problems. Their message had 29 MB.
        { mcpServers: { a: { command: "${X}".repeat(262_000) } } },
        { mcpServers: { a: { command: "a", args: Array.from({ length: 1_000 }, (_, index) => `\${X${index}}`) } } },
        { mcpServers: Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`s${index}`, {}])) },
        // The message was longer than a string can be, so that reading it threw a RangeError.
        { mcpServers: { ["n".repeat(500_000)]: { command: "a", args: Array.from({ length: 100_000 }, () => ({})) } } }
      ]
      for (const configuration of many) {
        const error = yield* Effect.flip(McpServersConfig.decode(configuration, { env: {} }))
        assert.isAtMost(error.problems.length, 100)
        assert.isAtMost(error.message.length, 100 * 1_600)
      }
      assert.include(yield* messageOf(many[1]), "has 100 or more problems:")
      const message = yield* messageOf({
        mcpServers: {
          "a\u{9b}2J\u{202e}": { command: "a", env: { "\u{1b}[2J\n- forged": true } },
          b: { command: "${config:x\u{1b}]0;title\u{7}}" }
        }
      })
      assert.strictEqual(PlainText.text(message), message)
      assert.lengthOf(message.split("\n"), 3)
    }))

  it.effect("values of references have at most 1,048,576 characters in a configuration", () =>
    Effect.gen(function*() {
      const value = "v".repeat(2_000)
      const read = (entry: object) => messageOf({ mcpServers: { a: entry } }, { env: { VALUE: value } })
      const problem = "the values of references have more than 1048576 characters; use fewer references"
      // A file of 1 MiB was read into 500 MB.
      assert.include(yield* read({ command: "${VALUE}".repeat(600) }), `mcpServers.a.command: ${problem}`)
      const args = Array.from({ length: 600 }, () => "${VALUE}")
      assert.include(yield* read({ command: "a", args }), `a.args[524]: ${problem}`)
      assert.strictEqual(yield* read({ command: "${VALUE}".repeat(500) }), "no problem")
    }))

  it.live("no value of headers, env and args is in a status or in the log, although the process repeats it", () =>
    Effect.gen(function*() {
      const script = "console.error(`bad token ${process.env.KEY} ${process.argv.at(-1)}`); process.exit(3)"
      const targets = yield* McpServersConfig.decode({
        mcpServers: {
          child: { command: process.execPath, args: ["-e", script, "${SECRET}"], env: { KEY: "l1teral-key" } }
        }
      }, { env: { SECRET: "s3cr3t-token" } })
      const logged: Array<string> = []
      const clients = yield* Effect.provide(
        Effect.tap(McpClients.make(targets, { info }), (clients) => clients.settled("10 seconds")),
        Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))])
      )
      const shown = `${inspect(yield* clients.status, { depth: 20 })} ${logged.join("\n")}`
      assert.include(shown, "bad token <redacted> <redacted>")
      assert.notMatch(shown, /s3cr3t-token|l1teral-key/)
    }).pipe(Effect.scoped))

  it.live("no secret is in a description, an error or a status", () =>
    Effect.gen(function*() {
      const secret = "s3cr3t"
      const options = { env: { SECRET: secret }, inputs: { key: secret } }
      const targets = yield* McpServersConfig.decode({
        mcpServers: {
          command: { command: "/no/such/${NAME:-program}", args: ["${SECRET}"], env: { KEY: secret } },
          url: { url: "http://127.0.0.1:9/mcp?key=${SECRET}", headers: { authorization: secret } }
        }
      }, options)
      const shown = Object.values(targets).map((target) => `${target.description} ${JSON.stringify(target)}`)
      const clients = yield* McpClients.make(targets, { info })
      yield* clients.settled("10 seconds")
      for (const { status } of Object.values(yield* clients.status)) {
        assert.strictEqual(status._tag, "Down")
        shown.push(ServerStatus.describe(status), JSON.stringify(status))
      }
      shown.push(
        yield* messageOf({
          mcpServers: {
            a: { url: "https://example.com", headers: { a: `${secret}\n`, [`${"b"}`]: 5 } },
            b: { command: "x", env: { A: [secret] }, args: ["${NONE}"] },
            c: { url: "${SECRET}" },
            d: { url: `https://ada:${secret}@example.com` }
          }
        }, options)
      )
      assert.notInclude(shown.join("\n"), secret)
    }))
})
