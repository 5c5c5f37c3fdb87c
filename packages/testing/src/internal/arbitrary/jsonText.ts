/** JSON text of a value with a change that only text can have. */

import { isMembers, type Path } from "./jsonValues.ts"

const objectOf = (members: ReadonlyArray<string>): string => `{${members.join()}}`

/** Returns the text of a value in which another function writes the value at one place. */
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

/** Returns the text of an object with an additional member, at the start or at the end. The rest is unchanged. */
export const withMember = (value: unknown, member: string, inFront: boolean): string => {
  if (!isMembers(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${JSON.stringify(member)}`)
  return objectOf(inFront ? [member, ...members] : [...members, member])
}

/** Returns the text of an object with a duplicate member, which has another value. */
export const withMemberTwice = (value: unknown, place: number, other: string, otherFirst: boolean): string => {
  const names = isMembers(value) ? Object.keys(value) : []
  const name = names[Math.floor(place * names.length)]
  return name === undefined ? JSON.stringify(value) : withMember(value, `${JSON.stringify(name)}:${other}`, otherFirst)
}
