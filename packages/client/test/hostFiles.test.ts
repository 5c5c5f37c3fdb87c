/** The files of each host, with its fields and its references: local servers are started, and remote ones called. */
import { McpClient, McpServersConfig, type McpTarget } from "@effect-mcp/client/node"
import { Content } from "@effect-mcp/protocol"
import { HttpSseServer, StreamableHttpServer } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as path from "node:path"
import { portOf } from "./support/headerServer.ts"

const info = { name: "host", version: "1.0.0" }

const program = path.join(import.meta.dirname, "fixtures/environment.ts")

const command = JSON.stringify(process.execPath)

const file = JSON.stringify(program)

/** Returns what the fixture reports of its arguments and environment. */
const reportOf = Effect.fnUntraced(function*(target: McpTarget.McpTarget | undefined) {
  const client = yield* McpClient.make(target ?? assert.fail("no target"), { info })
  const { content } = yield* client.callTool("report")
  const [part] = content
  return part?.type === "text" ? JSON.parse(part.text) : undefined
})

const whoOf = Effect.fnUntraced(function*(target: McpTarget.McpTarget | undefined) {
  const client = yield* McpClient.make(target ?? assert.fail("no target"), { info })
  return (yield* client.callTool("who")).content
})

const problemsOf = (text: string, options: McpServersConfig.Options = {}) =>
  Effect.map(
    Effect.flip(McpServersConfig.parse(text, { env: {}, ...options })),
    ({ problems }) => problems.map(({ path, problem }) => `${path}: ${problem}`)
  )

/** An entry of each host for a local server, and what the server is to get as its argument and as TOKEN. */
const local: Readonly<Record<McpServersConfig.Host, readonly [text: string, arg: string, token: string]>> = {
  "claude-desktop": [
    `{ "mcpServers": { "one": { "command": ${command}, "args": [${file}, "\${A}"], "env": { "TOKEN": "$A" } } } }`,
    "${A}",
    "$A"
  ],
  "claude-code": [
    `{ "mcpServers": { "one": { "type": "stdio", "command": ${command}, "args": [${file}, "\${B:-b}"],
      "env": { "TOKEN": "\${A}" } } } }`,
    "b",
    "value"
  ],
  "vscode": [
    `{ "inputs": [{ "type": "promptString", "id": "key" }], // asked once
      "servers": { "one": { "type": "stdio", "command": ${command}, "args": [${file}, "\${workspaceFolder}"],
      "env": { "TOKEN": "\${input:key}" }, } } }`,
    "/work",
    "typed"
  ],
  "cursor": [
    `{ "mcpServers": { "one": { "command": ${command}, "args": [${file}, "\${workspaceFolder}"],
      "env": { "TOKEN": "\${env:A}" } } } }`,
    "/work",
    "value"
  ],
  "codex": [
    `# mine
    model = "o9"
    [mcp_servers.one]
    command = ${command}
    args = [${file}, '\${A}'] # text
    env_vars = ["TOKEN"]
    startup_timeout_sec = 20
    [mcp_servers.one.env]
    PORT = "1"
    [mcp_servers.off]
    enabled = false
    `,
    "${A}",
    "inherited"
  ],
  "gemini-cli": [
    `{ "mcpServers": { "one": { "command": ${command}, "args": [${file}, "$A/\${A} $$A $1"], "timeout": 9,
      "env": { "TOKEN": "$A" }, "trust": false } }, "theme": "x" }`,
    "value/value $A $1",
    "value"
  ],
  "zed": [
    `{ // settings
      "theme": "x", "context_servers": {
        "one": { "source": "custom", "enabled": true, "command": ${command}, "args": [${file}, "\${A}"],
          "env": { "TOKEN": "text" } },
        "extended": { "source": "extension", "settings": {} },
      }, }`,
    "${A}",
    "text"
  ],
  "windsurf": [
    `{ "mcpServers": { "one": { "command": ${command}, "args": [${file}, "\${env:A}"], "disabled": false,
      "env": { "TOKEN": "\${env:A}" }, "disabledTools": [] } } }`,
    "value",
    "value"
  ]
}

/** The fields of each host for a remote server, at PORT and SSE, with the token of the environment. */
const remote: Readonly<Record<Exclude<McpServersConfig.Host, "claude-desktop">, string>> = {
  "claude-code":
    `{ "mcpServers": { "one": { "type": "http", "url": "http://127.0.0.1:PORT/mcp", "headers": HEADERS } } }`,
  "vscode": `{ "servers": { "one": { "type": "http", "url": "http://127.0.0.1:PORT/mcp", "headers": HEADERS } } }`,
  "cursor": `{ "mcpServers": { "one": { "url": "http://127.0.0.1:PORT/mcp", "headers": HEADERS } } }`,
  "codex": `[mcp_servers.one]\nurl = "http://127.0.0.1:PORT/mcp"\nbearer_token_env_var = "A"
    env_http_headers = { x-team = "B" }\n[mcp_servers.one.http_headers]\nX-Other = "x"`,
  "gemini-cli": `{ "mcpServers": { "one": { "httpUrl": "http://127.0.0.1:PORT/mcp", "headers": HEADERS },
    "sse": { "url": "http://127.0.0.1:SSE/sse", "headers": HEADERS } } }`,
  "zed": `{ "context_servers": { "one": { "url": "http://127.0.0.1:PORT/mcp",
    "headers": { "Authorization": "Bearer value", "x-team": "red" } } } }`,
  "windsurf": `{ "mcpServers": { "one": { "serverUrl": "http://127.0.0.1:PORT/mcp", "headers": HEADERS } } }`
}

describe("the files of hosts", () => {
  for (const host of McpServersConfig.hosts) {
    const [text, arg, token] = local[host]
    it.live(`${host}: a local server is started, with the references of this host`, () =>
      Effect.gen(function*() {
        const targets = yield* McpServersConfig.parse(text, {
          host,
          env: { A: "value", TOKEN: "inherited" },
          inputs: { key: "typed" },
          variables: { workspaceFolder: "/work" }
        })
        assert.deepStrictEqual(Object.keys(targets), ["one"])
        assert.deepStrictEqual(yield* McpServersConfig.names(text, { host }), ["one"])
        const report = yield* reportOf(targets["one"])
        assert.deepStrictEqual([report.args, report.env.TOKEN], [[arg], token])
      }))
  }

  it.live("a remote server is called with the headers of each host", () =>
    Effect.gen(function*() {
      const port = yield* portOf(StreamableHttpServer.layerNode({ port: 0 }))
      const sse = yield* portOf(HttpSseServer.layerNode({ port: 0 }))
      for (const host of McpServersConfig.hosts) {
        if (host === "claude-desktop") continue
        const text = remote[host].replace("PORT", String(port)).replace("SSE", String(sse))
          .replaceAll("HEADERS", `{ "Authorization": "Bearer \${A}", "x-team": "\${B}" }`)
        const targets = yield* McpServersConfig.parse(text, { host, env: { A: "value", B: "red" } })
        for (const target of Object.values(targets)) {
          assert.deepStrictEqual(yield* whoOf(target), [Content.text("Bearer value red")], host)
        }
      }
    }))

  it.live("without a host, the form shows Codex and Zed, and other files have no references of Gemini CLI", () =>
    Effect.gen(function*() {
      const env = { A: "value", TOKEN: "inherited" }
      for (const host of ["codex", "zed"] as const) {
        const [text, arg] = local[host]
        const targets = yield* McpServersConfig.parse(text, { env })
        assert.deepStrictEqual((yield* reportOf(targets["one"])).args, [arg], host)
      }
      const [text] = local["gemini-cli"]
      const targets = yield* McpServersConfig.parse(text, { env })
      assert.deepStrictEqual((yield* reportOf(targets["one"])).args, ["$A/value $$A $1"])
    }))

  it.live("the command of older versions of Zed is an object", () =>
    Effect.gen(function*() {
      const targets = yield* McpServersConfig.parse(
        `{ "context_servers": { "one": { "settings": {},
          "command": { "path": ${command}, "args": [${file}, "x"], "env": { "TOKEN": "t" } } } } }`
      )
      const { args, env } = yield* reportOf(targets["one"])
      assert.deepStrictEqual([args, env.TOKEN], [["x"], "t"])
      assert.deepStrictEqual(yield* problemsOf(`{ "context_servers": { "one": { "command": { "args": [] } } } }`), [
        "context_servers.one.command.path: it is missing"
      ])
    }))

  it.effect("with a host, only its field counts, and the error shows the form of its file", () =>
    Effect.gen(function*() {
      const messageOf = (text: string, host: McpServersConfig.Host) =>
        Effect.map(Effect.flip(McpServersConfig.parse(text, { host })), ({ message }) => message)
      assert.strictEqual(
        yield* messageOf("{ \"mcpServers\": {} }", "zed"),
        "the configuration of servers is invalid: it has no context_servers; write {\"context_servers\": {…}}"
      )
      assert.strictEqual(
        yield* messageOf("model = \"o9\"", "codex"),
        "the configuration of servers is invalid: it has no mcp_servers; write [mcp_servers.NAME]"
      )
      const both = "{ \"mcpServers\": {}, \"servers\": { \"a\": { \"command\": \"npx\" } } }"
      assert.deepStrictEqual(yield* McpServersConfig.names(both, { host: "vscode" }), ["a"])
      assert.deepStrictEqual(yield* problemsOf(both), ["servers: there is mcpServers, too"])
    }))

  it.effect("fields that contradict each other are problems", () =>
    Effect.gen(function*() {
      const entry = (fields: object) => JSON.stringify({ mcpServers: { one: fields } })
      const url = "https://example.com/mcp"
      assert.deepStrictEqual(yield* problemsOf(entry({ url, httpUrl: url })), [
        "mcpServers.one.httpUrl: there is url, too"
      ])
      assert.deepStrictEqual(yield* problemsOf(entry({ httpUrl: url, type: "sse" })), [
        "mcpServers.one.httpUrl: it is that of Streamable HTTP, and type is another one"
      ])
      assert.deepStrictEqual(yield* problemsOf(entry({ serverUrl: url, command: "npx" })), [
        "mcpServers.one.serverUrl: the entry has command, too"
      ])
      assert.deepStrictEqual(yield* problemsOf(entry({ httpUrl: "ws://example.com" })), [
        "mcpServers.one.httpUrl: it begins with ws:"
      ])
      assert.deepStrictEqual(yield* problemsOf(entry({ serverUrl: url, headers: { a: "${file:/run/token}" } })), [
        "mcpServers.one.headers.a: the reference ${file:/run/token} is not known"
      ])
    }))

  it.effect("a disabled server, and one of an extension of Zed, are problems if they are named", () =>
    Effect.gen(function*() {
      const text = `{ "context_servers": { "off": { "enabled": false }, "ours": { "source": "extension" } } }`
      assert.deepStrictEqual(yield* McpServersConfig.names(text), [])
      assert.deepStrictEqual(yield* problemsOf(text, { servers: ["off", "ours"] }), [
        "context_servers.off: it is disabled",
        "context_servers.ours: it belongs to an extension of Zed, which has its command"
      ])
    }))

  it.effect("Codex: an inline token is refused, and no error quotes a value", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(McpServersConfig.parse(
        `[mcp_servers.one]
        url = "https://example.com/mcp"
        bearer_token = "s3cr3t"
        bearer_token_env_var = "s3cr3t"
        env_http_headers = { a = "s3cr3t", b = 5, c = "BREAK" }
        [mcp_servers.two]
        command = "npx"
        env_vars = ["s3cr3t", { name = "A", source = "remote" }, 1]`,
        { env: { BREAK: "s3cr3t\r\nx: y" } }
      ))
      assert.deepStrictEqual(
        error.problems.map(({ path, problem }) => `${path}: ${problem}`),
        [
          "mcp_servers.one.bearer_token: Codex reads no token from its file",
          "mcp_servers.one.bearer_token_env_var: the environment variable that it names is not set",
          "mcp_servers.one.env_http_headers.a: the environment variable that it names is not set",
          "mcp_servers.one.env_http_headers.b: it is not the name of an environment variable",
          "mcp_servers.one.env_http_headers.c: its value has characters that a header cannot have",
          "mcp_servers.two.env_vars[0]: the environment variable that it names is not set",
          "mcp_servers.two.env_vars[1]: variables of a remote environment are not supported",
          "mcp_servers.two.env_vars[2]: it is not the name of an environment variable"
        ]
      )
      assert.notInclude(error.message, "s3cr3t")
      assert.include(error.message, "write the name of this variable as bearer_token_env_var")
    }))

  it.effect("a text that is not TOML is reported by its place, and is not quoted", () =>
    Effect.gen(function*() {
      const problems = [
        ["[mcp_servers.a]\ncommand = \"s3cr3t\" oops", "line 2 column 20"],
        ["[mcp_servers.a]\nb = s3cr3t", "line 2 column 5"],
        ["[mcp_servers.a]\n[mcp_servers.a]", "line 2 column 2"],
        ["mcp_servers = \"s3cr3t", "line 1 column 15"],
        [`mcp_servers = ${"[".repeat(100_000)}`, "line 1 column 143"],
        [`mcp_servers = ${"{a=".repeat(100_000)}`, "line 1 column"]
      ] as const
      for (const [text, place] of problems) {
        const { message } = yield* Effect.flip(McpServersConfig.parse(text))
        assert.include(message, "the text is not TOML: ")
        assert.include(message, place)
        assert.notInclude(message, "s3cr3t")
        assert.isBelow(message.length, 250)
      }
      const [long] = yield* problemsOf(`mcp_servers = "${"x".repeat(1_048_576)}"`)
      assert.strictEqual(long, ": the text is not TOML: it has more than 1048576 characters")
    }))

  it.effect("TOML is read in time that grows with its length, and changes no prototype", () =>
    Effect.gen(function*() {
      const texts = [
        `[mcp_servers.a]\nb${".b".repeat(400_000)} = 1\ncommand = "npx"`,
        `[mcp_servers.a]\ncommand = "npx"\n${"#\n".repeat(500_000)}`,
        `[mcp_servers.a]\ncommand = "npx"\nb = [${"1,".repeat(500_000)}]`,
        `[mcp_servers.a]\ncommand = "npx"\n${" ".repeat(1_000_000)}`,
        `[mcp_servers.a]\ncommand = "npx"\n[__proto__]\npolluted = 1\n[mcp_servers.__proto__]\nenabled = false`
      ]
      for (const text of texts) assert.deepStrictEqual(yield* McpServersConfig.names(text), ["a"])
      assert.isUndefined(Object.getOwnPropertyDescriptor(Object.prototype, "polluted"))
    }))
})
