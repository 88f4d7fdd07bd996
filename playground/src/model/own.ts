// Which of the changes by people are this page's. The log does not say; the answer
// to an edit says up to which position it is, and may come before or after the
// change itself.
import { parent, within } from "../json/pointer";

/** An edit of this page's: on its way, or made up to a position. */
export interface OwnEdit {
  paths: string[];
  until?: number;
  /** What was taken for it before its answer: the position, and the marks `from` to `to`. */
  taken: Taken[];
}

interface Taken {
  n: number;
  from: number;
  to: number;
}

/** The most edits that are remembered; an event comes within moments of its edit. */
const most = 200;

export class OwnEdits {
  private list: OwnEdit[] = [];

  /** Takes note of an edit that is on its way. */
  begin(paths: readonly string[]): OwnEdit {
    // Of an item the list: its number may be another one by then.
    const own: OwnEdit = { paths: paths.map((p) => (/\/(\d+|-)$/.test(p) ? parent(p) : p)), taken: [] };
    this.list = [...this.list.slice(-most), own];
    return own;
  }

  /** It is made up to a position, or without one not made. Returns what was taken for it and was somebody else's. */
  settle(own: OwnEdit, position?: string): Taken[] {
    if (position === undefined) this.list = this.list.filter((o) => o !== own);
    else own.until = sequence(position);
    const wrong = own.taken.filter(({ n }) => !covers(own, n));
    own.taken = [];
    return wrong;
  }

  /** Reports whether a change of these places is this page's. Where that is a guess, which edit it was taken for. */
  made(paths: readonly string[], position: string | undefined): boolean | OwnEdit {
    const n = position === undefined ? 0 : sequence(position);
    if (this.list.some((own) => covers(own, n))) return true;
    return this.list.find((own) => own.until === undefined && own.paths.some((p) => paths.some((q) => within(p, q) || within(q, p)))) ?? false;
  }
}

/** Reports whether an event is an edit's: one that is made while no run is active is a small run of its own. */
function covers(own: OwnEdit, n: number): boolean {
  return own.until !== undefined && n <= own.until && n >= own.until - 3;
}

/** The number in a position. */
export function sequence(position: string): number {
  return Number(position.slice(position.lastIndexOf("-") + 1));
}
