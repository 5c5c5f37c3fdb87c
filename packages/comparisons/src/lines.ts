/**
 * Prints the number of lines of each program, without blank lines and comments, as the table of the README:
 *
 * ```sh
 * pnpm --filter @effect-mcp/comparisons lines
 * ```
 */
import { table } from "./lineCount.ts"

console.log(table())
