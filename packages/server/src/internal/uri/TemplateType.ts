/**
 * The types of URI templates: their variables, and why a template cannot be matched.
 */
import type { Shape } from "./Pattern.ts"
import type { Operator } from "./Syntax.ts"

/** A variable in an expression, as a type. */
export interface Occurrence {
  readonly name: string
  readonly operator: Operator
  readonly explode: boolean
}

type Spec<Source extends string, Op extends Operator> = Source extends `${infer Name}*`
  ? { readonly name: Name; readonly operator: Op; readonly explode: true }
  : Source extends `${infer Name}:${string}` ? { readonly name: Name; readonly operator: Op; readonly explode: false }
  : { readonly name: Source; readonly operator: Op; readonly explode: false }

type Specs<List extends string, Op extends Operator> = List extends `${infer First},${infer Rest}`
  ? Spec<First, Op> | Specs<Rest, Op>
  : Spec<List, Op>

type OperatorOf<Body extends string> = Body extends `${infer First}${string}`
  ? First extends Exclude<Operator, ""> ? First : ""
  : ""

type ListOf<Body extends string> = OperatorOf<Body> extends "" ? Body
  : Body extends `${string}${infer List}` ? List
  : never

/** The variables of a template, one for each occurrence. */
export type Occurrences<Template extends string> = Template extends `${string}{${infer Body}}${infer Rest}`
  ? Specs<ListOf<Body>, OperatorOf<Body>> | Occurrences<Rest>
  : never

/** The shapes of values, by the names of variables. */
export interface AnyShapes {
  readonly [name: string]: Shape
}

type Reserved =
  | ":"
  | "/"
  | "?"
  | "#"
  | "["
  | "]"
  | "@"
  | "!"
  | "$"
  | "&"
  | "'"
  | "("
  | ")"
  | "*"
  | "+"
  | ","
  | ";"
  | "="

type Forbidden = " " | "\"" | "<" | ">" | "\\" | "^" | "`" | "|" | "}"

type Braces<Body extends string> = `{${Body}}`

/** The expression whose value ends only at a reserved character, unless the literal after it has one. */
type OpenAfter<Literal extends string, Open extends string> = Literal extends `${string}${Reserved}${string}` ? ""
  : Open

type BadSyntax<Body extends string> = Body extends "" ? "a URI template has an empty expression {}"
  : Body extends `${"=" | "," | "!" | "@" | "|"}${string}`
    ? `the operator of ${Braces<Body>} is reserved: use one of + # . / ; ? & or none`
  : Body extends `${string}${"{" | Forbidden}${string}` ? `${Braces<Body>} is no expression of a URI template`
  : never

type HasMany<List extends string> = List extends `${string},${string}` ? true : false
type HasExploded<List extends string> = List extends `${string}*${string}` ? true : false

type Separate<Open extends string, Body extends string> = `${Open} and ${Braces<
  Body
>} are ambiguous: put a reserved character, such as "/", between them`

/** Why a reserved expression cannot be matched. */
type ReservedFault<Body extends string, Open extends string, Rest extends string> = Rest extends "" //
  ? HasMany<Body> extends true ?
    `${Braces<Body>} is ambiguous: its values may contain ",", so it can have only one variable`
  : HasExploded<Body> extends true ? `${Braces<Body>} is ambiguous: its values may contain ",", so remove the "*"`
  : OperatorOf<Body> extends "+" ? (Open extends "" ? never : Separate<Open, Body>)
  : never
  : `${Braces<Body>} must be last: its value may contain any character`

/** Why a label cannot be matched. */
type LabelFault<Body extends string, Open extends string> = HasMany<Body> extends true
  ? `${Braces<Body>} is ambiguous: its values may contain ".", so it can have only one variable`
  : HasExploded<Body> extends true ? `${Braces<Body>} is ambiguous: its values may contain ".", so remove the "*"`
  : Open extends "" ? never
  : Separate<Open, Body>

/** Why a path expression cannot be matched. `Path` is one before it, with nothing required between the two. */
type PathFault<Body extends string, Path extends string> = Path extends ""
  ? Body extends `${string}*,${string}` ? `${Braces<Body>} is ambiguous: only its last variable can have a "*"`
  : never
  : `${Path} and ${Braces<Body>} are ambiguous: either may be absent`

type Fault<
  Body extends string,
  Open extends string,
  Path extends string,
  Rest extends string,
  Shapes
> = [BadSyntax<Body>] extends [never] ? {
    readonly "": Open extends "" ? never : Separate<Open, Body>
    readonly "+": ReservedFault<Body, Open, Rest>
    readonly "#": ReservedFault<Body, Open, Rest>
    readonly ".": LabelFault<Body, Open>
    // A record has "=" in each of its segments, so it may be told apart.
    readonly "/": [keyof Shapes] extends [never] ? PathFault<Body, Path> : never
    readonly ";": never
    readonly "?": never
    readonly "&": never
  }[OperatorOf<Body>]
  : BadSyntax<Body>

/** The path expression that a later one may be confused with. */
type PathAfter<Literal extends string, Body extends string, Path extends string> = OperatorOf<Body> extends "/"
  ? Braces<Body>
  : OperatorOf<Body> extends "" ? ""
  : Literal extends "" ? Path
  : ""

type Check<Template extends string, Open extends string, Path extends string, Shapes> = Template extends
  `${infer Literal}{${infer After}`
  ? Literal extends `${string}${Forbidden}${string}` ? "a URI template contains a character that no URI has"
  : After extends `${infer Body}}${infer Rest}`
    ? [Fault<Body, OpenAfter<Literal, Open>, Literal extends "" ? Path : "", Rest, Shapes>] extends [never]
      ? Check<Rest, Braces<Body>, PathAfter<Literal, Body, Path>, Shapes>
    : Fault<Body, OpenAfter<Literal, Open>, Literal extends "" ? Path : "", Rest, Shapes>
  : "a URI template has a \"{\" without a \"}\""
  : Template extends `${string}${Forbidden}${string}` ? "a URI template contains a character that no URI has"
  : unknown

/** `unknown` if a template can be matched as far as its type shows, or the reason why it cannot. */
export type Matchable<Template extends string, Shapes> = string extends Template ? unknown
  : Check<Template, "", "", Shapes>
