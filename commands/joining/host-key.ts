import { join, relative, resolve } from "node:path";
import { Command } from "clipanion";
import { hostKey } from "../../lib/options/joining.ts";
import { withOptions } from "../shell/base.ts";

/** Makes the folder of a key where it is missing. @throws UsageError `usage` */
async function makeOut(folder: string): Promise<void> {
  const [{ usageError }, { makeFolder, writeFault }] = await Promise.all([
    import("../../lib/contract/errors.ts"),
    import("../../lib/support/files.ts"),
  ]);
  await makeFolder(folder, 0o700).catch((error: unknown) => {
    throw usageError("usage", `--out ${folder} cannot be made: ${writeFault(error)}.`, { cause: error });
  });
}

export class HostKey extends withOptions(hostKey) {
  static override paths = [["host", "key"]];
  static override usage = Command.Usage({
    category: "Hosts",
    description: "Make this host's key, and print the line that its operator accepts",
    details: `
      For hosts that joined before they had a key. Makes \`host.key\` (0600) and \`host.card\` beside \`watch.yaml\`
      where they are missing, and prints the public keys as one line for \`sealift settings accept\`. What \`watch.yaml\`
      lacks is named, and not written. A key that is there stays, and so does its line. A host without \`watch.yaml\`,
      or with no project in it, gets the key and its line alone: kits are sealed to it.

      With \`--systemd NAME\`, as root, the files are NAME.key and NAME.card in /etc/sealift/watch, and systemd hands
      the key to \`sealift-watch@NAME\` as a credential.
    `,
    examples: [
      ["Beside watch.yaml", "$0 host key --out /etc/sealift/watch"],
      ["Of a service", "$0 host key --systemd harbour"],
    ],
  });

  override async run(): Promise<number> {
    const [{ ownFolder, watchedHost }, { hostKeyFile }, { keepCard }, names, { hostLine }] = await Promise.all([
      import("./watched-host.ts"),
      import("../../lib/agent/joining/host-key-file.ts"),
      import("../../lib/agent/joining/host-card-file.ts"),
      import("../../lib/agent/starters.ts"),
      import("../../lib/contract/settings/host-line.ts"),
    ]);
    const { systemd, root, out } = this.options;
    const service = systemd === undefined ? undefined : await import("../../lib/agent/joining/host-key-unit.ts");
    const place =
      service === undefined
        ? { folder: resolve(out), key: names.HOST_KEY, card: names.HOST_CARD, watch: "watch.yaml" }
        : service.hostKeyPlace(systemd!, root);
    const { folder } = place;
    const watch = join(folder, place.watch);
    const watched = await watchedHost(watch, this.layers);
    const { keyFile, cardFile } = watched ?? {};
    await ownFolder(folder);
    if (service === undefined) await makeOut(folder);
    const file = (service === undefined ? keyFile : undefined) ?? join(folder, place.key);
    const { key, isNew } = await hostKeyFile(file);
    const card = cardFile ?? join(folder, place.card);
    const hasWritten = watched !== undefined && (await keepCard(card, watched, key));
    const dropIn = service === undefined ? undefined : await service.handOverKey(systemd!, root);
    const files = [...(isNew ? [file] : []), ...(hasWritten ? [card] : []), ...(dropIn === undefined ? [] : [dropIn])];
    const lacks = {
      ...(service === undefined && keyFile === undefined && { host_key_file: relative(folder, file) }),
      ...(cardFile === undefined && { host_card: relative(folder, card) }),
    };
    const line = hostLine(key);
    if (!this.json) this.print.line(line);
    for (const path of files) this.note(`Written: ${path}`);
    if (watched !== undefined) this.#say(watch, watched.project, lacks);
    if (dropIn !== undefined) this.note(`Then: systemctl daemon-reload && systemctl restart sealift-watch@${systemd}`);
    const { name = "HOST", project = null } = watched ?? {};
    if (watched !== undefined)
      this.note(`The operator accepts the key of this host: sealift settings accept ${name} LINE`);
    this.note(`A version on a stick is made for it: sealift kit make TARGET --host ${name}=LINE`);
    const host = { host_id: watched?.name ?? null, project_id: project };
    return this.done({ line, key: key.fingerprint, ...host, files, lacks: watched === undefined ? {} : lacks });
  }

  /** Says what is still to be written into watch.yaml. */
  #say(watch: string, project: string, lacks: Record<string, string>): void {
    const lines = Object.entries(lacks).map(([option, value]) => `    ${option}: ${value}`);
    if (lines.length > 0) this.note(`Write into ${watch}, at the target project:${project}:\n${lines.join("\n")}`);
    this.note(`Whose settings count: sealift host operator set KEY --config ${watch}`);
  }
}
