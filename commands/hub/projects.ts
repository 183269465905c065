import type { KeyService } from "../../lib/client/key-service.ts";
import { asSealiftError, usageError } from "../../lib/contract/errors.ts";
import type { CreateProjectRequest, ProjectDeletion } from "../../lib/contract/surfaces/keys.ts";
import { connection } from "../../lib/options/connection.ts";
import { projectCreation, projectDeletion, projectRenaming, projectTransfer } from "../../lib/options/devkeys.ts";
import { printableJson } from "../../lib/support/printable.ts";
import { showList } from "../shell/output/listing.ts";
import { type Connected, resource } from "../shell/resource.ts";
import { lookAlikeText } from "./look-alike-text.ts";
import { managed } from "./managed.ts";

async function called(options: Connected, text: string) {
  const hub = await managed(options);
  return { ...hub, target: await hub.called(text) };
}

const ofHub = resource("project", [], managed);
const ofName = resource("project", ["NAME"], managed);
const ofTarget = resource("project", ["TARGET"], called);
const ofTargetAndName = resource("project", ["TARGET", "NAME"], called);
const ofTargetAndOwner = resource("project", ["TARGET", "OWNER"], called);

export const ProjectsCreate = ofName("create", projectCreation, {
  description: "Create a project, plugin or service on a hub",
  details: `
    The hub gives a project its id. A plugin or service is known by its slug. A name that another one of the kind has
    is refused, since commands would not know which one it means; \`--same-name\` takes it all the same. A slug that
    looks like another owner's, as \`tide-tab1e\` does like \`tide-table\`, is warned of; a hub may refuse it. With
    \`--if-missing\` one that is there already is printed as if it had just been made, so that a script may run twice.
  `,
  examples: [
    ["Create a project", "$0 project create 'Cold store' --kind project"],
    ["In a script that may run twice", "$0 project create 'Cold store' --if-missing"],
    ["Create a plugin", "$0 project create 'Tide table' --kind plugin --slug tide-table"],
  ],
  async run({ client }, { options, json, print, note, done }, [name]) {
    const { kind, slug, sameName, ifMissing } = options;
    const wanted = { name, kind, ...(slug !== undefined && { slug }), ...(sameName && { same_name: true }) };
    const { project, created } = await (ifMissing ? existingOr(client, wanted) : creation(client, wanted));
    if (json) return done({ project, created });
    note(created ? `Created the ${project.kind} ${project.name}.` : `The ${project.kind} ${project.name} is there.`);
    if (project.looks_like !== undefined) note(lookAlikeText(project.slug, project.looks_like));
    print.line(project.kind === "project" ? project.slug : `${project.kind} ${project.slug}`);
    return 0;
  },
});

const creation = async (client: KeyService, wanted: CreateProjectRequest) => ({
  project: await client.createProject({ body: wanted }),
  created: true,
});

/** Creates a project, or returns the existing one of the same kind, name and slug. */
async function existingOr(client: KeyService, wanted: CreateProjectRequest): ReturnType<typeof creation> {
  try {
    return await creation(client, wanted);
  } catch (thrown) {
    const { existingId } = asSealiftError(thrown);
    if (existingId === undefined) throw thrown;
    const project = await client.showProject({ params: { id: existingId } });
    if (wanted.slug !== undefined && project.slug !== wanted.slug) throw thrown;
    return { project, created: false };
  }
}

export const ProjectsList = ofHub("list", connection, {
  description: "List your projects, plugins and services",
  listed: async () => Object.keys((await import("../../lib/contract/surfaces/keys.ts")).projectRecord.shape),
  run: ({ client }, shell) =>
    showList(shell, {
      event: "project",
      rows: client.listProjects(),
      columns: {
        KIND: ({ kind }) => kind,
        NAME: ({ name }) => name,
        LATEST: ({ latest_version: latest }) => latest ?? "–",
        OWNER: ({ owner = "" }) => owner,
        ID: ({ slug }) => slug,
      },
      none: "No projects yet.",
    }),
});

export const ProjectsRename = ofTargetAndName("rename", projectRenaming, {
  description: "Give a project, plugin or service another name",
  details: "Its id and slug stay, so that hosts and publishers notice nothing.",
  examples: [["Rename a project", "$0 project rename Harbour 'Harbour of Bergen'"]],
  async run({ client, target: { id } }, { options, note, done }, [text, name]) {
    const project = await client.renameProject({
      params: { id },
      body: { name, ...(options.sameName && { same_name: true }) },
    });
    note(`${text} is called ${project.name} now.`);
    return done({ project });
  },
});

export const ProjectsDelete = ofTarget("delete", projectDeletion, {
  description: "Delete a project, plugin or service for good",
  details: `
    Takes its versions with their bytes, its fleet, rollouts, signers and grants, the keys that are bound to it and
    the webhooks that hear of it alone. Needs an administrator's key, and the name once more in \`--confirm\`; without
    it, the command tells what would go. While hosts report to it, it is refused without \`--force\`: they keep what
    they run, and get nothing more. The slug of a plugin or service is never used again.
  `,
  examples: [
    ["Look first", "$0 project delete Harbour --dry-run"],
    ["Delete it", "$0 project delete Harbour --confirm Harbour --reason 'moved to Bergen'"],
  ],
  async run({ client, target: { id, name } }, { options, note, done }) {
    const { confirm, force, reason, dryRun } = options;
    if (dryRun || confirm === undefined) {
      const project = await client.showDeletion({ params: { id } });
      note(`would delete ${contentsText(project)}`);
      if (dryRun) return done({ project, dry_run: true });
      throw usageError("usage", "Nothing was deleted.", { hint: `Add --confirm ${printableJson(name)} to delete it.` });
    }
    if (confirm !== name)
      throw usageError("usage", `The project is called ${printableJson(name)}, not ${printableJson(confirm)}.`, {
        hint: "Give its name in --confirm.",
      });
    const project = await client.deleteProject({ params: { id }, query: { force, reason } });
    note(`Deleted ${contentsText(project)}.`);
    return done({ project, dry_run: false });
  },
});

/** Describes what a deletion removes, without zeros. */
function contentsText({ kind, name, contents }: ProjectDeletion): string {
  const { versions, hosts, reporting_hosts: reporting, rollouts, keys, signers, grants, webhooks } = contents;
  const counts = Object.entries({ version: versions, host: hosts, rollout: rollouts, key: keys, signer: signers });
  const parts = [...counts, ["grant", grants] as const, ["webhook", webhooks] as const]
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}${count === 1 ? "" : "s"}`);
  const others = parts.length === 0 ? "" : ` with ${parts.join(", ")}`;
  const still =
    reporting === 0 ? "" : `; ${reporting} host${reporting === 1 ? " still reports" : "s still report"} to it`;
  return `the ${kind} ${name}${others}${still}`;
}

export const ProjectsTransfer = ofTargetAndOwner("transfer", projectTransfer, {
  description: "Give a project, plugin or service to another owner",
  details: `
    Needs an administrator's key, and an owner who has a live key. Keys that are bound to the project are revoked,
    so that its former owner keeps none that works for it; its hosts then need new ones. With \`--keep-keys\` they
    go on working as keys of the new owner.
  `,
  examples: [["Give a project to another team", "$0 project transfer Harbour team-b --keep-keys"]],
  async run({ client, target }, { options, note, done }, [, owner]) {
    const { keepKeys: keep_keys, dryRun } = options;
    if (dryRun) {
      note(`would give ${target.name} of ${target.owner} to ${owner}`);
      const keys: string[] = [];
      for await (const { id, name, project_id: of } of client.listKeys({ query: { state: "live" } })) {
        if (of !== target.id) continue;
        keys.push(id);
        note(keep_keys ? `would keep the key ${id} (${name}) for ${owner}` : `would revoke the key ${id} (${name})`);
      }
      return done({ project: target, owner, keys, keep_keys, dry_run: true });
    }
    const project = await client.transferProject({ params: { id: target.id }, body: { owner, keep_keys } });
    const { revoked_keys: revoked } = project;
    note(
      `${project.name} belongs to ${owner} now.` +
        (revoked === 0 ? "" : ` ${revoked} key${revoked === 1 ? " was" : "s were"} revoked.`),
    );
    return done({ project, dry_run: false });
  },
});
