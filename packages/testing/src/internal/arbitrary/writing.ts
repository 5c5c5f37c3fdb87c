import { isMembers } from "./members.ts"
import type { Path } from "./paths.ts"

const objectOf = (members: ReadonlyArray<string>): string => `{${members.join()}}`

/** The text of a value, in which what stands in one place is written by somebody else. */
export const written = (value: unknown, path: Path, write: (value: unknown) => string): string => {
  const [step, ...rest] = path
  if (step === undefined) return write(value)
  if (Array.isArray(value)) {
    return `[${
      value.map((element: unknown, index) => index === step ? written(element, rest, write) : JSON.stringify(element))
        .join()
    }]`
  }
  return isMembers(value)
    ? objectOf(
      Object.entries(value).map(([name, member]) =>
        `${JSON.stringify(name)}:${name === step ? written(member, rest, write) : JSON.stringify(member)}`
      )
    )
    : JSON.stringify(value)
}

/** The text of an object with one member more, in front or at the end; whatever else it is, it is left as it is. */
export const withMember = (value: unknown, member: string, inFront: boolean): string => {
  if (!isMembers(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${JSON.stringify(member)}`)
  return objectOf(inFront ? [member, ...members] : [...members, member])
}

/** The text of an object in which a member is said twice, once with something else. */
export const withMemberTwice = (value: unknown, place: number, other: string, otherFirst: boolean): string => {
  const names = isMembers(value) ? Object.keys(value) : []
  const name = names[Math.floor(place * names.length)]
  return name === undefined ? JSON.stringify(value) : withMember(value, `${JSON.stringify(name)}:${other}`, otherFirst)
}
