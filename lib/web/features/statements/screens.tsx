import { listProjectStatements, listTargetStatements } from "../../../contract/statements/routes.ts";
import type { StatementKind, StatementRecord, StatementsAnswer } from "../../../contract/statements/statements.ts";
import type { ManagedVersion } from "../../../contract/surfaces/keys.ts";
import { listVersions } from "../../../contract/versions/routes.ts";
import { callTo } from "../../page/api.ts";
import { queryOf } from "../../page/context.ts";
import { Filter, Select } from "../../page/forms.tsx";
import { targetScreen } from "../../page/named-target.ts";
import { Command, Empty, FactList, type Row, Section, Size, Table, Time, withNotes } from "../../page/parts.tsx";
import { TargetLayout } from "../../page/target-layout.tsx";
import { Signer } from "../../page/version-marks.tsx";
import { statementsPath } from "./paths.ts";

/** Most versions offered, those published last. */
const OFFERED = "100";

const SAYS: Record<StatementKind, string> = {
  provenance: "where it was built",
  sbom: "what it is made of",
  urgent: "that hosts need not wait for it to age",
};

/** Shows one version, by default the latest: who published and approved it, and what its publisher states about it. */
export const statements = targetScreen(async ({ api }, request, { kind, slug, id, name, latest, isControlled }) => {
  const listed = await api.ask(request, callTo(listVersions, { params: { id }, query: { limit: OFFERED } }));
  const versions = listed?.items ?? [];
  const version = queryOf(request, "version") || latest || (versions[0]?.version ?? "");
  const frame = { kind, slug, name, isControlled, at: "Statements" };
  if (version === "")
    return (
      <TargetLayout {...frame}>
        <Empty title="Nothing is published yet.">A version comes with what its publisher says of it.</Empty>
      </TargetLayout>
    );
  const shown = await api.call(
    request,
    kind === "project"
      ? callTo(listProjectStatements, { params: { project_id: slug, version } })
      : callTo(listTargetStatements[kind], { params: { slug, version } }),
  );
  const labels = new Set([shown.version, ...versions.map((each) => each.version)]);
  return (
    <TargetLayout {...frame}>
      {versions.length > 0 && (
        <Filter to={statementsPath(kind, slug)} label="Version">
          <Select
            label="Version"
            name="version"
            value={shown.version}
            of={[...labels].map((each) => [each, each] as const)}
          />
          <button>Show</button>
        </Filter>
      )}
      <Origin of={shown} listed={versions.find((each) => each.version === shown.version)} />
      <Section id="statements" title={`What is said of ${shown.version}`}>
        <Table
          label="Statements"
          empty={
            <Empty title="Nothing was added to this version.">
              Publishers add statements with <code>--provenance</code>, <code>--sbom</code> and <code>--urgent</code>.
            </Empty>
          }
          columns={["Kind", ["Type", "why"], "Size", "Digest", "Signed by", ["Claims", "why"]]}
          rows={shown.statements.map(rowOf)}
        />
        {shown.statements.length > 0 && (
          <>
            <p>Save and verify them on your machine:</p>
            <Command text={`sealift version statements ${kind}:${slug} ${shown.version} --download statements/`} />
          </>
        )}
      </Section>
    </TargetLayout>
  );
});

const signerOf = (base64: string | null) => (base64 === null ? "nobody" : <Signer of={base64} />);

/** Shows where a version comes from. @param listed its record, for a key that may see who published it */
const Origin = ({ of, listed }: { of: StatementsAnswer; listed: ManagedVersion | undefined }) => (
  <FactList
    of={{
      Published: <Time at={of.created_at} />,
      By: listed?.published_by ?? undefined,
      Approved: of.approved_at === null ? "by nobody" : <Time at={of.approved_at} />,
      "Approved by": listed?.approved_by ?? undefined,
      Signer: signerOf(of.signer_public_key),
      Digest: <code>{of.artifact_sha256}</code>,
      Tree: of.content_sha256 === null ? undefined : <code>{of.content_sha256}</code>,
    }}
  />
);

const rowOf = ({ kind, sha256, claimed_by: claimed, ...statement }: StatementRecord): Row => [
  kind,
  withNotes(kind, SAYS[kind]),
  statement.predicate_type ?? <span className="faint">none</span>,
  <Size bytes={statement.size_bytes} />,
  <code title={`SHA-256: ${sha256}`}>{sha256.slice(0, 12)}</code>,
  signerOf(statement.signer_public_key),
  claimed !== null && withNotes(claimed, "as its certificate says; the hub has not verified it"),
];
