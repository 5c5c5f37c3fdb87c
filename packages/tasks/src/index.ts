/**
 * Tasks of the Model Context Protocol: calls and questions that outlive their requests.
 */
export * as ClientTasks from "./ClientTasks.ts"
export * as RemoteTasks from "./RemoteTasks.ts"
export * as ServerTasks from "./ServerTasks.ts"
export * as StoredTask from "./StoredTask.ts"
export * as TaskStore from "./TaskStore.ts"
