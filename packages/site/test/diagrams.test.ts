import { assert, it } from "@effect/vitest"
import { draw, summaryOf } from "../src/diagrams.ts"

const diagram = `stateDiagram-v2
  [*] --> Idle
  Idle --> Closed: Close / Finish
  Idle --> Closed: Timeout / Finish
  Idle --> Idle: SendPing / Send
  Closed --> [*]
`

it("a summary has one arrow for each pair of states, and none from a state to itself", () => {
  assert.strictEqual(
    summaryOf(diagram),
    "stateDiagram-v2\n[*] --> Idle\nIdle --> Closed: Close<br>Timeout\nClosed --> [*]"
  )
})

it("a drawing shows states and events, and loads nothing", () => {
  const svg = draw(diagram)
  for (const name of ["Idle", "Closed", "Timeout"]) assert.include(svg, name)
  assert.notMatch(svg, /@import|url\(\s*['"]?http/)
})
