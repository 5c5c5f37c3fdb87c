/** The faults of a run: each begins, lasts, and is mended. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Fleet, Member } from "./Fleet.ts"
import type { Fault, FaultKind, Moment } from "./History.ts"
import type { Random } from "./Random.ts"
import type { Service } from "./services.ts"

export interface Site {
  readonly fleet: Fleet
  readonly service: Service
  readonly random: Random
  readonly now: () => number
}

/** The faults that the nemesis inflicts. */
export type Inflicted = Exclude<FaultKind, "busy" | "lease">

/** The lease of a process of the library. */
const leaseMillis = 2000

/** All kinds of faults. A database that is a file has no connections, and does not restart. */
export const kindsFor = ({ port }: Service): ReadonlyArray<Inflicted> => [
  "kill",
  "pause",
  "terminate",
  "cut-peers",
  "stall-peers",
  ...(port === undefined ? [] : ["cut-store", "stall-store", "restart-store"] as const)
]

/** The parts of a fault: the time from which on sessions must be served again is that of its begin or of its end. */
interface Course {
  readonly begin: (site: Site, member: Member) => Promise<void> | void
  readonly lastsMillis: (random: Random) => number
  readonly end: (site: Site, member: Member) => Promise<void> | void
  readonly recoversFrom: "begin" | "end"
}

/** The time for which requests arrive and their responses do not, before the connections are cut. */
const muteMillis = 500

/** Longer than the lease: the session of a process gets another owner meanwhile. */
const beyondLease = (random: Random) => random.between(leaseMillis + 1500, leaseMillis + 3000)

const courses: Readonly<Record<Inflicted, Course>> = {
  kill: {
    begin: ({ fleet }, member) => fleet.endMember(member, "SIGKILL"),
    lastsMillis: (random) => random.between(500, 4000),
    end: ({ fleet }, member) => fleet.startMember(member),
    recoversFrom: "begin"
  },
  terminate: {
    begin: ({ fleet }, member) => fleet.endMember(member, "SIGTERM"),
    lastsMillis: (random) => random.between(200, 2000),
    end: ({ fleet }, member) => fleet.startMember(member),
    recoversFrom: "begin"
  },
  pause: {
    begin: ({ fleet }, member) => fleet.pause(member),
    lastsMillis: beyondLease,
    end: ({ fleet }, member) => fleet.resume(member),
    recoversFrom: "begin"
  },
  "cut-peers": {
    begin: async (_, { peers }) => {
      peers.mute()
      await sleep(muteMillis)
      peers.cut()
    },
    lastsMillis: (random) => random.between(500, 3000),
    end: (_, { peers }) => peers.heal(),
    recoversFrom: "end"
  },
  "stall-peers": {
    begin: (_, { peers }) => peers.stall(),
    lastsMillis: (random) => random.between(500, 3000),
    end: (_, { peers }) => peers.heal(),
    recoversFrom: "end"
  },
  "cut-store": {
    begin: (_, { store }) => store?.cut(),
    lastsMillis: beyondLease,
    end: (_, { store }) => store?.heal(),
    recoversFrom: "begin"
  },
  "stall-store": {
    begin: (_, { store }) => store?.stall(),
    lastsMillis: beyondLease,
    end: (_, { store }) => store?.heal(),
    recoversFrom: "begin"
  },
  "restart-store": {
    begin: ({ service }) => service.stop(),
    lastsMillis: (random) => random.between(500, 3500),
    end: ({ service }) => service.start(),
    recoversFrom: "end"
  }
}

/** The faults that take the sessions of one process from it. */
export const ofOwners: ReadonlyArray<Inflicted> = ["kill", "terminate", "pause"]

/** The number of looks at the lock of a paused process, and the time between them. */
const looks = 8
const lookMillis = 200

/**
 * Returns whether a process that is paused holds the lock of SQLite, so that all others wait for its end. Other
 * processes hold the lock for moments only.
 */
const holdsLock = async ({ isLocked }: Service): Promise<boolean> => {
  if (isLocked === undefined) return false
  for (let look = 0; look < looks; look++) {
    await sleep(lookMillis)
    if (!isLocked()) return false
  }
  return true
}

/** Lets a fault happen to a process, mends it, and returns its record. */
export const run = async (kind: Inflicted, member: Member, site: Site, moment?: Moment): Promise<Fault> => {
  const { begin, end, lastsMillis, recoversFrom } = courses[kind]
  const at = site.now()
  const pid = ofOwners.includes(kind) && member.child?.pid !== undefined ? String(member.child.pid) : undefined
  await begin(site, member)
  const lasting = sleep(lastsMillis(site.random))
  const isBlocking = kind === "pause" && await holdsLock(site.service)
  await lasting
  await end(site, member)
  const until = site.now()
  const target = kind === "restart-store" ? "store" : String(member.number)
  return { kind, pid, moment, target, at, recoversFrom: recoversFrom === "begin" && !isBlocking ? at : until, until }
}
