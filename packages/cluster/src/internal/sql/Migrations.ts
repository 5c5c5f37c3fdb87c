/** The tables of the stores, as numbered steps. */
import type { Dialect } from "./Dialect.ts"

/** A step from one version of the tables to the next. */
export interface Migration {
  /** The version of the tables after this step. */
  readonly number: number
  /** The tables that it is about, for people who read the table of migrations. */
  readonly name: string
  /**
   * The oldest version that a program may know to use the tables after this step. A step that only adds has that of the
   * preceding one, so that programs of the preceding release can be started beside those of the next.
   */
  readonly usableFrom: number
  /** Returns the statements of the step. A statement is repeated in no transaction but this one. */
  readonly statements: (dialect: Dialect, prefix: string) => ReadonlyArray<string>
}

/** The steps in order. A step that was published does not change any more. */
export const migrations: ReadonlyArray<Migration> = [
  {
    number: 1,
    name: "processes, sessions, streams, used states and rates",
    usableFrom: 1,
    statements: ({ key, name, oftenUpdated }, prefix) => [
      `create table "${prefix}processes" (
  id ${key} primary key,
  address text not null,
  since double precision not null,
  renewals double precision not null,
  expires_at double precision not null
)${oftenUpdated}`,
      `create table "${prefix}sessions" (
  id ${key} primary key,
  principal ${key} not null,
  bytes double precision not null,
  session text,
  owner ${key},
  epoch double precision not null,
  used_at double precision not null,
  kept_until double precision
)${oftenUpdated}`,
      `create index "${prefix}sessions_principal" on "${prefix}sessions" (principal)`,
      `create index "${prefix}sessions_owner" on "${prefix}sessions" (owner)`,
      `create index "${prefix}sessions_kept_until" on "${prefix}sessions" (kept_until)`,
      `create table "${prefix}streams" (
  session ${key} not null,
  stream ${key} not null,
  name ${key} not null,
  requests text not null,
  first double precision not null,
  next double precision not null,
  cut double precision not null,
  total double precision not null,
  used_at double precision not null,
  ended_at double precision,
  primary key (session, stream)
)${oftenUpdated}`,
      `create index "${prefix}streams_ended_at" on "${prefix}streams" (ended_at) where ended_at is not null`,
      `create table "${prefix}events" (
  name ${key} not null,
  number double precision not null,
  total double precision not null,
  data text not null,
  primary key (name, number)
)`,
      `create table "${prefix}used_states" (
  id ${key} primary key,
  principal ${key} not null,
  expires_at double precision not null
)`,
      `create index "${prefix}used_states_principal" on "${prefix}used_states" (principal)`,
      `create index "${prefix}used_states_expires_at" on "${prefix}used_states" (expires_at)`,
      `create table "${prefix}rates" (
  id ${key} primary key,
  value double precision not null,
  at double precision not null,
  result double precision not null,
  state text,
  expires_at double precision not null
)${oftenUpdated}`,
      `create index "${prefix}rates_expires_at" on "${prefix}rates" (expires_at)`,
      // PostgreSQL notifies of changes by itself.
      ...(name === "postgresql" ? [] : [
        `create table "${prefix}changes" (
  number integer primary key autoincrement,
  at double precision not null,
  message text not null
)`
      ])
    ]
  }
]

/** Returns the version of the tables after these steps. */
export const newestOf = (steps: ReadonlyArray<Migration>): number => Math.max(...steps.map(({ number }) => number))

/** Returns the statement that creates the table of migrations. */
export const tableOf = (prefix: string): string =>
  `create table if not exists "${prefix}migrations" (
  number double precision primary key,
  name text not null,
  usable_from double precision not null,
  applied_at double precision not null
)`

/** Returns the statement that records a step. */
export const recordOf = ({ name, number, usableFrom }: Migration, { now }: Dialect, prefix: string): string =>
  `insert into "${prefix}migrations" (number, name, usable_from, applied_at)
values (${number}, '${name}', ${usableFrom}, ${now})`

/** Returns all steps as one text, for people who create tables themselves. */
export const textOf = (dialect: Dialect, prefix: string): string => {
  const statements = [
    dialect.begin,
    tableOf(prefix),
    ...migrations.flatMap((migration) => [
      ...migration.statements(dialect, prefix),
      recordOf(migration, dialect, prefix)
    ]),
    "commit"
  ]
  return statements.map((statement) => `${statement};\n`).join("\n")
}
