import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const key = "lockstep.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(dark.matches);
dark.addEventListener("change", () => (systemDark.value = dark.matches));

function stored(): Theme {
  const value = localStorage.getItem(key);
  return value === "light" || value === "dark" ? value : "system";
}

export const theme = signal<Theme>(stored());

/** Whether the page is dark now. */
export function isDark(): boolean {
  return theme.value === "dark" || (theme.value === "system" && systemDark.value);
}

/** The other one; where that is what the system has, the system decides again. */
export function toggle(): void {
  const next = isDark() ? "light" : "dark";
  theme.value = (next === "dark") === systemDark.value ? "system" : next;
}

effect(() => {
  if (theme.value === "system") localStorage.removeItem(key);
  else localStorage.setItem(key, theme.value);
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
});
