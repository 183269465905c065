import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { Command, Option } from "clipanion";
import type { Target } from "../../lib/contract/target.ts";
import { watchStart } from "../../lib/options/watch.ts";
import { withOptions } from "../shell/base.ts";
import { hubConnection, MARKETPLACE_TIMEOUT_MS } from "../shell/connection.ts";
import { givenAboutHost, PLUGIN_KEY, writeNew } from "./watch-files.ts";

export class WatchInit extends withOptions(watchStart) {
  static override paths = [["watch", "init"]];
  static override usage = Command.Usage({
    category: "Deploying",
    description: "Write the watch.yaml of a host, ready to run",
    details: `
      Writes \`watch.yaml\` beside the \`host.env\` of \`sealift key create --out\`, an install plan for each plugin and
      service, and says which files are still to be put there. Existing files are never replaced. Targets are named
      as everywhere; the file holds their ids.
    `,
    examples: [
      ["For a project", "$0 watch init project:Harbour --out ./host --host-id pier-7 --project-root /srv/app"],
    ],
  });

  targets = Option.Rest({ name: "TARGET", required: 1 });

  override async run(): Promise<number> {
    const { out, hubUrl } = this.options;
    // Paths in the file start at its own folder, and the file is to be copied.
    const projectRoot = resolve(this.options.projectRoot);
    const [{ targetCalled }, { HOST_KEYS, starterWatch }, { readWatchFile }] = await Promise.all([
      import("../../lib/client/lookup.ts"),
      import("../../lib/agent/starters.ts"),
      import("../../lib/options/watch-file.ts"),
    ]);
    const hub = hubConnection(this.options, MARKETPLACE_TIMEOUT_MS);
    const targets = await Promise.all(this.targets.map((text) => targetCalled(hub, text)));
    const file = join(out, "watch.yaml");
    await writeNew(
      file,
      starterWatch({ hubUrl, projectRoot, targets, more: givenAboutHost(this.options, this.layers) }),
    );
    const files = [file, ...(await this.#writePlans(targets))];
    await readWatchFile(file);
    if (!this.json) for (const path of files) this.print.line(path);
    const needed: string[] = targets.map(({ kind }) => (kind === "project" ? "signer.pub" : "signing.secret"));
    if (this.options.supervisor === "runtime") needed.push(PLUGIN_KEY);
    const missing = [...new Set([HOST_KEYS, ...needed])].filter((name) => !existsSync(join(out, name)));
    if (missing.length > 0) this.note(`Put beside it: ${missing.join(", ")}.`);
    this.note(
      `Then run: sealift watch --config ${file}\nAs a service: sealift systemd install watch, copy ${out} to /etc/sealift/watch as NAME.yaml with its files, and systemctl enable --now sealift-watch@NAME`,
    );
    return this.done({ files, missing });
  }

  async #writePlans(targets: readonly Target[]): Promise<string[]> {
    const { starterPlan } = await import("../../lib/agent/starters.ts");
    const written: string[] = [];
    for (const { kind, slug } of targets) {
      const file = join(this.options.out, `${slug}.yaml`);
      if (kind === "project" || existsSync(file)) continue;
      await writeNew(
        file,
        starterPlan({
          slug,
          items: [{ section: kind === "plugin" ? "plugins" : "extensions", id: slug }],
          supervised: false,
        }),
      );
      written.push(file);
    }
    return written;
  }
}
