/** Programs in a pseudo-terminal, and a person in front of it. */
import { assert } from "@effect/vitest"
import { spawn } from "node:child_process"
import { once } from "node:events"

/** Texts that appear, each with the keys that a person then presses. */
export type Answers = ReadonlyArray<readonly [shown: string, typed: string]>

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

/** Runs a command in a pseudo-terminal, where a person answers each text that appears. */
export const run = async (words: ReadonlyArray<string>, cwd: string, answers: Answers) => {
  // `script` copies between the pseudo-terminal and its own standard streams.
  const command = `stty cols 100 rows 40; exec ${words.map(quoted).join(" ")}`
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    cwd,
    env: { ...process.env, TERM: "xterm", NO_COLOR: "1", SHELL: "/bin/sh", npm_config_user_agent: "pnpm/12.21.0" },
    stdio: ["pipe", "pipe", "inherit"]
  })
  const closed = once(child, "close")
  const waiting = [...answers]
  let from = 0
  let written = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    written += text
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const [shown, typed] = next
      const index = written.indexOf(shown, from)
      if (index < 0) return
      from = index + shown.length
      waiting.shift()
      child.stdin.write(typed)
    }
  })
  const [status] = await closed
  assert.deepStrictEqual(waiting, [], written)
  return { status, written }
}
