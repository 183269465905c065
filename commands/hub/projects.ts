import { Command, Option } from "clipanion";
import { connection } from "../../lib/options/connection.ts";
import { projectCreation } from "../../lib/options/devkeys.ts";
import { withOptions } from "../shell/base.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";

export class ProjectsCreate extends withOptions(projectCreation) {
  static override paths = [
    ["project", "create"],
    ["projects", "create"],
  ];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Create a project, plugin or service on a hub",
    details:
      "A project gets a generated id, which is its id on surface B; a plugin or service takes the slug that it is known by.",
    examples: [
      ["Create a project", "$0 project create 'Cold store' --kind project"],
      ["Create a plugin", "$0 project create 'Tide table' --kind plugin --slug tide-table"],
    ],
  });

  name = Option.String({ required: true, name: "NAME" });

  override async run(): Promise<number> {
    const { DevkeysClient } = await import("../../lib/client/devkeys-client.ts");
    const client = new DevkeysClient(hubConnection(this.options, DEPLOY_TIMEOUT_MS));
    const { kind, slug } = this.options;
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
  static override usage = Command.Usage({ category: "Hub", description: "List your projects, plugins and services" });

  override async run(): Promise<number> {
    const { DevkeysClient } = await import("../../lib/client/devkeys-client.ts");
    const client = new DevkeysClient(hubConnection(this.options, DEPLOY_TIMEOUT_MS));
    let count = 0;
    for await (const project of client.listProjects()) {
      count++;
      if (this.json) this.print.event({ event: "project", ...project });
      else this.print.line(`${project.kind.padEnd(8)} ${project.slug.padEnd(40)} ${project.name}`);
    }
    if (count === 0) this.note("No projects yet.");
    return this.done({ count });
  }
}
