/** The tables of `TaskStoreSql`, as SQL. */

/** Returns whether a text can begin the names of tables: the statements contain it. */
export const isPrefix = (prefix: string): boolean => /^\w*$/.test(prefix)

/** The columns of the tables that this release uses. */
export const columns = {
  tasks: [
    "id",
    "owner",
    "created_at",
    "version",
    "due_at",
    "ends_at",
    "lease_owner",
    "lease_expires_at",
    "bytes",
    "state",
    "message",
    "updated_at",
    "task"
  ],
  task_owners: ["owner", "tasks", "bytes"]
} as const

/** Returns the statements that create the tables if they do not exist. */
export const statements = (dialect: "postgresql" | "sqlite", prefix: string): ReadonlyArray<string> => {
  // Without the collation, PostgreSQL sorts ids by the rules of a language.
  const key = dialect === "postgresql" ? `text collate "C"` : "text"
  return [
    `create table if not exists "${prefix}tasks" (
  id ${key} primary key,
  owner text not null,
  created_at double precision not null,
  version double precision not null,
  due_at double precision,
  ends_at double precision,
  lease_owner text,
  lease_expires_at double precision,
  bytes double precision not null,
  state text not null,
  message text,
  updated_at double precision,
  task text not null
)`,
    `create index if not exists "${prefix}tasks_owner" on "${prefix}tasks" (owner, created_at, id)`,
    `create index if not exists "${prefix}tasks_due" on "${prefix}tasks" (due_at)`,
    `create table if not exists "${prefix}task_owners" (
  owner text primary key,
  tasks double precision not null,
  bytes double precision not null
)`
  ]
}
