/** The parts of the benchmarks, in the order in which they are measured. */
import * as application from "./application.ts"
import * as authorized from "./authorized.ts"
import * as compilation from "./compilation.ts"
import * as curvePart from "./curves/curvePart.ts"
import * as inFlight from "./curves/inFlight.ts"
import * as payload from "./curves/payload.ts"
import * as sessions from "./curves/sessions.ts"
import * as subscriptions from "./curves/subscriptions.ts"
import * as tasks from "./curves/tasks.ts"
import * as tools from "./curves/tools.ts"
import * as http from "./http.ts"
import * as httpStateless from "./httpStateless.ts"
import * as memory from "./memory.ts"
import * as Part from "./Part.ts"
import * as report from "./report.ts"
import * as reportHttp from "./reportHttp.ts"
import * as startup from "./startup.ts"
import * as stdio from "./stdio.ts"
import * as webSocket from "./webSocket.ts"

export const parts: ReadonlyArray<Part.Part> = [
  Part.make({
    name: "startup",
    measures: "the start of stdio servers, until the response to initialize",
    measure: ({ rounds }) => startup.measure(rounds),
    report: report.ofStartup
  }),
  Part.make({
    name: "stdio",
    measures: "calls of servers over stdio",
    servers: stdio.names,
    measure: stdio.measure,
    report: report.ofStdio
  }),
  Part.make({
    name: "websocket",
    measures: "calls of servers over WebSocket",
    measure: webSocket.measure,
    report: report.ofWebSocket
  }),
  Part.make({
    name: "memory",
    measures: "calls through both sides in memory, and the cost of observability",
    measure: async (options) => ({
      interpreted: await memory.measure(options),
      compiled: await compilation.measure(options),
      observed: await memory.measureObserved(options)
    }),
    report: ({ compiled, interpreted, observed }) => [
      ...report.ofMemory(interpreted, compiled),
      ...report.ofObserved(observed)
    ]
  }),
  Part.make({
    name: "application",
    measures: "calls and lists of tools with schemas, in memory and over stdio",
    servers: stdio.applicationNames,
    measure: async (options) => ({
      memory: await application.measure(options),
      stdio: await stdio.measureApplications(options)
    }),
    report: ({ memory, stdio }) => [...report.ofApplications(memory), ...report.ofApplicationsOverStdio(stdio)]
  }),
  Part.make({
    name: "http-calls",
    measures: "calls of servers over Streamable HTTP",
    servers: http.names(),
    measure: http.measureCalls,
    report: reportHttp.ofCalls
  }),
  Part.make({
    name: "http-handshakes",
    measures: "sessions over Streamable HTTP that are opened and ended",
    servers: http.names(),
    measure: http.measureHandshakes,
    report: reportHttp.ofHandshakes
  }),
  Part.make({
    name: "http-idle",
    measures: "the memory of idle sessions over Streamable HTTP",
    servers: http.names(({ role }) => role !== "floor"),
    measure: http.measureIdle,
    report: (results, { sessions }) => reportHttp.ofIdle(results, sessions)
  }),
  Part.make({
    name: "http-stalled",
    measures: "pings over Streamable HTTP while another client does not read",
    servers: http.names(),
    measure: http.measureStalled,
    report: reportHttp.ofStalled
  }),
  Part.make({
    name: "http-stateless",
    measures: "calls of revision 2026-07-28 over Streamable HTTP",
    servers: httpStateless.serverNames,
    measure: httpStateless.measureCalls,
    report: reportHttp.ofStateless
  }),
  Part.make({
    name: "http-questions",
    measures: "a question to the user in revision 2026-07-28 over Streamable HTTP",
    measure: httpStateless.measureQuestions,
    report: reportHttp.ofQuestions
  }),
  Part.make({
    name: "http-authorized",
    measures: "calls over Streamable HTTP with a constant token, and with one of OAuth",
    measure: authorized.measure,
    report: reportHttp.ofAuthorized
  }),
  curvePart.make({
    name: "curve-in-flight",
    measures: "calls of one session in memory, with 1 to 10,000 in flight",
    curves: { memory: inFlight.curve }
  }),
  curvePart.make({
    name: "curve-payload",
    measures: "results of 100 B to 10 MB over stdio and Streamable HTTP",
    curves: { stdio: payload.stdio, http: payload.http }
  }),
  curvePart.make({
    name: "curve-tools",
    measures: "calls and lists of servers with 1 to 1,000 tools, over stdio and in memory",
    curves: { stdio: tools.stdio, memory: tools.memory }
  }),
  curvePart.make({
    name: "curve-sessions",
    measures: "the memory and the opening of 1 to 100,000 idle sessions over Streamable HTTP",
    curves: { http: sessions.curve }
  }),
  curvePart.make({
    name: "curve-subscriptions",
    measures: "notifications of a changed resource to 1 to 10,000 clients, in memory",
    curves: { memory: subscriptions.curve }
  }),
  curvePart.make({
    name: "curve-tasks",
    measures: "the creation, the end and the results of 1 to 10,000 tasks at the same time, in memory",
    curves: { memory: tasks.curve }
  })
]
