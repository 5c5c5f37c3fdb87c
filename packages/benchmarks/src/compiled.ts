// Before anything else: what has been made of a schema by then is not replaced. It works on a whole process, so this is a
// program of its own: it measures, and prints the results as JSON.
await import("effect/schema/SchemaJITCompiler/enable")
const memory = await import("./memory.ts")

const [rounds, calls] = process.argv.slice(2).map(Number)
if (rounds === undefined || calls === undefined) throw new Error("usage: compiled.ts <rounds> <calls>")
process.stdout.write(JSON.stringify(await memory.measure({ rounds, calls })))
