import { artifactError, type SealiftError } from "../../contract/errors.ts";
import type { CopiedRow, CopiedTables, RowName } from "../records/copy.ts";

/** Record that is left out of a copy. */
export interface Omission extends RowName {
  /** Deleted during the copy, damaged, or dependent on a record that is left out. */
  reason: "deleted" | "damaged" | "orphaned";
  fault: string;
}

const damagedRecord = ({ table, id }: RowName, fault: string): SealiftError =>
  artifactError("record_damaged", `The record ${id} of ${table} is damaged: ${fault}.`, {
    hint: "With --skip-damaged the others are taken, and those that are left out are listed.",
  });

const key = ({ table, id }: RowName): string => `${table} ${id}`;

/** Records left out of a copy, together with everything that depends on them. */
export class Omissions {
  readonly tables: CopiedTables;
  readonly #skipDamaged: boolean;
  readonly #onOmission: (omission: Omission) => void;
  readonly #omitted = new Map<string, Omission>();

  /** @param skipDamaged whether to continue without damaged records */
  constructor(tables: CopiedTables, skipDamaged: boolean, onOmission: (omission: Omission) => void = () => {}) {
    this.tables = tables;
    this.#skipDamaged = skipDamaged;
    this.#onOmission = onOmission;
  }

  get list(): Omission[] {
    return [...this.#omitted.values()];
  }

  get isEmpty(): boolean {
    return this.#omitted.size === 0;
  }

  add(omission: Omission): void {
    if (this.#omitted.has(key(omission))) return;
    this.#omitted.set(key(omission), omission);
    this.#onOmission(omission);
  }

  /** Leaves out a damaged record. @throws ArtifactError `record_damaged` unless damaged records are skipped */
  damaged(name: RowName, fault: string): void {
    if (!this.#skipDamaged) throw damagedRecord(name, fault);
    this.add({ ...name, reason: "damaged", fault });
  }

  /**
   * Passes on the rows that are intact and not left out.
   *
   * @param version schema version of the source database; by default the newest
   */
  async *leave(rows: AsyncIterable<CopiedRow>, version = this.tables.version): AsyncGenerator<CopiedRow> {
    for await (const row of rows) {
      const name = this.tables.nameOf(row);
      if (this.#omitted.has(key(name))) continue;
      const fault = this.tables.faultOf(row, version);
      const parent =
        fault === undefined ? this.tables.parentsOf(row).find((each) => this.#omitted.has(key(each))) : undefined;
      if (fault !== undefined) this.damaged(name, fault);
      else if (parent !== undefined)
        this.add({ ...name, reason: "orphaned", fault: `it belongs to ${parent.id} of ${parent.table}` });
      else yield row;
    }
  }
}
