// Enabled before all other imports, because parsers that exist by then are not replaced. The setting applies to a whole
// process, so this is a program of its own. It prints its measurements as JSON.
await import("effect/schema/SchemaJITCompiler/enable")
const memory = await import("./memory.ts")

const [rounds, calls] = process.argv.slice(2).map(Number)
if (rounds === undefined || calls === undefined) throw new Error("usage: compiled.ts <rounds> <calls>")
process.stdout.write(JSON.stringify(await memory.measure({ rounds, calls })))
