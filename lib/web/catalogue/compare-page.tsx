import type { TargetDetail } from "../../contract/surfaces/marketplace.ts";
import type { Contents } from "../page/archive.ts";
import { ChangedFiles, MoreRights } from "../page/differences.tsx";
import { Layout } from "../page/layout.tsx";
import { Empty, Go, RightsUnknown, Section } from "../page/parts.tsx";
import { pagePaths } from "../page/view.ts";

export interface Comparison {
  detail: TargetDetail;
  from: string;
  to: string;
  /** Undefined where the key may not read one of them. */
  contents: { before: Contents; after: Contents } | undefined;
}

/** Which files and rights two versions differ in. */
export function ComparePage({ detail: { kind, slug, name }, from, to, contents }: Comparison) {
  const { before, after } = { before: contents?.before.descriptor, after: contents?.after.descriptor };
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
      <MoreRights {...{ before, after }} />
      {hidden && <RightsUnknown isCut={isCut} />}
      <Section id="files" title="Files">
        {contents === undefined ? (
          <Empty title="This key may not read these versions." />
        ) : (
          <ChangedFiles {...contents} />
        )}
      </Section>
    </Layout>
  );
}
