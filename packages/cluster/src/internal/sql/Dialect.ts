/** The two dialects of SQL that the stores speak, as far as they differ. */

/** The name of a dialect. */
export type Name = "postgresql" | "sqlite"

/** The texts of a dialect. */
export interface Dialect {
  readonly name: Name
  /** The type of a key. Without the collation, PostgreSQL compares texts by the rules of a language. */
  readonly key: string
  /** The clock of the database at the start of the statement, in milliseconds since the epoch. */
  readonly now: string
  /** The options of a table whose rows are often updated: room for their next versions, which need no index then. */
  readonly oftenUpdated: string
  /** Selects the greater of two numbers. */
  readonly greatest: string
  /** Selects the lesser of two numbers. */
  readonly least: string
  /** Locks the rows that a query returns. */
  readonly lock: string
  /** Locks the rows that a query returns against changes. Several processes can have this lock. */
  readonly lockShared: string
  /** Locks them, and leaves out those that another process has locked. */
  readonly lockFree: string
  /** Begins a transaction that writes. */
  readonly begin: string
}

const dialects: { readonly [name in Name]: Dialect } = {
  postgresql: {
    name: "postgresql",
    key: `text collate "C"`,
    now: "(extract(epoch from statement_timestamp()) * 1000)::double precision",
    oftenUpdated: " with (fillfactor = 70)",
    greatest: "greatest",
    least: "least",
    lock: "for update",
    lockShared: "for share",
    lockFree: "for update skip locked",
    begin: "begin"
  },
  sqlite: {
    name: "sqlite",
    key: "text",
    now: "(unixepoch('subsec') * 1000.0)",
    oftenUpdated: "",
    greatest: "max",
    least: "min",
    lock: "",
    lockShared: "",
    lockFree: "",
    // A transaction of SQLite that first reads and then writes fails if another process has written in between.
    begin: "begin immediate"
  }
}

/** Returns a dialect by its name. */
export const of = (name: Name): Dialect => dialects[name]
