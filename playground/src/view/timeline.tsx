import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { changes } from "../json/diff";
import type { Conversation } from "../model/conversation";
import { Marks } from "../model/marks";
import type { Entry, Kind } from "../model/timeline";
import { Differences } from "./approval";
import { Icon } from "./icons";
import { Tree } from "./tree";

const kinds: { id: Kind; label: string }[] = [
  { id: "run", label: "Runs" },
  { id: "state", label: "State" },
  { id: "tool", label: "Tools" },
  { id: "text", label: "Text" },
  { id: "other", label: "Other" },
];

/** The most lines that are drawn; a filter finds the rest. */
const most = 300;

/** Everything that happened on the thread, and what the state was at each point. */
export function TimelinePanel({ conversation }: { conversation: Conversation }) {
  const { timeline } = conversation;
  void timeline.version.value; // drawn anew with each event
  const hidden = useSignal<Kind[]>([]);
  const words = useSignal("");
  const selected = useSignal<number | null>(null);
  const list = useRef<HTMLOListElement>(null);
  const stuck = useRef(true);
  const needle = words.value.trim().toLowerCase();
  const all = timeline.entries.filter(
    (e) => !hidden.value.includes(e.kind) && (needle === "" || `${e.title} ${e.detail} ${e.by ?? ""}`.toLowerCase().includes(needle)),
  );
  const shown = all.slice(-most);
  const chosen = selected.value === null ? undefined : timeline.entryOf(selected.value);
  useEffect(() => {
    if (stuck.current && selected.value === null && list.current) list.current.scrollTop = list.current.scrollHeight;
  });
  const toggle = (kind: Kind) => (hidden.value = hidden.value.includes(kind) ? hidden.value.filter((k) => k !== kind) : [...hidden.value, kind]);
  if (timeline.entries.length === 0) {
    return (
      <div class="empty">
        <Icon name="timeline" size={34} />
        <h2>Nothing has happened yet</h2>
        <p>Every event of this thread is listed here, whoever caused it, with the state right after it.</p>
      </div>
    );
  }
  return (
    <section class="timeline" aria-label="Timeline">
      <div class="filters">
        <label class="search">
          <Icon name="search" size={15} />
          <span class="sr-only">Filter events</span>
          <input class="input" type="search" placeholder="Filter" value={words.value} onInput={(e) => (words.value = e.currentTarget.value)} />
        </label>
        <div class="kinds" role="group" aria-label="Kinds of events">
          {kinds.map((k) => (
            <button key={k.id} type="button" class="kind" data-kind={k.id} aria-pressed={!hidden.value.includes(k.id)} onClick={() => toggle(k.id)}>
              {k.label}
            </button>
          ))}
        </div>
      </div>
      <ol
        ref={list}
        class="events"
        aria-label="Events"
        onScroll={(e) => {
          const box = e.currentTarget;
          stuck.current = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
        }}
      >
        {all.length > shown.length && <li class="none">{all.length - shown.length} earlier ones; a filter finds them</li>}
        {shown.length === 0 && <li class="none">No event fits the filter.</li>}
        {shown.map((e) => (
          <Row key={e.first} entry={e} selected={chosen === e} choose={() => (selected.value = e.last)} />
        ))}
      </ol>
      {selected.value !== null && <Point conversation={conversation} n={selected.value} move={(n) => (selected.value = n)} close={() => (selected.value = null)} />}
    </section>
  );
}

function Row({ entry: e, selected, choose }: { entry: Entry; selected: boolean; choose(): void }) {
  return (
    <li>
      <button type="button" class="event" data-kind={e.kind} data-bad={e.bad} data-predicted={e.predicted} aria-current={selected} onClick={choose}>
        <i aria-hidden="true" />
        <span class="title">{e.title}</span>
        {e.count > 1 && <span class="count">×{e.count}</span>}
        <span class="detail">{e.detail}</span>
        <span class="when">{e.time === undefined ? "" : clock.format(e.time)}</span>
      </button>
    </li>
  );
}

const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

/** One moment: the event itself, what it changed, and the whole state. */
function Point({ conversation, n, move, close }: { conversation: Conversation; n: number; move(n: number): void; close(): void }) {
  const { timeline } = conversation;
  const view = useSignal<"state" | "changes" | "event">("state");
  const event = timeline.event(n);
  const state = timeline.stateAt(n);
  const before = n > timeline.start ? timeline.stateAt(n - 1) : undefined;
  const list = useMemo(() => (state === undefined || before === undefined ? [] : changes(before, state)), [n]);
  return (
    <section class="point" aria-label={`At event ${n + 1}`}>
      <header>
        <label>
          <span class="sr-only">Point in time</span>
          <input type="range" min={timeline.start} max={timeline.length - 1} value={n} onInput={(e) => move(Number(e.currentTarget.value))} aria-valuetext={`Event ${n + 1} of ${timeline.length}`} />
        </label>
        <span class="muted mono">
          {n + 1} / {timeline.length}
        </span>
        <button class="button ghost square tiny" type="button" aria-label="Back to live" onClick={close}>
          <Icon name="close" size={15} />
        </button>
      </header>
      <div class="segmented small" role="group" aria-label="What to show">
        {(["state", "changes", "event"] as const).map((v) => (
          <button key={v} type="button" aria-pressed={view.value === v} onClick={() => (view.value = v)}>
            {v === "state" ? "State here" : v === "changes" ? `Changes (${list.length})` : "Event"}
          </button>
        ))}
      </div>
      <div class="point-body">
        {view.value === "event" ? (
          <pre>{JSON.stringify(event, null, 2)}</pre>
        ) : view.value === "changes" ? (
          list.length === 0 ? (
            <p class="none">This event changed no state.</p>
          ) : (
            <Differences changes={list} />
          )
        ) : state === undefined ? (
          <p class="none">No state has been sent up to here.</p>
        ) : (
          <Tree name="State at this point" context={{ doc: state, marks: new Marks().replaced(list, "agent"), predicted: [], fixed: [], writing: false, position: () => undefined }} />
        )}
      </div>
    </section>
  );
}
