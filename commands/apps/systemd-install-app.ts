import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { limitsOf, systemdApp } from "../../lib/options/apps.ts";
import { withOptions } from "../shell/base.ts";

export class SystemdInstallApp extends withOptions(systemdApp) {
  static override paths = [["systemd", "install", "app"]];
  static override usage = Command.Usage({
    category: "Applications",
    description: "Write the systemd units of one application, and its grant",
    details: `
      Writes the unit \`sealift-app@ID\` with a drop-in that names the project root, a user and the addresses, a socket
      unit for the address of \`--listen\`, and the rule by which the watch may restart it. It grants the application in
      \`applications.yaml\` of the project root, whose comments stay. Nothing is started; with \`--now\` its units count
      at once, and its socket is open.

      \`--listen\` is for an application that takes a handed-over socket (\`listen\` of its \`app.yaml\`): systemd keeps it
      open while the application restarts. \`--port\` is for one that listens by itself (\`ports\`).
    `,
    examples: [
      ["With a socket that stays open", "$0 systemd install app web --listen http=127.0.0.1:3000"],
      ["Another program of web, with its user, settings and data", "$0 systemd install app worker --of web"],
      ["One that listens by itself", "$0 systemd install app web --port http=3000 --user web"],
    ],
  });

  id = Option.String({ name: "ID" });

  override async run(): Promise<number> {
    const [{ join }, appUnits, units, { applicationId }, grants, { portVariables }, { layoutOf }] = await Promise.all([
      import("node:path"),
      import("../../lib/support/systemd/app-units.ts"),
      import("../../lib/support/systemd/units.ts"),
      import("./application-id.ts"),
      import("../../lib/releases/write-grant.ts"),
      import("../../lib/contract/files/launch.ts"),
      import("../../lib/releases/layout.ts"),
    ]);
    const { listen, port, dryRun, force, now } = this.options;
    const id = applicationId(this.id);
    if (listen.length > 1)
      throw usageError("usage", "systemd names one socket of an application: give one --listen.", {
        hint: "Further addresses are --port, which the application binds itself.",
      });
    const place = units.ofThisProgram({ services: [], ...this.options });
    const instance = await appUnits.instanceFor({ id, ...place }, { force });
    const base = await this.#base(id, place);
    const user = base?.user ?? (await this.#ownUser(id, { instance, root: place.root }));
    const addresses = Object.fromEntries([...listen, ...port]);
    const socket = listen[0];
    const plan = {
      ...place,
      id,
      instance,
      user,
      base,
      socket,
      environment: portVariables(addresses),
      stop: await this.#stop(id),
    };
    const path = join(place.root, place.projectRoot, "applications.yaml");
    const before = await grants.readText(path);
    const grant = {
      ...(base === undefined ? { user } : { of: base.id }),
      ...{ listen: addresses, limits: limitsOf(this.options) },
    };
    const content = grants.withGrant(path, before, "systemd", id, grant);
    const limits = grants.limitsIn(path, content, id);
    const files = await appUnits.planAppUnits({ ...plan, limits });
    const { compareGrant } = await import("../../lib/releases/stated-grant.ts");
    const unknown = await compareGrant(layoutOf(join(place.root, place.projectRoot)), id, { listen: addresses });
    const warnings = [
      ...units.hiddenPaths(place),
      ...(await appUnits.staleSocket(plan)),
      ...(unknown.length === 0 ? [] : [`The version of ${id} that is installed has no ${unknown.join(", ")}.`]),
    ];
    for (const warning of warnings) this.note(`warning: ${warning}`);
    if (dryRun) {
      const all = [...files, { target: path, content, state: before === undefined ? "new" : "changed" }];
      if (!this.json) for (const file of all) this.print.text(`# ${file.target}\n${file.content}`);
      return this.done({
        ...{
          dry_run: true,
          files: all.map(({ target, content, state }) => ({ path: target, content, state })),
          warnings,
        },
      });
    }
    await units.writeUnits(files, { force });
    await grants.writeText(path, content);
    const next = appUnits.appSteps(plan);
    if (!this.json) for (const target of [...files.map(({ target }) => target), path]) this.print.line(target);
    if (now) {
      const { activate } = await import("../../lib/agent/joining/activate.ts");
      await activate(next, { warn: this.warn });
    } else this.note(["Next:", ...next].join("\n  "));
    return this.done({
      files: files.map(({ target, state }) => ({ path: target, state })),
      grant: path,
      warnings,
      next,
    });
  }

  /** Returns the user of an application that is of no other. @throws UsageError `usage` */
  async #ownUser(id: string, place: { instance: string; root: string }): Promise<string> {
    const { defaultUser } = await import("../../lib/support/systemd/app-units.ts");
    const user = this.options.user ?? defaultUser(place.instance);
    if (user === undefined || !/^[a-z_][a-z0-9_-]{0,30}$/.test(user))
      throw usageError("usage", `${JSON.stringify(user ?? id)} makes no user's name.`, {
        hint: "Give another --user.",
      });
    await requireOwnUser(user, place, this.options.force);
    return user;
  }

  /** Returns the application that this one is of, with its units; undefined for none. @throws UsageError `usage` */
  async #base(id: string, { projectRoot, root }: { projectRoot: string; root: string }) {
    const { of, user } = this.options;
    if (of === undefined) return undefined;
    if (user !== undefined) throw (await import("./application-id.ts")).hasNoUser(id, of);
    const [{ applicationId }, { instanceFor, userOfUnit }] = await Promise.all([
      import("./application-id.ts"),
      import("../../lib/support/systemd/app-units.ts"),
    ]);
    const instance = await instanceFor({ id: applicationId(of), projectRoot, root }, { force: false });
    const shared = await userOfUnit({ instance, root });
    if (shared !== undefined) return { id: of, instance, user: shared };
    throw usageError("usage", `This host has no units of ${of}, whose user, settings and data ${id} shares.`, {
      hint: `First: sealift systemd install app ${of}.`,
    });
  }

  /** Returns how an installed version wants to end; undefined before the first deployment. */
  async #stop(id: string): Promise<{ signal: string; within: number } | undefined> {
    const [{ layoutOf }, { readInstalled }] = await Promise.all([
      import("../../lib/releases/layout.ts"),
      import("../../lib/releases/applications.ts"),
    ]);
    return (await readInstalled(layoutOf(this.options.projectRoot), id))?.app.stop;
  }
}

/** Ids below this are of users that every system has, such as daemon and www-data. */
const LEAST_ID = 100;

/**
 * Requires a user for one application alone: it may read and write what the application may.
 *
 * @param place of the application's units
 * @throws UsageError `usage`
 */
async function requireOwnUser(user: string, place: { instance: string; root: string }, force: boolean): Promise<void> {
  const [{ otherOfUser }, { findUser }] = await Promise.all([
    import("../../lib/support/systemd/app-units.ts"),
    import("../../lib/support/users.ts"),
  ]);
  const found = await findUser(user, place.root);
  const isOfSystem = user === "nobody" || user.startsWith("sealift-") || (found !== undefined && found.uid < LEAST_ID);
  if (user === "root" || isOfSystem)
    throw usageError("usage", `${user} is a user of the system, and an application has one of its own.`, {
      hint: "Leave --user out, or give a name that no other service uses.",
    });
  const other = force ? undefined : await otherOfUser(user, place);
  if (other !== undefined)
    throw usageError("usage", `${user} is the user of sealift-app@${other}, and each could read the other's data.`, {
      hint: "Give another --user, or --force if both are to share it.",
    });
}
