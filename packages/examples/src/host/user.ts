/**
 * The user of a host, who answers the questions of servers.
 */
import type * as Elicitation from "@effect-mcp/protocol/Elicitation"
import type * as ElicitationContent from "@effect-mcp/protocol/ElicitationContent"
import type * as ElicitationSchema from "@effect-mcp/protocol/ElicitationSchema"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Answers for the user. Each question names the server, because the user has to know it (ELI-16). */
export class User extends Context.Service<User, {
  readonly fill: (question: Elicitation.FormParams, asker: string) => Effect.Effect<Elicitation.ElicitResult>
  readonly visit: (question: Elicitation.UrlParams, asker: string) => Effect.Effect<Elicitation.ElicitResult>
}>()("@effect-mcp/examples/host/User") {}

/** Returns a value that fits a field: its default, or a constant (ELI-08). */
const fitting = (field: ElicitationSchema.Field): ElicitationContent.ElicitationContent[string] => {
  if (field.default !== undefined) return field.default
  switch (field.type) {
    case "boolean":
      return true
    case "integer":
    case "number":
      return field.minimum ?? 1
    case "array":
      return ("enum" in field.items ? field.items.enum : field.items.anyOf.map((value) => value.const)).slice(0, 1)
    case "string":
      if ("enum" in field) return field.enum[0] ?? ""
      if ("oneOf" in field) return field.oneOf[0]?.const ?? ""
      return byFormat[field.format ?? "none"].padEnd(field.minLength ?? 0, "!").slice(0, field.maxLength)
  }
}

const byFormat = {
  "email": "ada@example.com",
  "uri": "https://example.com/ada",
  "date": "1815-12-10",
  "date-time": "1815-12-10T12:00:00Z",
  "none": "Ada"
}

/** Fills every field of a form. */
export const filled = ({ properties }: ElicitationSchema.ElicitationSchema): ElicitationContent.ElicitationContent =>
  Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, fitting(field)]))

/** A user that accepts everything. Real users should not. */
export const obliging: Layer.Layer<User> = Layer.succeed(User, {
  fill: ({ requestedSchema }) => Effect.succeed({ action: "accept", content: filled(requestedSchema) }),
  visit: ({ url }) =>
    Effect.as(Effect.tryPromise(() => fetch(url)), { action: "accept" as const }).pipe(
      Effect.orElseSucceed(() => ({ action: "cancel" as const }))
    )
})
