import type { ReactElement } from "react";
import { rightsOf } from "../../contract/rights.ts";
import type { ManagedVersion, ProjectRecord } from "../../contract/surfaces/keys.ts";
import type { TargetDetail, VersionRecord } from "../../contract/surfaces/marketplace.ts";
import type { Contents } from "../page/archive.ts";
import { Ask, Field, Opened } from "../page/forms.tsx";
import { Layout } from "../page/layout.tsx";
import {
  Away,
  Badge,
  Command,
  Empty,
  Facts,
  Go,
  Pager,
  RightsUnknown,
  Section,
  Size,
  Table,
  TargetHead,
  Time,
} from "../page/parts.tsx";
import { Digest, Marks, Signer, STATE_CAUSES } from "../page/version-marks.tsx";
import { pagePaths, useView, withQuery } from "../page/view.ts";

export interface TargetView {
  detail: TargetDetail;
  versions: VersionRecord[];
  /** Names of the keys that have published them, by version; undefined for those who may not know them. */
  publishers: ReadonlyMap<string, string> | undefined;
  cursor: string;
  next: string | null;
  contents: Contents | undefined;
  /** The README of these contents, if they have one. */
  readme: ReactElement | undefined;
  /** Whether the key may yank. */
  mayYank: boolean;
  mayRelease: boolean;
}

/** A plugin or service: its README, its versions, and how to install it. */
export function TargetPage(view: TargetView) {
  const { detail, versions, publishers, cursor, next, contents, readme, mayYank, mayRelease } = view;
  const { kind, slug, name, description, latest_version: latest } = detail;
  const { hubUrl, principal } = useView();
  const here = pagePaths.target(kind, slug);
  return (
    <Layout title={name}>
      <TargetHead kind={kind} slug={slug} name={name} at="Overview">
        {description !== null && <p className="lead">{description}</p>}
      </TargetHead>
      <div className="columns">
        <div>
          <Section id="readme" title="README">
            {readme ?? <Empty title={noReadme(principal !== undefined, latest, contents)} />}
          </Section>
          <Section id="versions" title="Versions">
            <Versions {...{ detail, versions, publishers, mayYank, mayRelease }} />
            <Pager to={here} at={cursor} next={next} />
          </Section>
        </div>
        <aside aria-label="About">
          {latest !== "" && (
            <Section id="install" title="Install">
              <Command text={installCommand(detail, hubUrl)} />
              <p className="help">
                The signing secret comes from its developer, and the API key from your hub&rsquo;s administrator.
              </p>
            </Section>
          )}
          <Section id="facts" title="Facts">
            <Facts
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
    </Layout>
  );
}

/** The rights that a plugin asks for, or the reason why nobody sees them here. @param of its latest version */
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

const installCommand = ({ kind, slug }: TargetDetail, hubUrl: string): string =>
  [
    `sealift marketplace deploy ${slug}${kind === "service" ? " --kind service" : ""}`,
    `  --hub-url ${hubUrl}`,
    "  --api-key-file hub.key",
    "  --signing-secret-file developer.secret",
  ].join(" \\\n");

function noReadme(isSignedIn: boolean, latest: string, contents: Contents | undefined): string {
  if (latest === "") return "It comes with the first version.";
  if (contents !== undefined) return "The latest version has no README.md.";
  return isSignedIn ? "This key may not read the archive." : "Sign in to read it.";
}

function Versions({
  detail,
  versions,
  publishers,
  mayYank,
  mayRelease,
}: Pick<TargetView, "detail" | "versions" | "publishers" | "mayYank" | "mayRelease">) {
  const { kind, slug, latest_version: latest } = detail;
  const publish = `sealift marketplace publish ${slug} --kind ${kind} --version 1.0.0 --archive ${slug}.zip`;
  return (
    <Table
      label="Versions"
      empty={<Empty title="Nothing is published yet." command={publish} />}
      columns={["Version", "Published", "Size", "Source", ["", "acts"]]}
      rows={versions.map((each, index) => [
        each.version,
        <>
          <Version of={each} isLatest={each.version === latest} />
          <p className="slug">
            <Digest sha256={each.sha256} />
          </p>
          {each.signer_public_key !== undefined && (
            <p className="slug">
              signed by <Signer of={each.signer_public_key} />
            </p>
          )}
        </>,
        <Published at={each.created_at} by={publishers?.get(each.version)} />,
        <Size bytes={each.size_bytes} />,
        each.repo ?? <span className="faint">uploaded</span>,
        <>
          {versions[index + 1] !== undefined && (
            <Go to={withQuery(pagePaths.compare(kind, slug), { from: versions[index + 1]!.version, to: each.version })}>
              Changes
            </Go>
          )}
          {mayYank && <Yank at={pagePaths.target(kind, slug)} version={each.version} isYanked={each.is_yanked} />}
          {mayRelease && each.state?.name === "held" && (
            <Release at={pagePaths.target(kind, slug)} version={each.version} />
          )}
        </>,
      ])}
    />
  );
}

/** A version with its badges. @param of its record */
const Version = ({ of, isLatest }: { of: VersionRecord | ManagedVersion; isLatest: boolean }) => (
  <>
    <span className="num">{of.version}</span> {isLatest && <Badge tone="good">latest</Badge>} <Marks of={of} />
    {of.state !== undefined && <Badge tone={of.state.name === "held" ? "warn" : "busy"}>{of.state.name}</Badge>}
    {of.state !== undefined && (
      <p className="why">
        {STATE_CAUSES[of.state.cause]} <Time at={of.state.since} />
      </p>
    )}
  </>
);

/** When a version was published. @param by the name of the key */
const Published = ({ at, by }: { at: string; by: string | undefined }) => (
  <>
    <Time at={at} />
    {by !== undefined && <p className="slug">by the key {by}</p>}
  </>
);

/** The form that opens a held version to every host. */
export const Release = ({ at, version }: { at: string; version: string }) => (
  <Opened title="Release" to={`${at}/release`}>
    <input type="hidden" name="version" value={version} />
    <Field label="Reason" name="reason" maxLength={1024} />
    <button>Give {version} to every host</button>
  </Opened>
);

/** Forms that yank a version, and take that back. */
export function Yank({ at, version, isYanked }: { at: string; version: string; isYanked: boolean }) {
  if (isYanked)
    return (
      <Ask
        to={`${at}/unyank`}
        verb="Unyank"
        thing={version}
        question={`Take the yank of ${version} back? Hosts may get it as the latest version again.`}
        sends={{ version }}
      />
    );
  return (
    <Opened title="Yank" to={`${at}/yank`}>
      <input type="hidden" name="version" value={version} />
      <Field label="Reason" name="reason" maxLength={1024} required />
      <button className="bad">Yank {version}</button>
    </Opened>
  );
}

export interface ProjectView {
  project: ProjectRecord;
  versions: ManagedVersion[];
  /** Names of the keys that have published them, by version. */
  publishers: ReadonlyMap<string, string>;
  cursor: string;
  next: string | null;
  mayYank: boolean;
  mayRelease: boolean;
}

const deltasOf = ({ deltas = [] }: ManagedVersion) => deltas;

/** A project of surface B. Its artifacts are sealed: the hub knows their sizes and signers, and not their contents. */
export function ProjectPage({ project, versions, publishers, cursor, next, mayYank, mayRelease }: ProjectView) {
  const { id, name, owner, created_at, latest_version: latest } = project;
  const { hubUrl } = useView();
  const here = pagePaths.target("project", id);
  const published = `--project-id ${id} --project-name ${JSON.stringify(name)} --version 1.0.0`;
  const publish = `sealift project publish . ${published} --signing-key-file signer.key`;
  const deploy = [
    `sealift project deploy --project-id ${id}`,
    `  --hub-url ${hubUrl}`,
    "  --api-key-file hub.key",
    "  --deployment-credential-file host.credential",
    "  --signer-public-key signer.pub",
  ].join(" \\\n");
  return (
    <Layout title={name}>
      <TargetHead kind="project" slug={id} name={name} at="Overview" />
      <div className="columns">
        <Section id="versions" title="Versions">
          <Table
            label="Versions"
            empty={<Empty title="Nothing is published yet." command={publish} />}
            columns={["Version", "Published", "Size", "Deltas", "Signer", ["", "acts"]]}
            rows={versions.map((each) => [
              each.version,
              <Version of={each} isLatest={each.is_latest} />,
              <Published at={each.created_at} by={publishers.get(each.version)} />,
              <Size bytes={each.size_bytes} />,
              deltasOf(each).length === 0 ? (
                <span className="faint">none</span>
              ) : (
                deltasOf(each).map(({ base_version: base, size_bytes: bytes }) => (
                  <p key={base} className="delta">
                    from <span className="num">{base}</span>: <Size bytes={bytes} />
                  </p>
                ))
              ),
              each.signer_public_key !== null && <Signer of={each.signer_public_key} />,
              <>
                {mayYank && <Yank at={here} version={each.version} isYanked={each.is_yanked} />}
                {mayRelease && each.state?.name === "held" && <Release at={here} version={each.version} />}
              </>,
            ])}
          />
          <Pager to={here} at={cursor} next={next} />
        </Section>
        <aside aria-label="About">
          {latest !== null && (
            <Section id="install" title="Deploy">
              <Command text={deploy} />
              <p className="help">A key for this project comes with a deployment credential: see Keys.</p>
            </Section>
          )}
          <Section id="facts" title="Facts">
            <Facts
              of={{
                Latest: latest === null ? "none" : <span className="num">{latest}</span>,
                Owner: owner,
                Created: <Time at={created_at} />,
              }}
            />
            <p className="help">Artifacts are sealed by their publisher: the hub cannot look into them.</p>
          </Section>
        </aside>
      </div>
    </Layout>
  );
}
