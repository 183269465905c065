import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { appInit } from "../../lib/options/apps.ts";
import { withOptions } from "../shell/base.ts";

export class AppInit extends withOptions(appInit) {
  static override paths = [["app", "init"]];
  static override usage = Command.Usage({
    category: "Applications",
    description: "Make an application of a program that runs today",
    details: `
      Looks at the program's folder and writes \`app.yaml\` there: how hosts start it, where it listens, and how they
      find out whether it works. Beside it comes a project that publishes it: its install plan, and a link to the
      folder. A program that lies in \`apps/ID\` of a project already, and one for whose project \`--out\` names a folder
      that has a plan, is added to that project and its plan. Other files that exist stay as they are. The command is
      that of \`package.json\`; give another one after two dashes. With \`--of\`, it is another command in the folder of
      an application that the project has, with its user, settings and data. With \`--schedule\`, it is a job.
    `,
    examples: [
      ["For a program of Node.js, in its folder", "$0 app init --project-id Shop"],
      ["Another program of web", "$0 app init --id worker --of web -- node worker.js"],
      ["For any program", "$0 app init --project-id Shop --id web -- ./bin/server --quiet"],
    ],
  });

  command = Option.Rest({ name: "COMMAND" });

  override async run(): Promise<number> {
    const [{ resolve, relative }, starter, initial, { projectIdOf }, trial] = await Promise.all([
      import("node:path"),
      import("../../lib/publisher/starter-application.ts"),
      import("../../lib/agent/starter-project.ts"),
      import("../deploying/project-id.ts"),
      import("../../lib/agent/applications/trial-source.ts"),
    ]);
    const { initialOf, initialProject, plannedProjectId, writeInitial } = initial;
    const folder = resolve(this.options.folder);
    const { of: base, out, schedule } = this.options;
    if (base !== undefined && this.options.id === undefined)
      throw usageError("usage", `A program that is of ${base} has a name of its own.`, { hint: "Give one with --id." });
    const id = this.options.id ?? starter.applicationIdOf(folder);
    if (id === undefined)
      throw usageError("usage", `No id can be made of the name of ${folder}.`, { hint: "Give one with --id." });
    const { applicationId } = await import("./application-id.ts");
    const projectId = await projectIdOf(
      this.options.projectId ?? plannedProjectId(folder, out && resolve(out)),
      this.options,
    );
    const placed = { folder, id: applicationId(id), projectId, out: out && resolve(out) };
    const project = base === undefined ? initialProject(placed) : initialOf({ ...placed, base });
    const kind = { of: base, schedule };
    const found = await starter.initialDescriptor(folder, project.folder, this.command, kind);
    const { listen, ports } = found;
    const { written, kept, changed } = await writeInitial(project, found);
    const at = relative(process.cwd(), project.root) || ".";
    if (listen.length + ports.length === 0 && base === undefined && schedule === undefined)
      this.note("No port was found. If it listens, add `ports: [http]` to app.yaml, and let it listen on PORT.");
    for (const path of written) this.note(`wrote ${relative(process.cwd(), path)}`);
    for (const path of changed) this.note(`changed ${relative(process.cwd(), path)}, which installs ${id}, too`);
    for (const path of kept) this.note(`kept ${relative(process.cwd(), path)}, which exists`);
    for (const note of found.notes) this.note(note);
    // A trial finds a project in `deploy` of the program's folder, and none elsewhere.
    const isAround = trial.projectAround(project.folder) === project.root;
    const tried = relative(process.cwd(), isAround ? project.folder : (project.link ?? project.folder));
    this.note(`Try it here: sealift app test${tried === "" ? "" : ` ${tried}`}`);
    const next = nextCommands(id, at, { listen, ports, base });
    if (!this.json) for (const line of next) this.print.line(line);
    return this.done({ id, project_id: projectId, project: project.root, written, kept, changed, next });
  }
}

/** Port that is proposed for the first address of an application. */
const FIRST_PORT = 3000;

/** Returns the commands that bring an application to hosts, as a person types them. */
function nextCommands(
  id: string,
  project: string,
  { listen, ports, base }: { listen: readonly string[]; ports: readonly string[]; base: string | undefined },
): string[] {
  const cd = project === "." ? "" : `cd ${project} && `;
  const names = [...listen, ...ports];
  const flags = (flagOf: (name: string) => string): string =>
    names.map((name, index) => ` ${flagOf(name)} ${name}=${FIRST_PORT + index}`).join("");
  const of = base === undefined ? "" : ` --of ${base}`;
  const unit = `${of}${flags((name) => (listen.includes(name) ? "--listen" : "--port"))}`;
  const own = process.getuid?.() === 0 ? " --user NAME" : " --same-user";
  return [
    `${cd}sealift project publish . --version 1.0.0 --signing-key-file KEY`,
    `on each host with systemd: sealift systemd install app ${id}${unit}`,
    `on each other host:        sealift app allow ${id}${unit}${base === undefined ? own : ""} && sealift app serve`,
  ];
}
