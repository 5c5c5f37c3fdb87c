/**
 * The configuration of all tests, with a time limit for tests and half of it for hooks. Vitest's command line has no
 * option for the hooks of projects, and a hook waits for a test that hangs.
 */
import { mergeConfig } from "vitest/config"
import all from "../../vitest.workspace.ts"
import { timeoutVariable } from "./Outcome.ts"

const timeout = Number(process.env[timeoutVariable])

export default mergeConfig(all, { test: { testTimeout: timeout, hookTimeout: timeout / 2 } })
