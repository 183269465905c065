import type { Statements } from "./port.ts";

/** Hosts of one database page: what a fleet view holds in memory. */
const PAGE_HOSTS = 100;

const VIEW = "SELECT changes FROM views WHERE holder = ? AND target = ?";
const HOSTS = `SELECT host_id, record FROM hosts WHERE holder = ? AND target = ? AND host_id > ?
  ORDER BY host_id LIMIT ${PAGE_HOSTS}`;
const CHANGED = `SELECT host_id, record FROM hosts WHERE holder = ? AND target = ? AND change > ?
  ORDER BY change LIMIT ${PAGE_HOSTS + 1}`;
const CHANGED_HOSTS = `SELECT host_id, record FROM hosts WHERE holder = ? AND target = ? AND host_id > ? AND change > ?
  ORDER BY host_id LIMIT ${PAGE_HOSTS}`;

/** A host's newest record, as JSON text. */
export interface HostRow {
  host_id: string;
  record: string;
}

/** One fleet: a holder is an owner on surface A, and empty on surface B. */
export interface View {
  holder: string;
  target: string;
}

/** Returns how many changes a view has had; 0 for one without any report. */
export async function countChanges(statements: Statements, { holder, target }: View): Promise<number> {
  const row = await statements.first(VIEW, [holder, target]);
  return row === undefined ? 0 : Number(row["changes"]);
}

/** Bytewise order of the UTF-8 text, as the databases sort. */
const inHostOrder = (a: HostRow, b: HostRow) => Buffer.compare(Buffer.from(a.host_id), Buffer.from(b.host_id));

/**
 * Reads a view's hosts in host-id order, page by page. The next page starts after the last host of the one before, so
 * nothing stays open while the client reads.
 *
 * @param since only hosts that changed after this change; 0 for all
 */
export async function* hostPages(
  statements: Statements,
  { holder, target }: View,
  since: number,
): AsyncGenerator<HostRow[]> {
  if (since > 0) {
    // A refresh costs what changed: few changes are one page of the change index, many are a walk through all hosts.
    const changed = (await statements.all(CHANGED, [holder, target, since])) as unknown as HostRow[];
    if (changed.length <= PAGE_HOSTS) {
      yield changed.sort(inHostOrder);
      return;
    }
  }
  for (let after = ""; ;) {
    const page = (since > 0
      ? await statements.all(CHANGED_HOSTS, [holder, target, after, since])
      : await statements.all(HOSTS, [holder, target, after])) as unknown as HostRow[];
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    if (page.length < PAGE_HOSTS) return;
    after = last.host_id;
  }
}
