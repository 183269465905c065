import { Command, Option } from "clipanion";
import type { Settings } from "../../lib/support/settings.ts";
import { DEPLOY_TIMEOUT_MS, HubCommand, hubConnection } from "./hub-options.ts";

export class ProjectsCreate extends HubCommand {
  static override paths = [["projects", "create"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Create a project, plugin or service on a hub",
    details:
      "A project gets a generated id, which is its id on surface B; a plugin or service takes the slug that it is known by.",
    examples: [
      ["Create a project", "$0 projects create 'Cold store' --kind project"],
      ["Create a plugin", "$0 projects create 'Tide table' --kind plugin --slug tide-table"],
    ],
  });

  name = Option.String({ required: true, name: "NAME" });
  kind = Option.String("--kind", { description: "project, plugin or service (default: project)" });
  slug = Option.String("--slug", { description: "Slug of a plugin or service" });

  override async run(settings: Settings): Promise<number> {
    const { DevkeysClient } = await import("../../lib/client/devkeys-client.ts");
    const client = new DevkeysClient(hubConnection(settings, DEPLOY_TIMEOUT_MS));
    const kind = settings.choice("kind", ["project", "plugin", "service"], "project");
    const project = await client.createProject({
      name: this.name,
      kind,
      ...(this.slug !== undefined && { slug: this.slug }),
    });
    if (this.json) return this.done({ project });
    this.note(`Created the ${project.kind} ${project.name}.`);
    this.output.line(project.kind === "project" ? project.slug : `${project.kind} ${project.slug}`);
    return 0;
  }
}

export class ProjectsList extends HubCommand {
  static override paths = [["projects", "list"]];
  static override usage = Command.Usage({ category: "Hub", description: "List your projects, plugins and services" });

  override async run(settings: Settings): Promise<number> {
    const { DevkeysClient } = await import("../../lib/client/devkeys-client.ts");
    const client = new DevkeysClient(hubConnection(settings, DEPLOY_TIMEOUT_MS));
    let count = 0;
    for await (const project of client.listProjects()) {
      count++;
      if (this.json) this.output.event({ event: "project", ...project });
      else this.output.line(`${project.kind.padEnd(8)} ${project.slug.padEnd(40)} ${project.name}`);
    }
    if (count === 0) this.note("No projects yet.");
    return this.done({ count });
  }
}
