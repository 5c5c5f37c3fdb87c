/** The chain of encodings of a schema, from the schema itself to the schema of what is sent. */
import type * as SchemaAST from "effect/SchemaAST"

/** A schema in a chain of encodings, and the link that leads from the schema before it. */
export interface Step {
  readonly ast: SchemaAST.AST
  readonly link: SchemaAST.Link | undefined
}

/** Returns the steps of a chain, from the schema itself to its last encoding. */
export const steps = (ast: SchemaAST.AST): readonly [Step, ...Array<Step>] => {
  const found: [Step, ...Array<Step>] = [{ ast, link: undefined }]
  for (let { encoding } = ast; encoding !== undefined;) {
    for (const link of encoding) found.push({ ast: link.to, link })
    encoding = encoding[encoding.length - 1]?.to.encoding
  }
  return found
}

/** Returns the last encoding of a schema: the schema itself if it has none. */
export const end = (ast: SchemaAST.AST): SchemaAST.AST => {
  let last = ast
  while (last.encoding !== undefined) last = last.encoding[last.encoding.length - 1]?.to ?? last
  return last
}
