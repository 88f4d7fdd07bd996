import type { JSX } from "preact";

const paths = {
  menu: "M4 7h16M4 12h16M4 17h16",
  plus: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6L6 18",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M8 8h8v8H8z",
  undo: "M9 7L4 12l5 5M4 12h10a6 6 0 0 1 6 6v1",
  chevron: "M9 6l6 6-6 6",
  trash: "M5 7h14M10 7V5h4v2M7 7l1 12h8l1-12",
  chat: "M5 5h14v11H10l-5 4z",
  state: "M12 4l8 4-8 4-8-4zM4 12l8 4 8-4M4 16l8 4 8-4",
  timeline: "M4 12h4l2-6 4 12 2-6h4",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6l1.4 1.4M17 17l1.4 1.4M18.4 5.6L17 7M7 17l-1.4 1.4",
  moon: "M19 14a7.5 7.5 0 0 1-9-9 7.5 7.5 0 1 0 9 9z",
  check: "M5 12.5l4.5 4.5L19 7.5",
  lock: "M7 11V8a5 5 0 0 1 10 0v3M6 11h12v9H6z",
  pencil: "M5 19l1-4L16 5l3 3L9 18z",
  tool: "M14 6a4 4 0 0 0 4 5l-8 8-3-3 8-8a4 4 0 0 1-1-2z",
  warning: "M12 4l9 16H3zM12 10v4M12 17v.5",
  search: "M11 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12zM20 20l-4.5-4.5",
} as const;

export type IconName = keyof typeof paths;

/** A small picture that says nothing by itself: what it is on has the words. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

/** The mark of the house. */
export function Logo({ size = 26 }: { size?: number }): JSX.Element {
  return (
    <svg class="logo" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="9" />
      <path class="one" d="M8.5 9.5 15 16l-6.5 6.5" />
      <path class="two" d="M16.5 9.5 23 16l-6.5 6.5" />
    </svg>
  );
}
