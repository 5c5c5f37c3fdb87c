/**
 * The types of URI templates: their variables, and why a template cannot be matched.
 */
import type { Operator } from "./Syntax.ts"

type Spec<Source extends string, Op extends Operator> = Source extends `${infer Name}*`
  ? { readonly name: Name; readonly operator: Op; readonly explode: true }
  : Source extends `${infer Name}:${string}` ? { readonly name: Name; readonly operator: Op; readonly explode: false }
  : { readonly name: Source; readonly operator: Op; readonly explode: false }

type Specs<List extends string, Op extends Operator> = List extends `${infer First},${infer Rest}`
  ? Spec<First, Op> | Specs<Rest, Op>
  : Spec<List, Op>

type OperatorOf<Body extends string> = Body extends `${infer First extends Exclude<Operator, "">}${string}` ? First : ""

type ListOf<Body extends string> = Body extends `${OperatorOf<Body>}${infer List}` ? List : never

/** The variables of a template, one for each occurrence. */
export type Occurrences<Template extends string> = Template extends `${string}{${infer Body}}${infer Rest}`
  ? Specs<ListOf<Body>, OperatorOf<Body>> | Occurrences<Rest>
  : never

type Characters<Text extends string> = Text extends `${infer First}${infer Rest}` ? First | Characters<Rest> : never

type Reserved = Characters<":/?#[]@!$&'()*+,;=">

type Forbidden = Characters<" \"<>\\^`|}">

type Has<Text extends string> = `${string}${Text}${string}`

/** Why an expression is malformed. */
type Malformed<Body extends string> = Body extends "" ? "a URI template has an empty expression {}"
  : Body extends `${"=" | "," | "!" | "@" | "|"}${string}`
    ? `the operator of {${Body}} is reserved: use one of + # . / ; ? & or none`
  : Body extends Has<"{" | Forbidden> ? `{${Body}} is no expression of a URI template`
  : never

/** Why an expression cannot be matched. `Open` is an expression before it whose value ends at a reserved character. */
type Unmatchable<Body extends string, Open extends string, Rest extends string> = Body extends `;${string}` | Has<":">
  ? `{${Body}} cannot be matched: use {x}, {+x}, {.x}, {/x*}, {?x} or {&x}`
  : Body extends `${"+" | "#" | "."}${Has<"," | "*">}`
    ? `{${Body}} is ambiguous: it can have only one variable, and that without a "*"`
  : [OperatorOf<Body>, Body] extends ["", Has<",">] & ["", Has<"*">]
    ? `{${Body}} is ambiguous: the items of a list have "," between them`
  : Body extends `/${string}*,${string}` ? `{${Body}} is ambiguous: only its last variable can have a "*"`
  : [Body, Rest] extends [`/${string}`, Has<"{/">] ? `{${Body}} and a later {/x} are ambiguous: either may be absent`
  : [Body, Rest] extends [`?${string}`, Has<"{&">] ? `{${Body}} may be absent before {&x}: write {?x,y}`
  : [Body, Rest] extends [`${"+" | "#"}${string}`, `${infer _}${string}`]
    ? `{${Body}} must be last: its value may contain any character`
  : [OperatorOf<Body>, Open] extends ["" | "+" | ".", `${infer _}${string}`]
    ? `${Open} and {${Body}} are ambiguous: put a reserved character, such as "/", between them`
  : never

type Fault<Body extends string, Open extends string, Rest extends string> = [Malformed<Body>] extends [never]
  ? Unmatchable<Body, Open, Rest>
  : Malformed<Body>

/** `unknown` if a template can be matched as far as its type shows, or the reason why it cannot. */
export type Matchable<Template extends string, Open extends string = ""> = string extends Template ? unknown
  : Template extends `${infer Literal}{${infer After}`
    ? Literal extends Has<Forbidden> ? "a URI template contains a character that no URI has"
    : After extends `${infer Body}}${infer Rest}`
      ? [Fault<Body, Literal extends Has<Reserved> ? "" : Open, Rest>] extends [never] ? Matchable<Rest, `{${Body}}`>
      : Fault<Body, Literal extends Has<Reserved> ? "" : Open, Rest>
    : "a URI template has a \"{\" without a \"}\""
  : Template extends Has<Forbidden> ? "a URI template contains a character that no URI has"
  : unknown
