/** A stick whose file system takes no file of the kit's size, as FAT32 takes none of 4 GiB. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { hostLine } from "../../../lib/contract/settings/host-line.ts";
import { offlineSite } from "../../support/host/offline-site.ts";
import { builtFile } from "../../support/programs/command-line.ts";

/** Runs a program whose files end at 32 KiB, with the error of a file system: EFBIG. */
const SMALL_FILES = 'trap "" XFSZ; ulimit -f 64; exec "$0" "$@"';

for (const kind of ["project", "plugin"] as const)
  t.test(`a kit of a ${kind} that is larger than a file may be is refused, and nothing of it is left`, async (t) => {
    const { hub, folder, target, key } = await offlineSite(t, kind);
    await target.publish("1.0.0", { "plugins/tides/chart": randomBytes(100_000).toString("base64") });
    const credential = target.options["deployment_credential_file"];
    const words = [
      ...["kit", "make", target.name, "--out", "stick", "--host", `pier-7=${hostLine(key)}`, "--json"],
      ...["--hub-url", hub.url, "--api-key-file", target.options["api_key_file"]!],
      ...(credential === undefined ? [] : ["--deployment-credential-file", credential]),
    ];
    const program = [process.execPath, builtFile("sealift"), ...words];
    const failed = await promisify(execFile)("sh", ["-c", SMALL_FILES, ...program], { cwd: folder }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      (error: unknown) => error as { code: number; stdout: string },
    );
    t.equal(failed.code, 1);
    t.match(JSON.parse(failed.stdout.trim().split("\n").at(-1)!), {
      error: { code: "kit_too_large", hint: /exFAT/ },
    });
    t.strictSame(readdirSync(join(folder, "stick")), []);
    const id =
      kind === "project"
        ? target.slug
        : ((await hub.call("GET", `/app/marketplace/plugins/tides`)).body["id"] as string);
    const { items } = (await hub.call("GET", `/devkeys/projects/${id}/kits?live=true`)).body as { items: object[] };
    t.strictSame(items, [], "the hub ends a kit that came onto no stick");
    const made = (await hub.call("GET", "/devkeys/audit?action=kit.make")).body as { items: object[] };
    t.equal(made.items.length, kind === "project" ? 1 : 0);
  });
