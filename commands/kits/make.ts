import { resolve } from "node:path";
import { Command, Option } from "clipanion";
import { targetText } from "../../lib/contract/target.ts";
import { kitMake } from "../../lib/options/kits.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";

export class KitMake extends withOptions(kitMake) {
  static override paths = [["kit", "make"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Make a kit: a version on a stick, for hosts without network",
    details: `
      Writes a folder with the sealed bytes of a version and everything that a hub says of it. The hub seals its key to
      each named host, so whoever finds the stick reads names and sizes, and no content. This is the authorization of
      the deployments: it needs a key that may deploy, and a project's deployment credential.

      Each host's key is that of its card at the hub, or of the line that \`sealift host key\` prints on it. With
      \`--roll fleet.lock\` every key must be the one of the roll; without it you believe the hub about whose key it is.

      A project's kit is for hosts of that project. For a plugin or service \`--project\` says whose hosts they are: when
      one is removed there, its reports of this kit are refused, too.
    `,
    examples: [
      ["The latest version", "$0 kit make project:prj_… --host pier-7 --roll fleet.lock --out /media/stick"],
      ["A host that was never online", "$0 kit make project:prj_… --host pier-7=shk1.… --out /media/stick"],
      ["A plugin", "$0 kit make plugin:tide-table --host pier-7 --project Shop --out /media/stick"],
    ],
  });

  target = Option.String({ name: "TARGET", required: true });

  override async run(): Promise<number> {
    const { hosts: given, out, version, lastsMs, deploymentCredential, roll: file, project } = this.options;
    const [{ targetCalled, projectNamed }, { usageError }, { kitHosts }, { makeKit }, { Roll }] = await Promise.all([
      import("../../lib/client/lookup.ts"),
      import("../../lib/contract/errors.ts"),
      import("../../lib/fleet/kits/kit-hosts.ts"),
      import("../../lib/fleet/kits/make-kit.ts"),
      import("../../lib/fleet/roll.ts"),
    ]);
    if (given.length === 0) throw usageError("usage", "--host names the hosts that get the kit, and none is named.");
    const hub = hubConnection(this.options, DEPLOY_TIMEOUT_MS);
    const target = await targetCalled(hub, this.target);
    if (target.kind === "project" && deploymentCredential === undefined)
      throw usageError("usage", "--deployment-credential-file is missing: it authorizes deployments of a project.");
    const named = project === undefined ? undefined : await projectNamed(hub, project);
    const projectId = target.kind === "project" ? target.slug : named;
    if (named !== undefined && named !== projectId)
      throw usageError("usage", `--project ${project}: the kit of a project is for hosts of that project.`);
    const roll = file === undefined ? undefined : await Roll.readExisting(resolve(file), projectId ?? "");
    const hosts = await kitHosts(given, { hub, projectId, roll });
    using interrupt = interruptible();
    const folder = resolve(out);
    const lastsS = Math.round(lastsMs / 1000);
    const order = { hub, target, version, hosts, hostsProjectId: projectId, lastsS, folder, deploymentCredential };
    const kit = await makeKit({ ...order, signal: interrupt.signal });
    const names = hosts.map(({ host_id: host }) => host);
    if (!this.json)
      this.print.line(`${targetText(target)} ${kit.version} for ${names.join(", ")}, until ${kit.ends_at}: ${folder}`);
    if (!this.json) this.print.line(`signed with the hub's key ${kit.hub_signature.key}`);
    if (roll === undefined && given.some((host) => !host.includes("=")))
      this.note("The hub said whose key it is: give --roll fleet.lock to compare each with your own list.");
    if (projectId === undefined)
      this.note("`sealift host remove` does not reach this kit: --project PROJECT says whose hosts it is for.");
    if (kit.project?.is_yanked === true) this.note(`warning: ${kit.version} was yanked.`);
    const { id, version: made, digest, made_at, ends_at } = kit;
    return this.done({
      ...{ kit: id, target: targetText(target), version: made, hosts: names, digest, made_at, ends_at, folder },
      hub_key: kit.hub_signature.key,
    });
  }
}
