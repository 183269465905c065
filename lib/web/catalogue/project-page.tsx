import type { ManagedVersion, ProjectRecord } from "../../contract/surfaces/keys.ts";
import { deployCommand } from "../page/commands.ts";
import { Command, Empty, Facts, Pager, Section, Size, Table, Time } from "../page/parts.tsx";
import { TargetLayout } from "../page/target-layout.tsx";
import { Signer } from "../page/version-marks.tsx";
import { pagePaths, useView } from "../page/view.ts";
import { Published, Release, Version, Yank } from "./version-parts.tsx";

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
  const publish = `sealift project publish . --project-id ${id} --version 1.0.0 --signing-key-file signer.key`;
  return (
    <TargetLayout kind="project" slug={id} name={name}>
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
              <Command text={deployCommand({ kind: "project", slug: id, hubUrl })} />
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
    </TargetLayout>
  );
}
