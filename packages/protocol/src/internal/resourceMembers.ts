/** The members that resources, resource templates and resource links share. */
import * as Schema from "effect/Schema"
import { Annotations } from "../Annotations.ts"
import { Icon } from "../Implementation.ts"
import { Meta } from "../Meta.ts"

/** The members of a resource and of a resource template. */
export const describedMembers = {
  name: Schema.String,
  title: Schema.optionalKey(Schema.String),
  description: Schema.optionalKey(Schema.String),
  mimeType: Schema.optionalKey(Schema.String),
  icons: Schema.optionalKey(Schema.Array(Icon)),
  annotations: Schema.optionalKey(Annotations),
  _meta: Schema.optionalKey(Meta)
}

export const resourceMembers = {
  uri: Schema.String,
  size: Schema.optionalKey(Schema.Finite),
  ...describedMembers
}
