/**
 * Tasks of the Model Context Protocol: calls and questions that outlive their requests.
 *
 * @stability unstable
 */

// The modules that a program starts from.
export * as ClientTasks from "./ClientTasks.ts"
export * as RemoteTasks from "./RemoteTasks.ts"
export * as ServerTasks from "./ServerTasks.ts"
export * as TaskStore from "./TaskStore.ts"

// More.
export * as StoredTask from "./StoredTask.ts"
