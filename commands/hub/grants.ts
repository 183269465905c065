import { targetText } from "../../lib/contract/target.ts";
import { connection } from "../../lib/options/connection.ts";
import { removal } from "../../lib/options/devkeys.ts";
import { showList, timeText } from "../shell/output/listing.ts";
import { type Connected, resource } from "../shell/resource.ts";
import { managed } from "./managed.ts";

/** Returns the plugin or service of grants. @throws UsageError `usage` for a project, and as {@link Managed.called} */
async function grantable(options: Connected, text: string) {
  const { client, called } = await managed(options);
  const { kind, slug } = await called(text);
  if (kind !== "project") return { client, kind, slug, text: targetText({ kind, slug }) };
  const { usageError } = await import("../../lib/contract/errors.ts");
  throw usageError("usage", `${JSON.stringify(text)} is a project; grants are for plugins and services.`, {
    hint: "A key that is bound to the project opens it: `sealift key create --name NAME --project PROJECT`.",
  });
}

const ofTarget = resource("grant", ["TARGET"], grantable);
const ofOwner = resource("grant", ["TARGET", "OWNER"], grantable);

export const GrantList = ofTarget("list", connection, {
  description: "List the owners who may see a private plugin or service",
  examples: [["Who sees it", "$0 grant list tide-table"]],
  listed: () => ["owner", "created_at"],
  run: ({ client, kind, slug }, shell) =>
    showList(shell, {
      event: "grant",
      rows: client.listGrants[kind]({ params: { slug } }),
      columns: { OWNER: ({ owner }) => owner, SINCE: ({ created_at: at }) => timeText(at) },
      none: "Nobody but its owner.",
    }),
});

export const GrantAdd = ofOwner("add", connection, {
  description: "Let an owner's keys see a private plugin or service",
  examples: [["Let another team see it", "$0 grant add tide-table team-b"]],
  async run({ client, kind, slug, text }, { note, done }, [, owner]) {
    const grant = await client.addGrant[kind]({ params: { slug }, body: { owner } });
    note(`${grant.owner} may see ${text}.`);
    return done({ kind, slug, grant });
  },
});

export const GrantRemove = ofOwner("remove", removal, {
  description: "Take a grant back",
  examples: [["Hide it again", "$0 grant remove tide-table team-b"]],
  async run({ client, kind, slug, text }, { options: { dryRun }, note, done }, [, owner]) {
    if (!dryRun) await client.removeGrant[kind]({ params: { slug, owner } });
    else if (
      !(await Array.fromAsync(client.listGrants[kind]({ params: { slug } }))).some((grant) => grant.owner === owner)
    ) {
      const { deploymentError } = await import("../../lib/contract/errors.ts");
      throw deploymentError("not_found", `${owner} has no grant of ${text}.`);
    }
    note(`${owner} ${dryRun ? "would no longer see" : "no longer sees"} ${text}.`);
    return done({ kind, slug, owner, dry_run: dryRun });
  },
});
