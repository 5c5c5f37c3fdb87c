/**
 * The user of a host. Servers ask the user for data by elicitation.
 */
import type * as Elicitation from "@effect-mcp/protocol/Elicitation"
import type * as ElicitationContent from "@effect-mcp/protocol/ElicitationContent"
import type * as ElicitationSchema from "@effect-mcp/protocol/ElicitationSchema"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Answers for the user. A client must show the user which server asks (ELI-16). */
export class User extends Context.Service<User, {
  readonly fillForm: (params: Elicitation.FormParams, serverName: string) => Effect.Effect<Elicitation.ElicitResult>
  readonly openUrl: (params: Elicitation.UrlParams, serverName: string) => Effect.Effect<Elicitation.ElicitResult>
}>()("@effect-mcp/examples/host/User") {}

/** Returns a valid value of a field: its default, or a constant (ELI-08). */
const valueOf = (field: ElicitationSchema.Field): ElicitationContent.ElicitationContent[string] => {
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
      return textByFormat[field.format ?? "none"].padEnd(field.minLength ?? 0, "!").slice(0, field.maxLength)
  }
}

const textByFormat = {
  "email": "ada@example.com",
  "uri": "https://example.com/ada",
  "date": "1815-12-10",
  "date-time": "1815-12-10T12:00:00Z",
  "none": "Ada"
}

/** Returns a valid value of each field of a form. */
export const contentOf = ({ properties }: ElicitationSchema.ElicitationSchema): ElicitationContent.ElicitationContent =>
  Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, valueOf(field)]))

/** A user who accepts everything. A real client asks a person. */
export const accepting: Layer.Layer<User> = Layer.succeed(User, {
  fillForm: ({ requestedSchema }) => Effect.succeed({ action: "accept", content: contentOf(requestedSchema) }),
  openUrl: ({ url }) =>
    Effect.as(Effect.tryPromise(() => fetch(url)), { action: "accept" as const }).pipe(
      Effect.orElseSucceed(() => ({ action: "cancel" as const }))
    )
})
