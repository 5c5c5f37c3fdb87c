/**
 * Parts of this package that other packages of this project use. They change without notice.
 */
export * as ArgumentHeaders from "./internal/entries/ArgumentHeaders.ts"
export * as GroupRegistration from "./internal/entries/GroupRegistration.ts"
export { GroupRuntime } from "./internal/entries/GroupRuntime.ts"
export { validName } from "./internal/entries/ToolDefinition.ts"
export type * as RegistryEntry from "./internal/registry/Entry.ts"
export * as Tasks from "./internal/tasks/Tasks.ts"
