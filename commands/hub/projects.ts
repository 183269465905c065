import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import type { ProjectDeletion, ProjectRecord } from "../../lib/contract/surfaces/keys.ts";
import { connection } from "../../lib/options/connection.ts";
import { projectCreation, projectDeletion, projectRenaming, projectTransfer } from "../../lib/options/devkeys.ts";
import { printableJson } from "../../lib/support/printable.ts";
import { withOptions } from "../shell/base.ts";
import { showList } from "../shell/output/listing.ts";
import { type Managed, managed } from "./managed.ts";

export class ProjectsCreate extends withOptions(projectCreation) {
  static override paths = [
    ["project", "create"],
    ["projects", "create"],
  ];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Create a project, plugin or service on a hub",
    details: `
      The hub gives a project its id. A plugin or service is known by its slug. A name that another one of the kind has
      is refused, since commands would not know which one it means; \`--same-name\` takes it all the same.
    `,
    examples: [
      ["Create a project", "$0 project create 'Cold store' --kind project"],
      ["Create a plugin", "$0 project create 'Tide table' --kind plugin --slug tide-table"],
    ],
  });

  name = Option.String({ required: true, name: "NAME" });

  override async run(): Promise<number> {
    const { client, checkName } = await managed(this.options);
    const { kind, slug, sameName } = this.options;
    if (!sameName) await checkName(kind, this.name);
    const project = await client.createProject({
      name: this.name,
      kind,
      ...(slug !== undefined && { slug }),
    });
    if (this.json) return this.done({ project });
    this.note(`Created the ${project.kind} ${project.name}.`);
    this.print.line(project.kind === "project" ? project.slug : `${project.kind} ${project.slug}`);
    return 0;
  }
}

export class ProjectsList extends withOptions(connection) {
  static override paths = [
    ["project", "list"],
    ["projects", "list"],
  ];
  static override listed = async () =>
    Object.keys((await import("../../lib/contract/surfaces/keys.ts")).projectRecord.shape);
  static override usage = Command.Usage({ category: "Hub", description: "List your projects, plugins and services" });

  override async run(): Promise<number> {
    const { client } = await managed(this.options);
    return showList(this.surroundings(), {
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
    });
  }
}

export class ProjectsRename extends withOptions(projectRenaming) {
  static override paths = [["project", "rename"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Give a project, plugin or service another name",
    details: "Its id and slug stay, so that hosts and publishers notice nothing.",
    examples: [["Rename a project", "$0 project rename Harbour 'Harbour of Bergen'"]],
  });

  target = Option.String({ required: true, name: "TARGET" });
  name = Option.String({ required: true, name: "NAME" });

  override async run(): Promise<number> {
    const { client, called, checkName } = await managed(this.options);
    const { id, kind } = await called(this.target);
    if (!this.options.sameName) await checkName(kind, this.name, id);
    const project = await client.renameProject(id, this.name);
    this.note(`${this.target} is called ${project.name} now.`);
    return this.done({ project });
  }
}

export class ProjectsDelete extends withOptions(projectDeletion) {
  static override paths = [["project", "delete"]];
  static override usage = Command.Usage({
    category: "Hub",
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
  });

  target = Option.String({ required: true, name: "TARGET" });

  override async run(): Promise<number> {
    const { confirm, force, reason, dryRun } = this.options;
    const { client, called } = await managed(this.options);
    const { id, name } = await called(this.target);
    if (dryRun || confirm === undefined) {
      const project = await client.projectDeletion(id);
      this.note(`would delete ${contentsText(project)}`);
      if (dryRun) return this.done({ project, dry_run: true });
      throw usageError("usage", "Nothing was deleted.", { hint: `Add --confirm ${printableJson(name)} to delete it.` });
    }
    if (confirm !== name)
      throw usageError("usage", `The project is called ${printableJson(name)}, not ${printableJson(confirm)}.`, {
        hint: "Give its name in --confirm.",
      });
    const project = await client.deleteProject(id, { force, ...(reason !== undefined && { reason }) });
    this.note(`Deleted ${contentsText(project)}.`);
    return this.done({ project, dry_run: false });
  }
}

/** Says what a deletion takes, without what there is none of. */
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

export class ProjectsTransfer extends withOptions(projectTransfer) {
  static override paths = [["project", "transfer"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Give a project, plugin or service to another owner",
    details: `
      Needs an administrator's key, and an owner who has a live key. Keys that are bound to the project are revoked,
      so that its former owner
      keeps none that works for it; its hosts then need new ones. With \`--keep-keys\` they go on working as keys of
      the new owner.
    `,
    examples: [["Give a project to another team", "$0 project transfer Harbour team-b --keep-keys"]],
  });

  target = Option.String({ required: true, name: "TARGET" });
  owner = Option.String({ required: true, name: "OWNER" });

  override async run(): Promise<number> {
    const { client, called } = await managed(this.options);
    const { keepKeys: keep_keys, dryRun } = this.options;
    const before = await called(this.target);
    if (dryRun) return this.#preview(client, before, keep_keys);
    const project = await client.transferProject(before.id, { owner: this.owner, keep_keys });
    const { revoked_keys: revoked } = project;
    this.note(
      `${project.name} belongs to ${this.owner} now.` +
        (revoked === 0 ? "" : ` ${revoked} key${revoked === 1 ? " was" : "s were"} revoked.`),
    );
    return this.done({ project, dry_run: false });
  }

  async #preview(client: Managed["client"], project: ProjectRecord, keepKeys: boolean): Promise<number> {
    this.note(`would give ${project.name} of ${project.owner} to ${this.owner}`);
    const bound: string[] = [];
    for await (const { id, name, project_id: of, revoked_at: end } of client.listKeys()) {
      if (of !== project.id || end !== null) continue;
      bound.push(id);
      this.note(
        keepKeys ? `would keep the key ${id} (${name}) for ${this.owner}` : `would revoke the key ${id} (${name})`,
      );
    }
    return this.done({ project, owner: this.owner, keys: bound, keep_keys: keepKeys, dry_run: true });
  }
}
