import { GITHUB_ISSUER, GITLAB_ISSUER } from "../../../contract/publishers/claims.ts";
import type { PublisherRecord } from "../../../contract/publishers/publishers.ts";
import * as routes from "../../../contract/publishers/routes.ts";
import { claimTexts, PUBLISHER_FACTS, publisherTarget } from "../../../contract/publishers/shown.ts";
import { unprocessable } from "../../../hub/base/errors.ts";
import { act } from "../../page/act.ts";
import { callTo } from "../../page/api.ts";
import { field, type Screen } from "../../page/context.ts";
import { factRows } from "../../page/fact-rows.tsx";
import { Check, Field, Opened, Remove, TextArea } from "../../page/forms.tsx";
import { ListPage } from "../../page/list-page.tsx";
import { Badge, Empty, Go, withNotes } from "../../page/parts.tsx";
import { pagePaths } from "../../page/view.ts";
import { publisherPath, publishersPath } from "./paths.ts";

const COMMAND =
  "sealift publisher add plugin:SLUG --name release --issuer github --claim repository_id=… --claim repository_owner_id=… --claim workflow_ref=…";

/** Lists the workflows that may publish without a key, with a form for a new one. */
export const publishers: Screen = async ({ api, hub }, request) => {
  const { items, ...page } = await api.page(request, callTo(routes.listPublishers, { query: { limit: "50" } }));
  return (
    <ListPage
      title="Publishers"
      above={<TrustForm hubUrl={hub.publicUrl()} />}
      {...rowsOf(items)}
      empty={
        <Empty title="No publishers yet." command={COMMAND} isPattern>
          Every publication needs a stored key. Trust a workflow here, or with:
        </Empty>
      }
      to={publishersPath}
      {...page}
    >
      <p>
        <Go to={pagePaths.keys()}>Keys</Go>
      </p>
    </ListPage>
  );
};

const TrustForm = ({ hubUrl }: { hubUrl: string }) => (
  <>
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
      <Check name="pending">
        The target is not there yet: its first run creates it. For a project, write <code>project:NAME</code>.
      </Check>
      <Check name="stage">Its runs only stage versions: another person approves them.</Check>
      <Field label="Name" name="name" required maxLength={128} placeholder="release" />
      <Field label="Issuer" name="issuer" type="url" required maxLength={512} list="issuers" />
      <datalist id="issuers">
        <option value={GITHUB_ISSUER}>GitHub Actions</option>
        <option value={GITLAB_ISSUER}>GitLab</option>
      </datalist>
      <Field label="Audience" name="audience" required maxLength={512} defaultValue={hubUrl} />
      <TextArea
        label="Claims, one a line"
        name="claims"
        required
        rows={4}
        placeholder={"repository_id=41\nworkflow_ref=…"}
      />
      <button>Trust the workflow</button>
    </Opened>
  </>
);

const rowsOf = (publishers: readonly PublisherRecord[]) =>
  factRows(PUBLISHER_FACTS, publishers, {
    keyOf: ({ id }) => id,
    formed: {
      name: ({ name, issuer, audience }) => withNotes(name, issuer, `for ${audience}`),
      target: (publisher) => (
        <>
          {withNotes("", publisherTarget(publisher))}
          {publisher.target === null && <Badge tone="busy">pending</Badge>}
          {publisher.scope === "stage" && <Badge tone="calm">stages</Badge>}
          {publisher.creates?.kind === "project" && <p>{publisher.creates.name}</p>}
        </>
      ),
      claims: (publisher) => withNotes("", ...claimTexts(publisher)),
    },
    acts: ({ id, name }) => (
      <Remove at={publisherPath(id)} verb="Remove" thing={name}>
        Trust {name} no longer? The keys of its runs end, too.
      </Remove>
    ),
  });

/** Reads `NAME=VALUE` of each line. @throws HubError 422 */
function claimsOf(text: string): Record<string, string> {
  const lines = text.split("\n").map((line) => line.trim());
  return Object.fromEntries(
    lines
      .filter((line) => line !== "")
      .map((line) => {
        const equals = line.indexOf("=");
        if (equals < 1) throw unprocessable("claims: each line is NAME=VALUE.");
        return [line.slice(0, equals), line.slice(equals + 1)];
      }),
  );
}

/** Returns the target of the form: an existing one, or one to create. @throws HubError 422 */
function placeOf(target: string, isPending: boolean) {
  if (!isPending) return { target };
  const [, kind, name] = /^(plugin|service|project):(.+)$/.exec(target) ?? [];
  if (kind === undefined || name === undefined)
    throw unprocessable("target: is plugin:SLUG, service:SLUG or project:NAME.");
  return { creates: { kind, name, ...(kind !== "project" && { slug: name }) } };
}

export const addPublisher = act(routes.addPublisher, {
  to: () => publishersPath,
  body: (request) => {
    const given = (name: string): string => field(request, name) ?? "";
    return {
      ...placeOf(given("target"), field(request, "pending") !== undefined),
      ...{ name: given("name"), issuer: given("issuer"), audience: given("audience") },
      claims: claimsOf(given("claims")),
      ...(field(request, "stage") !== undefined && { scope: "stage" }),
    };
  },
});

export const removePublisher = act(routes.removePublisher, { to: () => publishersPath });
