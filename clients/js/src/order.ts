import { EventType, type BaseEvent } from "@ag-ui/client";

/**
 * What a run has open. A viewer that fell too far behind gets snapshots in the
 * middle of a run; the official client's order check then wants everything that
 * was open to be closed first.
 */
export class Order {
  private readonly open = new Map<string, BaseEvent>();

  /** Takes note of an event that has been handed on. */
  see(event: BaseEvent): void {
    const e = event as BaseEvent & Record<string, string>;
    switch (event.type) {
      case EventType.TEXT_MESSAGE_START:
        return this.began("text", e.messageId, { type: EventType.TEXT_MESSAGE_END, messageId: e.messageId });
      case EventType.TEXT_MESSAGE_END:
        return this.ended("text", e.messageId);
      case EventType.TOOL_CALL_START:
        return this.began("call", e.toolCallId, { type: EventType.TOOL_CALL_END, toolCallId: e.toolCallId });
      case EventType.TOOL_CALL_END:
        return this.ended("call", e.toolCallId);
      case EventType.STEP_STARTED:
        return this.began("step", e.stepName, { type: EventType.STEP_FINISHED, stepName: e.stepName });
      case EventType.STEP_FINISHED:
        return this.ended("step", e.stepName);
      case EventType.REASONING_START:
        return this.began("span", e.messageId, { type: EventType.REASONING_END, messageId: e.messageId });
      case EventType.REASONING_END:
        return this.ended("span", e.messageId);
      case EventType.REASONING_MESSAGE_START:
        return this.began("thought", e.messageId, { type: EventType.REASONING_MESSAGE_END, messageId: e.messageId });
      case EventType.REASONING_MESSAGE_END:
        return this.ended("thought", e.messageId);
      case "SUBAGENT_STARTED" as EventType:
        return this.began("subagent", e.subagentRunId, { type: "SUBAGENT_FINISHED", subagentRunId: e.subagentRunId });
      case "SUBAGENT_FINISHED" as EventType:
      case "SUBAGENT_ERROR" as EventType:
        return this.ended("subagent", e.subagentRunId);
    }
  }

  private began(kind: string, id: string | undefined, end: Record<string, unknown>): void {
    this.open.set(`${kind} ${id}`, end as unknown as BaseEvent);
  }

  private ended(kind: string, id: string | undefined): void {
    this.open.delete(`${kind} ${id}`);
  }

  /** The events that close what is open, the newest first. */
  close(): BaseEvent[] {
    const ends = [...this.open.values()].reverse();
    this.open.clear();
    return ends;
  }
}

/** Reports whether an event is a run's last one. */
export function isTerminal(event: BaseEvent): boolean {
  return event.type === EventType.RUN_FINISHED || event.type === EventType.RUN_ERROR;
}
