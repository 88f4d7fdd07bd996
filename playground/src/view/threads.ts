import type { LockstepAgent, ThreadInfo } from "@lockstep-go/client";
import { signal } from "@preact/signals";

/** The list of an agent's threads, as it was when something last changed here. */
class Threads {
  readonly list = signal<ThreadInfo[]>([]);
  readonly next = signal<string | null>(null);
  private of = "";
  private asked = 0;
  /** More of it is on its way. */
  private going = false;

  async refresh(agent: LockstepAgent): Promise<void> {
    if (this.of !== agent.url) this.list.value = [];
    this.of = agent.url;
    const n = ++this.asked;
    try {
      const page = await agent.threads();
      if (n !== this.asked) return; // a newer answer is on its way
      this.list.value = page.threads;
      this.next.value = page.next;
    } catch {
      // The list is a convenience: what is wrong with the server is said elsewhere.
    }
  }

  async more(agent: LockstepAgent): Promise<void> {
    if (this.going) return;
    this.going = true;
    const n = this.asked;
    try {
      const page = await agent.threads(this.next.value);
      if (n !== this.asked) return; // the list has begun anew, or is another agent's
      this.list.value = [...this.list.value, ...page.threads];
      this.next.value = page.next;
    } catch {
      // The button is still there.
    } finally {
      this.going = false;
    }
  }
}

export const threads = new Threads();
