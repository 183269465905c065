import { join as joined, resolve } from "node:path";
import { Cli, Command, Option } from "clipanion";
import type { Joined } from "../../lib/agent/joining/join.ts";
import type { HostFileNames, WatchUnit } from "../../lib/agent/joining/unit.ts";
import { usageError } from "../../lib/contract/errors.ts";
import type { JoinToken } from "../../lib/contract/joining/token.ts";
import { join } from "../../lib/options/joining.ts";
import { isInside } from "../../lib/support/files.ts";
import { printableLine } from "../../lib/support/printable.ts";
import { givenAboutHost, PLUGIN_KEY, setAside, writeOnce } from "../deploying/watch-files.ts";
import { interruptible, withOptions } from "../shell/base.ts";
import { DEPLOY_TIMEOUT_MS } from "../shell/connection.ts";

/** Files of a host, by their names. */
interface HostFiles extends HostFileNames {
  folder: string;
  /** Whether systemd hands the secrets over. */
  isService: boolean;
}

async function placeOf(out: string, unit: WatchUnit | undefined): Promise<HostFiles> {
  if (unit !== undefined) return { folder: unit.folder, ...unit.names, isService: true };
  const { HOST_CARD: card, HOST_KEY: key, HOST_KEYS: keys } = await import("../../lib/agent/starters.ts");
  return {
    folder: out,
    keys,
    key,
    card,
    signers: "signer.pub",
    root: "root.json",
    watch: "watch.yaml",
    isService: false,
  };
}

export class Join extends withOptions(join) {
  static override paths = [["join"]];
  static override usage = Command.Usage({
    category: "Hosts",
    description: "Join a hub's project as a host, with a token",
    details: `
      Makes the key and the credential of this host, has the hub let it in, and writes \`host.env\` (0600), \`signer.pub\`
      (or the trust root of the invite, \`root.json\`) and \`watch.yaml\`, ready for \`sealift watch\`. The token is that
      of \`sealift host invite\`, from a file, from standard input (\`--token-file -\`) or in SEALIFT_TOKEN; never an argument, which every user of the machine can
      see. A join that was cut off is gone on with by the same command.

      With \`--systemd NAME\`, as root, the watch is the service \`sealift-watch@NAME\`, which starts at once and at
      every boot: the files are NAME.env, NAME.pub and NAME.yaml in /etc/sealift/watch, and systemd hands the secrets
      over as credentials.
    `,
    examples: [
      ["On a terminal, with a look at what it does", "$0 join https://hub.example.org --token-file join.token"],
      [
        "As a service that runs an application",
        "$0 join https://hub.example.org --token-file - --yes --systemd shop --project-root /srv/shop --allow web --listen http=3000",
      ],
      [
        "From a script",
        "$0 join https://hub.example.org --token-file - --yes --out /etc/sealift/watch --project-root /srv/harbour",
      ],
      [
        "As a service",
        "$0 join https://hub.example.org --token-file join.token --systemd harbour --project-root /srv/app",
      ],
    ],
  });

  url = Option.String({ name: "HUB", required: true });

  override async run(): Promise<number> {
    const { hostId, waitMs, timeoutMs = DEPLOY_TIMEOUT_MS, caFile } = this.options;
    const [{ hubUrlOf }, { hostSecrets }, { joinProject }, { prepareNetwork }] = await Promise.all([
      import("../context/hub-url.ts"),
      import("../../lib/agent/joining/host-secrets.ts"),
      import("../../lib/agent/joining/join.ts"),
      import("../shell/network.ts"),
    ]);
    const hubUrl = hubUrlOf(this.url, "HUB");
    const invite = await this.#invite();
    const projectRoot = resolve(this.options.projectRoot);
    const grant = await this.#grant(projectRoot);
    const unit = await this.#unit(projectRoot);
    const place = await placeOf(this.options.out, unit);
    // The root of a service belongs to the service's user, and root writes nothing there.
    await this.#checkFolders([...(unit === undefined ? [projectRoot] : []), resolve(place.folder)]);
    if (unit === undefined && isInside(projectRoot, resolve(place.folder)))
      this.warn(
        `The project root ${projectRoot} is inside ${place.folder}, which only you may enter: applications with a user of their own cannot run there. Put it elsewhere with --project-root.`,
      );
    await this.#consent(hubUrl, projectRoot, invite, place);
    await prepareNetwork({ caFile, usesTls: hubUrl.startsWith("https:") });
    using interrupt = interruptible();
    await unit?.prepare();
    const secrets = await hostSecrets(place.folder, place);
    let isBack = false;
    const joinedAs = await joinProject({
      ...{ hubUrl, invite, hostId, secrets, waitMs, transport: { timeoutMs }, signal: interrupt.signal },
      onReturn: () => {
        isBack = true;
        this.note(`The hub has removed this host before: ${secrets.file} holds a new key now.`);
      },
      onPending: ({ host_id: name }) =>
        this.note(`${name} waits until somebody approves it: sealift host approve PROJECT ${name}`),
    });
    const files = [
      secrets.file,
      secrets.hostKey.file,
      ...(await this.#write(joinedAs, hubUrl, projectRoot, place, isBack)),
      ...((await unit?.write()) ?? []),
    ];
    if (!this.json) for (const file of files) this.print.line(file);
    const { answer, operator, fingerprint } = joinedAs;
    const { host_id, project_id, project_name, labels } = answer;
    this.note(`${host_id} has joined ${printableLine(project_name)} (${project_id}).`);
    if (operator !== undefined) this.note(`It takes settings of the operator ${operator}.`);
    if (grant !== undefined) await this.#allow(grant);
    if (this.options.supervisor === "runtime") this.note(`Put beside it: ${PLUGIN_KEY}.`);
    if (unit === undefined) this.note(`Next: sealift watch --config ${joined(place.folder, place.watch)}`);
    else {
      await unit.start({ warn: this.warn, signal: interrupt.signal });
      this.note(`Its watch runs as ${unit.unit}: systemctl status ${unit.unit}`);
    }
    return this.done({ host_id, project_id, labels, files, operator: operator ?? null, key: fingerprint });
  }

  /** Reads the invite. @throws UsageError `credential_unreadable` */
  async #invite(): Promise<JoinToken> {
    const { joinTokenIn } = await import("../../lib/contract/joining/token.ts");
    const invite = joinTokenIn(this.options.token);
    if (invite !== undefined) return invite;
    throw usageError("credential_unreadable", "That is not a token of `sealift host invite`.", {
      hint: "Take the whole line, as it was printed: sjt_…, a full stop and 32 more characters.",
    });
  }

  /** Returns the command that allows the application of `--allow`. @throws UsageError `usage`, before anything else */
  async #grant(projectRoot: string): Promise<string[] | undefined> {
    const { allow, listen, port, user, sameUser, memoryMax, cpu, tasks, systemd, root } = this.options;
    if (allow === undefined) {
      if (listen.length + port.length === 0 && user === undefined && !sameUser) return undefined;
      throw usageError(
        "usage",
        "--listen, --port, --user and --same-user are of the application of --allow: give it, too.",
      );
    }
    const { applicationId } = await import("../apps/application-id.ts");
    const id = applicationId(allow);
    const given = [
      ...listen.flatMap(([name, address]) => ["--listen", `${name}=${address}`]),
      ...port.flatMap(([name, address]) => ["--port", `${name}=${address}`]),
      ...(user === undefined ? [] : ["--user", user]),
      ...Object.entries({ "--memory-max": memoryMax, "--cpu": cpu, "--tasks": tasks }).flatMap(([name, value]) =>
        value === undefined ? [] : [name, String(value)],
      ),
      ...["--project-root", projectRoot],
    ];
    if (systemd === undefined) return ["app", "allow", id, ...given, ...(sameUser ? ["--same-user"] : [])];
    if (sameUser)
      throw usageError("usage", "Under systemd an application has a user of its own: leave --same-user out.");
    const image = root === "/" ? ["--now"] : ["--root", root];
    const command = ["systemd", "install", "app", id, ...given];
    await this.#call([...command, "--dry-run", ...(root === "/" ? [] : ["--root", root])]);
    return [...command, ...image];
  }

  /** Allows the application, and has its units count. @throws UsageError `usage` where the command says why */
  async #allow(command: readonly string[]): Promise<void> {
    const output = await this.#call(command);
    if (!this.json) this.print.text(output);
  }

  /** Runs another command of this program. @returns what it prints. @throws UsageError `usage` where it fails */
  async #call(command: readonly string[]): Promise<string> {
    const [{ Writable }, { AppAllow }, { SystemdInstallApp }] = await Promise.all([
      import("node:stream"),
      import("../apps/app-allow.ts"),
      import("../apps/systemd-install-app.ts"),
    ]);
    const cli = Cli.from([AppAllow, SystemdInstallApp], { binaryName: this.cli.binaryName });
    const said = { stdout: "", stderr: "" };
    // Takes whatever is written: a stream that somebody has to read would hold the command up.
    const into = (name: keyof typeof said) =>
      new Writable({
        write(chunk: Buffer, _encoding, done) {
          said[name] += String(chunk);
          done();
        },
      });
    const streams = { stdout: into("stdout"), stderr: into("stderr") };
    const code = await cli.run([...command], { ...this.context, ...streams });
    if (code === 0) return said.stdout;
    throw usageError("usage", `\`sealift ${command.join(" ")}\` failed: ${said.stderr.trim().replace(/^error: /, "")}`);
  }

  async #unit(projectRoot: string): Promise<WatchUnit | undefined> {
    const { systemd: name, root } = this.options;
    if (name === undefined) return undefined;
    const { WatchUnit } = await import("../../lib/agent/joining/unit.ts");
    return WatchUnit.plan({ name, projectRoot, root });
  }

  /** Checks the folders. @throws DeploymentError `root_foreign` where root would write in another user's folder */
  async #checkFolders(folders: readonly string[]): Promise<void> {
    const [{ layoutOf }, { requireOwnRoot }] = await Promise.all([
      import("../../lib/releases/layout.ts"),
      import("../../lib/releases/project-root.ts"),
    ]);
    for (const folder of folders) await requireOwnRoot(layoutOf(folder));
  }

  /** Shows what the command will do, and asks. @throws UsageError `usage` without consent */
  async #consent(
    hubUrl: string,
    projectRoot: string,
    { fingerprint, pins }: JoinToken,
    place: HostFiles,
  ): Promise<void> {
    const { yes, hostId, systemd } = this.options;
    if (yes) return;
    const { canAnswer, confirm } = await import("../shell/output/confirm.ts");
    if (!canAnswer(this.context))
      throw usageError("usage", "Nothing was done.", { hint: "Add --yes to join from a script." });
    this.note(`This host joins ${hubUrl} as ${hostId}.`);
    this.note(`  It writes ${place.keys} (0600), ${place[pins]} and ${place.watch} in ${resolve(place.folder)}.`);
    if (systemd !== undefined)
      this.note(`  It writes the unit sealift-watch@${systemd}, starts it, and at every boot.`);
    this.note(
      `  Its watch will deploy into ${projectRoot} what signers ${pins === "root" ? "of the trust root " : ""}with the fingerprint ${fingerprint} have signed.`,
    );
    if (!(await confirm(this.context, "Go on?"))) throw usageError("usage", "Nothing was done.");
  }

  /**
   * Writes what the watch needs beside its secrets.
   *
   * @param isBack whether the files may be there: other ones are set aside, as `.old`
   * @returns the paths of the files
   */
  async #write(
    { answer, card, operator }: Joined,
    hubUrl: string,
    projectRoot: string,
    place: HostFiles,
    isBack: boolean,
  ): Promise<string[]> {
    const [{ starterWatch }, { readWatchFile }] = await Promise.all([
      import("../../lib/agent/starters.ts"),
      import("../../lib/options/watch-file.ts"),
    ]);
    const { host_id, project_id: slug, labels, signers, root } = answer;
    const label = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
    const more = {
      ...givenAboutHost({ ...this.options, hostId: undefined }, this.layers),
      ...{ host_id, ...(label.length > 0 && { label }) },
    };
    const { folder, watch: file, isService } = place;
    const trusted = place[root === undefined ? "signers" : "root"];
    const files = { trusted: joined(folder, trusted), card: joined(folder, place.card), watch: joined(folder, file) };
    const keys = isService ? null : place.keys;
    const write = isBack ? setAside : writeOnce;
    await write(files.trusted, root ?? `${signers.join("\n")}\n`);
    // A repeated join has the same card, unless somebody has renamed the host meanwhile.
    await setAside(files.card, `${JSON.stringify(card)}\n`);
    await write(
      files.watch,
      starterWatch({
        ...{ hubUrl, projectRoot, targets: [{ kind: "project", slug }], more, keys },
        ...(root === undefined ? { signers: trusted } : { root: trusted }),
        isJoined: true,
        settings: {
          host_card: place.card,
          ...(!isService && { host_key_file: place.key }),
          ...(operator !== undefined && { operator: [operator] }),
        },
      }),
    );
    await readWatchFile(files.watch);
    return Object.values(files);
  }
}
