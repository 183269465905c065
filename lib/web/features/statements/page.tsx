import type { StatementKind, StatementRecord, StatementsAnswer } from "../../../contract/statements/statements.ts";
import type { ManagedVersion } from "../../../contract/surfaces/keys.ts";
import { Select } from "../../page/forms.tsx";
import { Command, Empty, Facts, type Row, Section, Size, Table, Time } from "../../page/parts.tsx";
import { TargetLayout } from "../../page/target-layout.tsx";
import { KeyName } from "../../page/version-marks.tsx";
import { type TargetKind, useView } from "../../page/view.ts";
import { statementsPath } from "./paths.ts";

export interface StatementsView {
  kind: TargetKind;
  slug: string;
  name: string;
  /** Versions to choose from, with their publishers; none for a key that may not list them. */
  versions: readonly ManagedVersion[];
  /** The version whose statements are shown; undefined where nothing is published. */
  shown: StatementsAnswer | undefined;
}

const SAYS: Record<StatementKind, string> = {
  provenance: "where it was built",
  sbom: "what it is made of",
  urgent: "that hosts need not wait for it to age",
};

const Key = ({ base64 }: { base64: string | null }) =>
  base64 === null ? "nobody" : <KeyName hex={Buffer.from(base64, "base64").toString("hex")} />;

/** One version: who published and approved it, and what its publisher says of it. */
export function StatementsPage({ kind, slug, name, versions, shown }: StatementsView) {
  const target = `${kind}:${slug}`;
  return (
    <TargetLayout kind={kind} slug={slug} name={name} at="Statements">
      {shown === undefined ? (
        <Empty title="Nothing is published yet.">A version comes with what its publisher says of it.</Empty>
      ) : (
        <>
          {versions.length > 0 && <Choice to={statementsPath(kind, slug)} of={versions} chosen={shown.version} />}
          <Origin of={shown} listed={versions.find(({ version }) => version === shown.version)} />
          <Section id="statements" title={`What is said of ${shown.version}`}>
            <Table
              label="Statements"
              empty={
                <Empty title="Nothing was added to this version.">
                  Publishers add statements with <code>--provenance</code>, <code>--sbom</code> and{" "}
                  <code>--urgent</code>.
                </Empty>
              }
              columns={["Kind", ["Type", "why"], "Size", "Digest", "Signed by", ["Claims", "why"]]}
              rows={shown.statements.map(rowOf)}
            />
            {shown.statements.length > 0 && (
              <>
                <p>Save and verify them on your machine:</p>
                <Command text={`sealift version statements ${target} ${shown.version} --download statements/`} />
              </>
            )}
          </Section>
        </>
      )}
    </TargetLayout>
  );
}

function Choice({ to, of, chosen }: { to: string; of: readonly ManagedVersion[]; chosen: string }) {
  const { base } = useView();
  const labels = new Set([chosen, ...of.map(({ version }) => version)]);
  return (
    <form className="filter" action={base + to} role="search" aria-label="Version">
      <Select label="Version" name="version" value={chosen} of={[...labels].map((each) => [each, each] as const)} />
      <button>Show</button>
    </form>
  );
}

/** Facts about how a version came. @param listed its record, for a key that may see who published it */
const Origin = ({ of, listed }: { of: StatementsAnswer; listed: ManagedVersion | undefined }) => (
  <Facts
    of={{
      Published: <Time at={of.created_at} />,
      By: listed?.published_by ?? undefined,
      Approved: of.approved_at === null ? "by nobody" : <Time at={of.approved_at} />,
      "Approved by": listed?.approved_by ?? undefined,
      Signer: <Key base64={of.signer_public_key} />,
      Digest: <code>{of.artifact_sha256}</code>,
      Tree: of.content_sha256 === null ? undefined : <code>{of.content_sha256}</code>,
    }}
  />
);

const rowOf = (statement: StatementRecord): Row => [
  statement.kind,
  <>
    {statement.kind}
    <p className="slug">{SAYS[statement.kind]}</p>
  </>,
  statement.predicate_type ?? <span className="faint">none</span>,
  <Size bytes={statement.size_bytes} />,
  <code title={`SHA-256: ${statement.sha256}`}>{statement.sha256.slice(0, 12)}</code>,
  <Key base64={statement.signer_public_key} />,
  statement.claimed_by === null ? null : (
    <>
      {statement.claimed_by}
      <p className="slug">as its certificate says; the hub has not verified it</p>
    </>
  ),
];
