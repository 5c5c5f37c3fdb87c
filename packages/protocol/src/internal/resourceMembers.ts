/** The members of resources, which a list of them and a link in a piece of content share. */
import * as Schema from "effect/Schema"
import { Annotations } from "../Annotations.ts"
import { Icon } from "../Implementation.ts"
import { Meta } from "../Meta.ts"

/** What is said of a resource and of a family of them alike. */
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
