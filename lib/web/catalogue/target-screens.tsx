import type { FastifyRequest } from "fastify";
import { Fragment } from "react";
import * as market from "../../contract/marketplace/routes.ts";
import { showProject } from "../../contract/projects/routes.ts";
import { rightsOf } from "../../contract/rights.ts";
import type { TargetDetail } from "../../contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { releaseVersion, unyankVersion, yankVersion } from "../../contract/versions/routes.ts";
import { notFound } from "../../hub/base/errors.ts";
import { callTo } from "../page/api.ts";
import type { Contents } from "../page/archive.ts";
import { deployCommand } from "../page/commands.ts";
import { field, type PageContext, param, queryOf, type Screen } from "../page/context.ts";
import { ChangedFiles, MoreRights } from "../page/differences.tsx";
import { Layout } from "../page/layout.tsx";
import { isControlled } from "../page/named-target.ts";
import {
  Away,
  Command,
  Empty,
  FactList,
  Go,
  Pager,
  RightsUnknown,
  Section,
  Size,
  Table,
  Time,
  withNotes,
} from "../page/parts.tsx";
import { TargetLayout } from "../page/target-layout.tsx";
import { Digest, Signer } from "../page/version-marks.tsx";
import { pagePaths, type TargetKind, withQuery } from "../page/view.ts";
import { Acts, managedVersions, Published, publishersOf, Version, VERSIONS } from "./version-parts.tsx";

/** Most versions offered for a comparison. */
const MOST_VERSIONS = "200";

const detailOf = ({ api }: PageContext, request: FastifyRequest, kind: MarketplaceKind): Promise<TargetDetail> =>
  api.call(request, callTo(market.showTarget[kind], { params: { slug: param(request, "slug") } }));

/** Returns the call for versions of a plugin or service. */
const versionsOf = (kind: MarketplaceKind, slug: string, limit: string) =>
  callTo(market.listTargetVersions[kind], { params: { slug }, query: { limit } });

/** Shows a plugin or service: its README, its versions, and how to install it. */
export const target =
  (kind: MarketplaceKind): Screen =>
  async (context, request) => {
    const { api, hub } = context;
    const detail = await detailOf(context, request, kind);
    const { slug, name, description, latest_version: latest } = detail;
    const isSignedIn = request.visitor?.principal !== undefined;
    // Without a key, the detail record has the newest ones.
    const listed = isSignedIn
      ? await api.page(request, versionsOf(kind, slug, VERSIONS))
      : { items: detail.versions, next: null, cursor: queryOf(request, "cursor") };
    const { items: versions, next, cursor } = listed;
    const current = detail.versions.find(({ version }) => version === latest);
    const contents = current && (await (await context.archives()).contents(request, { kind, slug, ...current }));
    // Only owners see the names of keys: the same page of versions, as their managers see it.
    const managed = isSignedIn ? await api.ask(request, managedVersions(detail.id, cursor)) : undefined;
    const publishers = managed && publishersOf(managed.items);
    const record = managed && (await api.ask(request, callTo(showProject, { params: { id: detail.id } })));
    // Only these pages need the parser.
    const { Readme } = await import("./readme.tsx");
    const here = pagePaths.target(kind, slug);
    const compared = (from: string, to: string) => withQuery(pagePaths.compare(kind, slug), { from, to });
    const archive = `--kind ${kind} --version 1.0.0 --archive ${slug}.zip`;
    return (
      <TargetLayout
        kind={kind}
        slug={slug}
        name={name}
        isControlled={isControlled(request, detail)}
        lead={
          <>
            {description !== null && <p className="lead">{description}</p>}
            {record?.looks_like !== undefined && <LooksLike kind={kind} slugs={record.looks_like} />}
          </>
        }
      >
        <div className="columns">
          <div>
            <Section id="readme" title="README">
              {contents?.readme === undefined ? (
                <Empty title={noReadme(isSignedIn, latest, contents)} />
              ) : (
                <Readme text={contents.readme} />
              )}
            </Section>
            <Section id="versions" title="Versions">
              <Table
                label="Versions"
                empty={
                  <Empty
                    title="Nothing is published yet."
                    command={`sealift marketplace publish ${slug} ${archive} --signing-secret-file developer.secret`}
                  />
                }
                columns={["Version", "Published", "Size", "Source", ["", "acts"]]}
                rows={versions.map(({ version, signer_public_key: signer, ...each }, index) => [
                  version,
                  withNotes(
                    <Version of={{ version, ...each }} isLatest={version === latest} />,
                    <Digest sha256={each.sha256} />,
                    signer !== undefined && (
                      <>
                        signed by <Signer of={signer} />
                      </>
                    ),
                  ),
                  <Published at={each.created_at} by={publishers?.get(version)} />,
                  <Size bytes={each.size_bytes} />,
                  each.repo ?? <span className="faint">uploaded</span>,
                  <>
                    {versions[index + 1] !== undefined && (
                      <Go to={compared(versions[index + 1]!.version, version)}>Changes</Go>
                    )}
                    {managed !== undefined && <Acts at={here} of={{ version, ...each }} />}
                  </>,
                ])}
              />
              <Pager to={here} at={cursor} next={next} />
            </Section>
          </div>
          <aside aria-label="About">
            {latest !== "" && (
              <Section id="install" title="Install">
                <Command text={deployCommand({ kind, slug, hubUrl: hub.publicUrl() })} />
                <p className="help">
                  The signing secret comes from its developer, and the API key from your hub&rsquo;s administrator. The
                  install plan is your own.
                </p>
              </Section>
            )}
            <Section id="facts" title="Facts">
              <FactList
                of={{
                  Latest: latest === "" ? "none" : <span className="num">{latest}</span>,
                  Owner: detail.owner,
                  Visibility: detail.visibility,
                  Created: <Time at={detail.created_at} />,
                  Homepage: detail.homepage === null ? undefined : <Away href={detail.homepage} />,
                  Repository: detail.repository === null ? undefined : <Away href={detail.repository} />,
                }}
              />
            </Section>
            {kind === "plugin" && contents !== undefined && <Rights of={contents} />}
          </aside>
        </div>
      </TargetLayout>
    );
  };

/** Tells the owner and administrators of targets of others that people may take for this one. */
const LooksLike = ({ kind, slugs }: { kind: MarketplaceKind; slugs: readonly string[] }) => (
  <p className="notice warn">
    This name looks like that of another owner&rsquo;s {kind}:{" "}
    {slugs.map((slug, index) => (
      <Fragment key={slug}>
        {index > 0 && ", "}
        <Go to={pagePaths.target(kind, slug)}>{slug}</Go>
      </Fragment>
    ))}
    .
  </p>
);

/** Shows the rights that a plugin requests, or why they are not shown. @param of contents of its latest version */
const Rights = ({ of: { descriptor, isCut } }: { of: Contents }) => (
  <Section id="rights" title="Rights it asks for">
    {descriptor === undefined ? (
      <RightsUnknown isCut={isCut} />
    ) : (
      <ul className="rights">
        {rightsOf(descriptor).map((right) => (
          <li key={right} className={right.startsWith("trusted:") ? "bad-text" : undefined}>
            {right}
          </li>
        ))}
      </ul>
    )}
  </Section>
);

function noReadme(isSignedIn: boolean, latest: string, contents: Contents | undefined): string {
  if (latest === "") return "It comes with the first version.";
  if (contents !== undefined) return "The latest version has no README.md.";
  return isSignedIn ? "This key may not read the archive." : "Sign in to read it.";
}

/** Shows the files and rights in which two versions differ. */
export const compare =
  (kind: MarketplaceKind): Screen =>
  async (context, request) => {
    const detail = await detailOf(context, request, kind);
    const { slug, name } = detail;
    const [from, to] = [queryOf(request, "from"), queryOf(request, "to")];
    const { items } = await context.api.call(request, versionsOf(kind, slug, MOST_VERSIONS));
    /** Reads a version; undefined where the key may not. */
    const contentsOf = async (label: string): Promise<Contents | undefined> => {
      const found = [...items, ...detail.versions].find(({ version }) => version === label);
      if (found === undefined) throw notFound(`The ${kind} has no such version.`);
      return (await context.archives()).contents(request, { kind, slug, ...found });
    };
    const [before, after] = [await contentsOf(from), await contentsOf(to)];
    const both = before !== undefined && after !== undefined ? { before, after } : undefined;
    const rights = { before: both?.before.descriptor, after: both?.after.descriptor };
    const isHidden = both !== undefined && (rights.before === undefined || rights.after === undefined);
    return (
      <Layout title={`${name}: ${from} to ${to}`}>
        <p className="kind">
          <Go to={pagePaths.target(kind, slug)}>{name}</Go>
        </p>
        <h1>
          <span className="num">{from}</span> to <span className="num">{to}</span>
        </h1>
        <MoreRights {...rights} />
        {kind === "plugin" && isHidden && <RightsUnknown isCut={both.before.isCut || both.after.isCut} />}
        <Section id="files" title="Files">
          {both === undefined ? <Empty title="This key may not read these versions." /> : <ChangedFiles {...both} />}
        </Section>
      </Layout>
    );
  };

/** Yanks or restores a version. */
export const yank =
  (kind: TargetKind, action: "yank" | "unyank"): Screen =>
  async ({ api }, request) => {
    const [slug, version] = [param(request, "slug"), field(request, "version") ?? ""];
    const body = action === "yank" ? { reason: field(request, "reason") ?? null } : undefined;
    if (kind === "project") {
      const route = action === "yank" ? yankVersion : unyankVersion;
      await api.call(request, callTo(route, { params: { id: slug, version }, body }));
    } else {
      const route = action === "yank" ? market.yankTargetVersion[kind] : market.unyankTargetVersion[kind];
      await api.call<unknown>(request, callTo(route, { params: { slug, version }, body }));
    }
    return { goTo: pagePaths.target(kind, slug) };
  };

/** Opens a held version to every host. */
export const release =
  (kind: TargetKind): Screen =>
  async (context, request) => {
    const [slug, version] = [param(request, "slug"), field(request, "version") ?? ""];
    const id = kind === "project" ? slug : (await detailOf(context, request, kind)).id;
    const body = { reason: field(request, "reason") || null };
    await context.api.call(request, callTo(releaseVersion, { params: { id, version }, body }));
    return { goTo: pagePaths.target(kind, slug) };
  };
