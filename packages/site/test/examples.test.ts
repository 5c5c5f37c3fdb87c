import { assert, it } from "@effect/vitest"
import { files, read } from "../../../scripts/workspace.ts"

const programs = files("packages/examples/src/**/*.ts").filter((file) => /\brunMain(?:Stdio)?\(/.test(read(file)))

it("the page of examples names each program", () => {
  const page = read("docs/start/examples.md")
  assert.isAbove(programs.length, 10)
  assert.deepStrictEqual(programs.filter((program) => !page.includes(`](../../${program})`)), [])
})
