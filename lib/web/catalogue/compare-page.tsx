import { moreRights } from "../../contract/rights.ts";
import type { TargetDetail } from "../../contract/surfaces/marketplace.ts";
import type { Contents } from "../page/archive.ts";
import { Layout } from "../page/layout.tsx";
import { Badge, Empty, Go, RightsUnknown, Section, Size, Table } from "../page/parts.tsx";
import { pagePaths } from "../page/view.ts";

/** Files that the page names. */
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

export interface Comparison {
  detail: TargetDetail;
  from: string;
  to: string;
  /** Undefined where the key may not read one of them. */
  contents: { before: Contents; after: Contents } | undefined;
}

/** Which files and rights two versions differ in. */
export function ComparePage({ detail: { kind, slug, name }, from, to, contents }: Comparison) {
  const changes = contents === undefined ? [] : changesOf(contents.before, contents.after);
  const { before, after } = { before: contents?.before.descriptor, after: contents?.after.descriptor };
  const more = before === undefined || after === undefined ? [] : moreRights(before, after);
  const isCut = contents !== undefined && (contents.before.isCut || contents.after.isCut);
  const hidden = kind === "plugin" && contents !== undefined && (before === undefined || after === undefined);
  return (
    <Layout title={`${name}: ${from} to ${to}`}>
      <p className="kind">
        <Go to={pagePaths.target(kind, slug)}>{name}</Go>
      </p>
      <h1>
        <span className="num">{from}</span> to <span className="num">{to}</span>
      </h1>
      {more.length > 0 && (
        <Section id="more" title="Rights it did not ask for before" className="notice warn">
          <ul className="rights">
            {more.map((right) => (
              <li key={right}>{right}</li>
            ))}
          </ul>
        </Section>
      )}
      {hidden && <RightsUnknown isCut={isCut} />}
      <Section id="files" title="Files">
        {contents === undefined && <Empty title="This key may not read these versions." />}
        {contents !== undefined && changes.length === 0 && <Empty title="Every file is the same." />}
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
      </Section>
    </Layout>
  );
}
