import { GITHUB_ISSUER, GITLAB_ISSUER } from "../../../contract/publishers/claims.ts";
import type { PublisherRecord } from "../../../contract/publishers/publishers.ts";
import type { Paged } from "../../page/api.ts";
import { Field, Opened, Remove } from "../../page/forms.tsx";
import { Layout } from "../../page/layout.tsx";
import { Badge, Empty, Go, Pager, Table, Time } from "../../page/parts.tsx";
import { pagePaths, useView } from "../../page/view.ts";
import { publisherPath, publishersPath } from "./paths.ts";

const COMMAND =
  "sealift publisher add plugin:SLUG --name release --issuer github --claim repository_id=… --claim repository_owner_id=… --claim workflow_ref=…";

const targetOf = ({ target, creates }: PublisherRecord): string => target ?? `${creates!.kind}:${creates!.slug}`;

/** The workflows that may publish without a key, and a form for a new one. */
export function PublishersPage({ items, cursor, next }: Paged<PublisherRecord>) {
  const { hubUrl } = useView();
  return (
    <Layout title="Publishers">
      <h1>Publishers</h1>
      <p>
        Workflows of CI systems that publish with the identity of their runs, and no stored key. A run gets a key of a
        quarter of an hour for one target.
      </p>
      <Opened className="panel" title="Trust a workflow" to={publishersPath}>
        <Field
          label="Target"
          name="target"
          required
          maxLength={300}
          placeholder="plugin:SLUG, service:SLUG or project:ID"
        />
        <label className="check">
          <input type="checkbox" name="pending" value="yes" />
          <span>
            The target is not there yet: its first run creates it. For a project, write <code>project:NAME</code>.
          </span>
        </label>
        <label className="check">
          <input type="checkbox" name="stage" value="yes" />
          <span>Its runs only stage versions: another person approves them.</span>
        </label>
        <Field label="Name" name="name" required maxLength={128} placeholder="release" />
        <Field label="Issuer" name="issuer" type="url" required maxLength={512} list="issuers" />
        <datalist id="issuers">
          <option value={GITHUB_ISSUER}>GitHub Actions</option>
          <option value={GITLAB_ISSUER}>GitLab</option>
        </datalist>
        <Field label="Audience" name="audience" required maxLength={512} defaultValue={hubUrl} />
        <label>
          Claims, one a line
          <textarea name="claims" required rows={4} placeholder={"repository_id=41\nworkflow_ref=…"} />
        </label>
        <button>Trust the workflow</button>
      </Opened>
      <Table
        label="Publishers"
        empty={
          <Empty title="No publishers yet." command={COMMAND} isPattern>
            Every publication needs a stored key. Trust a workflow here, or with:
          </Empty>
        }
        columns={["Name", "Target", ["Claims", "why"], "Last run", ["", "acts"]]}
        rows={items.map((publisher) => [
          publisher.id,
          <>
            {publisher.name}
            <p className="slug">{publisher.issuer}</p>
            <p className="slug">for {publisher.audience}</p>
          </>,
          <>
            <p className="slug">{targetOf(publisher)}</p>
            {publisher.target === null && <Badge tone="busy">pending</Badge>}
            {publisher.scope === "stage" && <Badge tone="calm">stages</Badge>}
            {publisher.creates?.kind === "project" && <p>{publisher.creates.name}</p>}
          </>,
          Object.entries(publisher.claims).map(([claim, value]) => (
            <p key={claim} className="slug">
              {claim}={value}
            </p>
          )),
          <Time at={publisher.last_used_at} none="never" />,
          <Remove
            to={`${publisherPath(publisher.id)}/remove`}
            verb="Remove"
            thing={publisher.name}
            question={`Trust ${publisher.name} no longer? The keys of its runs end, too.`}
          />,
        ])}
      />
      <Pager to={publishersPath} at={cursor} next={next} />
      <p>
        <Go to={pagePaths.keys()}>Keys</Go>
      </p>
    </Layout>
  );
}
