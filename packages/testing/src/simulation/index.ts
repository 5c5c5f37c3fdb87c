/**
 * Simulations of your own servers: random conversations in virtual time.
 *
 * @stability unstable
 */
export * as Command from "./Command.ts"
export * as Simulation from "./Simulation.ts"
export * as SimulationError from "./SimulationError.ts"
