import type { ReactElement } from "react";
import { rightsOf } from "../../contract/rights.ts";
import type { TargetDetail, VersionRecord } from "../../contract/surfaces/marketplace.ts";
import type { Contents } from "../page/archive.ts";
import { deployCommand } from "../page/commands.ts";
import { Away, Command, Empty, Facts, Go, Pager, RightsUnknown, Section, Size, Table, Time } from "../page/parts.tsx";
import { TargetLayout } from "../page/target-layout.tsx";
import { Digest, Signer } from "../page/version-marks.tsx";
import { pagePaths, useView, withQuery } from "../page/view.ts";
import { Published, Release, Version, Yank } from "./version-parts.tsx";

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
    <TargetLayout
      kind={kind}
      slug={slug}
      name={name}
      lead={description !== null && <p className="lead">{description}</p>}
    >
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
              <Command text={deployCommand({ kind, slug, hubUrl })} />
              <p className="help">
                The signing secret comes from its developer, and the API key from your hub&rsquo;s administrator. The
                install plan is your own.
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
    </TargetLayout>
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
  const archive = `--kind ${kind} --version 1.0.0 --archive ${slug}.zip`;
  const publish = `sealift marketplace publish ${slug} ${archive} --signing-secret-file developer.secret`;
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
