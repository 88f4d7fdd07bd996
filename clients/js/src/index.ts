export { LockstepAgent, type Following, type LockstepAgentConfig } from "./agent.js";
export { LockstepError, type Problem } from "./errors.js";
export type { Retry } from "./feed.js";
export {
  markOf,
  type Capabilities,
  type Conflict,
  type ConflictReport,
  type Connection,
  type EditOutcome,
  type Hydrated,
  type Logged,
  type Operation,
  type StateMark,
  type ThreadInfo,
  type ThreadPage,
  type UndoOutcome,
} from "./types.js";
