import type { FastifyRequest } from "fastify";
import { showTarget } from "../../../contract/marketplace/routes.ts";
import { rightsOf } from "../../../contract/rights.ts";
import * as routes from "../../../contract/staging/routes.ts";
import type { StagedVersion } from "../../../contract/staging/staging.ts";
import type { MarketplaceKind } from "../../../contract/surfaces/paths.ts";
import { parseTarget } from "../../../contract/target.ts";
import { act } from "../../page/act.ts";
import { callTo } from "../../page/api.ts";
import type { Contents } from "../../page/archive.ts";
import { field, type PageContext, param, type Screen } from "../../page/context.ts";
import { ChangedFiles, MoreRights, Rights } from "../../page/differences.tsx";
import { Ask, Field, Opened } from "../../page/forms.tsx";
import { Layout } from "../../page/layout.tsx";
import { ListPage } from "../../page/list-page.tsx";
import {
  Badge,
  Command,
  Empty,
  FactList,
  Go,
  RightsUnknown,
  Section,
  Size,
  Time,
  withNotes,
} from "../../page/parts.tsx";
import { Digest, shortHex, Signer } from "../../page/version-marks.tsx";
import { pagePaths } from "../../page/view.ts";
import { stagedPath, stagingPath } from "./paths.ts";

/** Lists the versions that wait for approval. */
export const staging: Screen = async ({ api }, request) => {
  const { items, ...page } = await api.page(request, callTo(routes.listStaged, { query: { limit: "50" } }));
  return (
    <ListPage
      title="Approvals"
      label="Versions that wait for approval"
      above={<p>Versions that nobody gets before another person than their publisher has approved them.</p>}
      columns={["Version", "Staged", "By", "Size", "Digest", ""]}
      rows={items.map((staged) => [
        `${staged.project_id} ${staged.version}`,
        withNotes(
          <Go to={stagedPath(staged.project_id, staged.version)}>
            {staged.name} <span className="num">{staged.version}</span>
          </Go>,
          staged.target,
        ),
        <Time at={staged.staged_at} />,
        staged.published_by ?? "unknown",
        <Size bytes={staged.size_bytes} />,
        <Digest sha256={staged.sha256} />,
        <Standing of={staged} />,
      ])}
      empty={
        <Empty
          title="No version waits for approval."
          command="sealift project update TARGET --require-approval"
          isPattern
        >
          A publication with <code>--stage</code> waits here. Have every version of a target approved with:
        </Empty>
      }
      to={stagingPath}
      {...page}
    />
  );
};

const Standing = ({ of: { is_yanked: isYanked, may_approve: mayApprove } }: { of: StagedVersion }) =>
  isYanked ? (
    <Badge tone="warn">yanked</Badge>
  ) : (
    <Badge tone={mayApprove ? "good" : "calm"}>
      {mayApprove ? "you may approve it" : "another person approves it"}
    </Badge>
  );

const stagedOf = ({ api }: PageContext, request: FastifyRequest): Promise<StagedVersion> =>
  api.call(
    request,
    callTo(routes.showStaged, { params: { id: param(request, "id"), version: param(request, "version") } }),
  );

/** Shows one version that waits for approval: who has staged it, and how it differs from the one that hosts get. */
export const staged: Screen = async (context, request) => {
  const staged = await stagedOf(context, request);
  const { name, version, sha256, signer_public_key: signer, target } = staged;
  const { kind, slug } = parseTarget(target);
  return (
    <Layout title={`${name}: ${version} waits for approval`}>
      <p className="kind">
        <Go to={pagePaths.target(kind, slug)}>{name}</Go>
      </p>
      <h1>
        <span className="num">{version}</span> waits for approval
      </h1>
      <FactList
        of={{
          Staged: <Time at={staged.staged_at} />,
          By: staged.published_by ?? "unknown",
          Size: <Size bytes={staged.size_bytes} />,
          Signer: signer === null ? "not signed by its author" : <Signer of={signer} />,
          Digest: <code>{sha256}</code>,
        }}
      />
      <Answers staged={staged} />
      {kind === "project" ? (
        <Section id="files" title="Contents">
          <p>The artifact is encrypted, and the hub cannot look into it. Compare it on your machine:</p>
          <Command
            text={`sealift stage diff ${slug} ${version} --signer-public-key signer.pub --deployment-credential-file host.credential`}
          />
        </Section>
      ) : (
        <Contained {...await comparisonOf(context, request, { ...staged, kind, slug })} />
      )}
    </Layout>
  );
};

/** Staged version, with the one that hosts get now, if any. */
interface Compared {
  kind: MarketplaceKind;
  latest: string | undefined;
  /** Contents of both; undefined where the key may not read them. */
  before: Contents | undefined;
  after: Contents | undefined;
}

async function comparisonOf(
  context: PageContext,
  request: FastifyRequest,
  staged: StagedVersion & { kind: MarketplaceKind; slug: string },
): Promise<Compared> {
  const { kind, slug } = staged;
  const detail = await context.api.call(request, callTo(showTarget[kind], { params: { slug } }));
  const open = detail.versions.find(({ version }) => version === detail.latest_version);
  const read = await context.archives();
  return {
    kind,
    latest: open?.version,
    before: open && (await read.contents(request, { kind, slug, ...open })),
    after: await read.contents(request, staged),
  };
}

/** Shows the forms for approval and rejection. */
function Answers({ staged }: { staged: StagedVersion }) {
  const { project_id: id, version, sha256, may_approve: mayApprove, is_yanked: isYanked } = staged;
  const at = stagedPath(id, version);
  return (
    <div className="actions">
      {isYanked && <p className="notice warn">It was yanked: it cannot be approved until that is taken back.</p>}
      {!mayApprove && !isYanked && (
        <p className="notice">Another person approves it: who has staged a version does not.</p>
      )}
      {mayApprove && !isYanked && (
        <Ask at={at} verb="Approve" thing={version} sends={{ sha256 }}>
          Publish {version} with the digest {shortHex(sha256)}? Hosts that follow the latest version get it.
        </Ask>
      )}
      <Opened title="Reject" to={`${at}/reject`}>
        <p>Its bytes are removed, and its label is free again.</p>
        <Field label="Why" name="reason" required maxLength={1024} />
        <button className="bad">Reject {version}</button>
      </Opened>
    </div>
  );
}

/** Shows how an archive differs from the latest version, or all of it without one. */
function Contained({ kind, latest, before, after }: Compared) {
  if (after === undefined) return <Empty title="This key may not read this version." />;
  const { descriptor, isCut } = after;
  const isUnknown = kind === "plugin" && descriptor === undefined;
  const rights = descriptor && before === undefined ? rightsOf(descriptor) : [];
  return (
    <>
      {rights.length > 0 && <Rights title="Rights it asks for" of={rights} />}
      {before !== undefined && <MoreRights {...{ before: before.descriptor, after: descriptor }} />}
      {isUnknown && <RightsUnknown isCut={isCut} />}
      <Section id="files" title={latest === undefined ? "Files" : `Files that differ from ${latest}`}>
        <ChangedFiles before={before ?? NOTHING} after={after} />
      </Section>
    </>
  );
}

/** Contents that stand for a missing version. */
const NOTHING: Contents = { readme: undefined, descriptor: undefined, files: new Map(), isCut: false };

/** Approves the bytes that the page has shown. */
export const approve: Screen = async (context, request) => {
  const [project_id, version] = [param(request, "id"), param(request, "version")];
  const { target } = await stagedOf(context, request);
  const body = { versions: [{ project_id, version, sha256: field(request, "sha256") ?? "" }] };
  await context.api.call(request, callTo(routes.approveStaged, { body }));
  const { kind, slug } = parseTarget(target);
  return { goTo: pagePaths.target(kind, slug) };
};

export const reject = act(routes.rejectStaged, {
  to: () => stagingPath,
  body: (request) => ({ reason: field(request, "reason") ?? "" }),
});
