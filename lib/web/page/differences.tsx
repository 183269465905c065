import type { Descriptor } from "../../contract/files/descriptor.ts";
import { moreRights } from "../../contract/rights.ts";
import type { Contents } from "./archive.ts";
import { Badge, Empty, Section, Size, Table } from "./parts.tsx";

/** Most files listed on a page. */
const SHOWN = 300;

interface Change {
  path: string;
  kind: "added" | "removed" | "changed";
  before: number | undefined;
  after: number | undefined;
}

/** Returns the files in which two versions differ, by path. */
export function changesOf(before: Contents, after: Contents): Change[] {
  const changes: Change[] = [];
  for (const [path, { size, crc }] of after.files) {
    const old = before.files.get(path);
    if (old === undefined) changes.push({ path, kind: "added", before: undefined, after: size });
    else if (old.crc !== crc || old.size !== size)
      changes.push({ path, kind: "changed", before: old.size, after: size });
  }
  for (const [path, { size }] of before.files)
    if (!after.files.has(path)) changes.push({ path, kind: "removed", before: size, after: undefined });
  return changes.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

const TONES = { added: "good", removed: "bad", changed: "busy" } as const;

/** Lists the rights of a plugin that another version of it did not request. */
export function MoreRights({ before, after }: { before: Descriptor | undefined; after: Descriptor | undefined }) {
  const more = before === undefined || after === undefined ? [] : moreRights(before, after);
  return more.length > 0 && <Rights title="Rights it did not ask for before" of={more} />;
}

/** Lists rights for a reader to check. */
export const Rights = ({ title, of }: { title: string; of: readonly string[] }) => (
  <Section id="more" title={title} className="notice warn">
    <ul className="rights">
      {of.map((right) => (
        <li key={right}>{right}</li>
      ))}
    </ul>
  </Section>
);

/** Lists the files in which two versions differ. */
export function ChangedFiles({ before, after }: { before: Contents; after: Contents }) {
  const changes = changesOf(before, after);
  const isCut = before.isCut || after.isCut;
  return (
    <>
      {changes.length === 0 && <Empty title="Every file is the same." />}
      {changes.length > 0 && (
        <Table
          label="Files"
          columns={["File", "Change", "Before", "After"]}
          rows={changes
            .slice(0, SHOWN)
            .map(({ path, kind: change, before: old, after: size }) => [
              path,
              path,
              <Badge tone={TONES[change]}>{change}</Badge>,
              old !== undefined && <Size bytes={old} />,
              size !== undefined && <Size bytes={size} />,
            ])}
        />
      )}
      {(changes.length > SHOWN || isCut) && (
        <p className="help">
          {changes.length > SHOWN && `${changes.length - SHOWN} more are not shown. `}
          {isCut && "Only the first files of each archive were compared."}
        </p>
      )}
    </>
  );
}
