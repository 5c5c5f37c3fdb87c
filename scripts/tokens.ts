/**
 * The tokens of a TypeScript text. Spaces, line breaks and comments are between tokens, so texts that differ only in
 * their layout have the same tokens. The text may be a part of a module, which no parser accepts.
 */

/** A token, and its place in the text. */
export interface Token {
  readonly text: string
  readonly start: number
  readonly end: number
}

const space = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)+/y
const template = /[`}](?:\\[^]|\$(?!\{)|[^`\\$])*(?:`|\$\{)/y
const pattern = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y
const word = /[#@]?[\p{ID_Start}$_][\p{ID_Continue}$]*|\d[\w.]*|"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'/uy
// `>` is a token of its own, because it may close type arguments.
const punctuation = /=>|===?|!==?|<<?=?|\.\.\.|\?\?=?|\?\.(?!\d)|&&=?|\|\|=?|\+\+|--|\*\*=?|[-+*/%&|^]=|[^]/uy

const matchAt = (expression: RegExp, text: string, start: number): string | undefined => {
  expression.lastIndex = start
  return expression.exec(text)?.[0]
}

const beforePattern =
  /^(?:[^\w$"'`)\]}#@][^]*|return|typeof|case|in|of|delete|void|throw|new|else|do|await|yield|instanceof)$/

/** Returns whether a slash after this token begins a regular expression; otherwise it divides. */
const canPrecedePattern = (before: Token | undefined): boolean =>
  before === undefined || beforePattern.test(before.text)

/** Returns the tokens of a text. */
export const tokensOf = (text: string): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  /** For each template that is open, the number of braces that are open in its expression. */
  const templates: Array<number> = []

  const read = (start: number): string => {
    const first = text[start]
    const isContinued = first === "}" && templates.at(-1) === 0
    if (first === "`" || isContinued) {
      const part = matchAt(template, text, start)
      if (isContinued) templates.pop()
      if (part?.endsWith("${") === true) templates.push(0)
      if (part !== undefined) return part
    }
    const open = templates.at(-1)
    if (open !== undefined && first === "{") templates[templates.length - 1] = open + 1
    if (open !== undefined && first === "}") templates[templates.length - 1] = open - 1
    return (first === "/" && canPrecedePattern(tokens.at(-1)) ? matchAt(pattern, text, start) : undefined) ??
      matchAt(word, text, start) ?? matchAt(punctuation, text, start) ?? ""
  }

  let end = 0
  while (true) {
    const start = end + (matchAt(space, text, end)?.length ?? 0)
    if (start >= text.length) return tokens
    const token = read(start)
    end = start + token.length
    tokens.push({ text: token, start, end })
  }
}
