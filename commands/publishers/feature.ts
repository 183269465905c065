import { deploymentError, usageError } from "../../lib/contract/errors.ts";
import type { PublisherRecord } from "../../lib/contract/publishers/publishers.ts";
import { connection } from "../../lib/options/connection.ts";
import { publisherAddition, publisherRemoval, publisherTest } from "../../lib/options/publishers.ts";
import { lookAlikeText } from "../hub/look-alike-text.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";
import type { CommandFeature } from "../shell/feature.ts";
import { showList, timeText } from "../shell/output/listing.ts";
import { type Connected, resource } from "../shell/resource.ts";

async function clientOf(options: Connected) {
  const [{ callsOf }, routes] = await Promise.all([
    import("../../lib/client/calls.ts"),
    import("../../lib/contract/publishers/routes.ts"),
  ]);
  return callsOf(routes, hubConnection(options, DEPLOY_TIMEOUT_MS));
}

/** Finds a publisher by its name or id. @throws DeploymentError `not_found` */
async function called(options: Connected, text: string) {
  const [client, { findNamed }] = await Promise.all([clientOf(options), import("../../lib/client/lookup.ts")]);
  const publisher = await findNamed(text, client.listPublishers(), {
    what: "publisher",
    list: "sealift publisher list",
    shown: ({ id, target, creates }) => `${id} (${target ?? creates?.slug})`,
  });
  return { client, publisher, params: { publisher: publisher.id } };
}

const publishersVerb = resource("publisher", [], clientOf);
const targetVerb = resource("publisher", ["TARGET"], clientOf);
const publisherVerb = resource("publisher", ["PUBLISHER"], called);

const targetOf = ({ target, creates }: PublisherRecord): string =>
  target ?? `${creates!.kind}:${creates!.slug} (pending)`;

/** Returns the target for the request: an existing one, or one to create. */
async function placeOf(options: Connected & { pending: boolean }, text: string) {
  if (!options.pending) {
    const [{ targetCalled }, { targetText }] = await Promise.all([
      import("../../lib/client/lookup.ts"),
      import("../../lib/contract/target.ts"),
    ]);
    return { target: targetText(await targetCalled(hubConnection(options, DEPLOY_TIMEOUT_MS), text)) };
  }
  const [, kind, name] = /^(plugin|service|project):(.+)$/.exec(text) ?? [];
  if (kind === undefined || name === undefined)
    throw usageError("usage", `TARGET is plugin:SLUG, service:SLUG or project:NAME, not ${JSON.stringify(text)}.`);
  const known = kind as "plugin" | "service" | "project";
  return { creates: { kind: known, name, ...(known !== "project" && { slug: name }) } };
}

const add = targetVerb("add", publisherAddition, {
  description: "Trust a workflow of a CI system to publish, without a stored key",
  details: `
    The CI system gives each run a token that says which repository and workflow it is. A run with these claims gets a
    key of a quarter of an hour that publishes to TARGET and does nothing else:
    \`project publish --oidc\` and \`marketplace publish --oidc\`. Claims are compared exactly. Name ids, which never move,
    and the workflow. With \`--pending\` TARGET is not there yet, and the first publication creates it.
  `,
  examples: [
    [
      "A workflow of GitHub Actions",
      "$0 publisher add plugin:tide-table --name release --issuer github --claim repository_id=1296269 --claim repository_owner_id=583231 --claim workflow_ref=acme/tide/.github/workflows/release.yml@refs/heads/main",
    ],
    [
      "A pipeline of GitLab, for a project that is not there yet",
      "$0 publisher add project:Harbour --pending --name release --issuer gitlab --claim project_id=278964 --claim namespace_id=9970 --claim ci_config_ref_uri=gitlab.com/acme/tide//.gitlab-ci.yml@refs/heads/main",
    ],
  ],
  async run(client, { options, json, note, done }, [target]) {
    const { name, issuer, claim, audience, stage } = options;
    if (claim.length === 0)
      throw usageError("usage", "--claim is missing.", {
        hint: "Name ids, which never move: --claim repository_id=… --claim repository_owner_id=… --claim workflow_ref=…",
      });
    const { baseUrl } = await import("../../lib/contract/surfaces/paths.ts");
    const publisher = await client.addPublisher({
      body: {
        ...(await placeOf(options, target)),
        ...{ name, issuer, audience: audience ?? baseUrl(options.hubUrl), claims: Object.fromEntries(claim) },
        ...(stage && { scope: "stage" }),
      },
    });
    if (json) return done({ publisher });
    const what = publisher.scope === "stage" ? " to stage versions" : "";
    note(
      `${targetOf(publisher)} trusts ${publisher.name} (${publisher.id})${what}, by tokens for ${publisher.audience}.`,
    );
    const { creates, looks_like: others } = publisher;
    if (creates !== null && others !== undefined) note(lookAlikeText(creates.slug, others));
    if (publisher.creates?.kind === "project")
      note(`The project will have the id ${publisher.creates.slug}: write it into the install plan.`);
    note(`Try a token of it: sealift publisher test ${publisher.name} --token-file FILE`);
    return done({ publisher });
  },
});

const list = publishersVerb("list", connection, {
  description: "List the workflows that may publish to your targets",
  examples: [["Who may publish without a key", "$0 publisher list"]],
  listed: async () => Object.keys((await import("../../lib/contract/publishers/publishers.ts")).publisherRecord.shape),
  run: (client, shell) =>
    showList(shell, {
      event: "publisher",
      rows: client.listPublishers(),
      columns: {
        PUBLISHER: ({ name }) => name,
        TARGET: targetOf,
        ISSUER: ({ issuer }) => issuer,
        "LAST USE": ({ last_used_at: at }) => (at === null ? "never" : timeText(at)),
        CLAIMS: ({ claims }) =>
          Object.entries(claims)
            .map(([claim, value]) => `${claim}=${value}`)
            .join(" "),
      },
      none: "No workflow may publish without a key yet.",
    }),
});

const remove = publisherVerb("remove", publisherRemoval, {
  description: "Trust a workflow no longer, and end the keys that it got",
  examples: [["The repository was archived", "$0 publisher remove release"]],
  async run({ client, publisher, params }, { options: { dryRun }, note, done }) {
    const { id, name } = publisher;
    if (!dryRun) await client.removePublisher({ params });
    note(`${targetOf(publisher)} ${dryRun ? "would no longer trust" : "no longer trusts"} ${name}.`);
    return done({ id, dry_run: dryRun });
  },
});

const test = publisherVerb("test", publisherTest, {
  description: "Compare an identity token with a publisher",
  details: "Names each claim that differs. The token is not used up, and ends with 3 where it is not the publisher's.",
  examples: [["Why is a run refused?", "$0 publisher test release --token-file token.jwt"]],
  async run({ client, publisher, params }, { options, json, print, note, done }) {
    const { matches, differences } = await client.testPublisher({ params, body: { token: options.token.trim() } });
    if (!json)
      for (const { claim, wanted, found } of differences)
        print.line(`${claim} is ${found === null ? "missing" : JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
    if (!matches) {
      throw deploymentError("publisher_differs", `The token is not one of ${publisher.name}.`);
    }
    note(`The token is one of ${publisher.name}: a run with it publishes to ${targetOf(publisher)}.`);
    return done({ id: publisher.id, matches, differences });
  },
});

/** Commands of CI workflows that publish without a stored key. */
export const publishers: CommandFeature = { name: "publishers", commands: [add, list, test, remove] };
