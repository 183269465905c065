import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { limitsOf, systemdApp } from "../../lib/options/apps.ts";
import type { Layout } from "../../lib/releases/layout.ts";
import type { AppUnitOptions } from "../../lib/support/systemd/app-units.ts";
import type { UnitFile } from "../../lib/support/systemd/units.ts";
import { withOptions } from "../shell/base.ts";
import type { Wanted } from "./asked-in-units.ts";

/** Application that this one is of, with its units. */
type Base = NonNullable<AppUnitOptions["base"]> & { user: string };

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

      \`--from\` names what asks, as for \`app allow\`: names without an address get free ports, and limits are granted.
      All of it is shown, and written once somebody agrees.
    `,
    examples: [
      ["With a socket that stays open", "$0 systemd install app web --listen http=127.0.0.1:3000"],
      ["Another program of web, with its user, settings and data", "$0 systemd install app worker --of web"],
      ["What a release asks", "$0 systemd install app --from deploy"],
      ["One that listens by itself", "$0 systemd install app web --port http=3000 --user web"],
    ],
  });

  id = Option.String({ name: "ID", required: false });

  override async run(): Promise<number> {
    const [{ join }, appUnits, units, grants, { layoutOf }] = await Promise.all([
      import("node:path"),
      import("../../lib/support/systemd/app-units.ts"),
      import("../../lib/support/systemd/units.ts"),
      import("../../lib/releases/write-grant.ts"),
      import("../../lib/releases/layout.ts"),
    ]);
    const { dryRun, force, now } = this.options;
    const place = units.ofThisProgram({ services: [], ...this.options });
    const layout = layoutOf(join(place.root, place.projectRoot));
    const path = join(place.root, place.projectRoot, "applications.yaml");
    const before = await grants.readText(path);
    // All are planned before the first is written.
    let content = before;
    const files: UnitFile[] = [];
    const warnings = units.hiddenPaths(place);
    const next: string[] = [];
    const bases = new Map<string, Base>();
    const wanted = await this.#wanted(layout);
    for (const one of wanted) {
      const plan = await this.#planOf(one, place, bases);
      const { id, base, user } = plan;
      bases.set(id, { id, instance: plan.instance, user });
      const whose = base === undefined ? { user } : { of: base.id };
      content = grants.withGrant(path, content, "systemd", id, { ...whose, listen: one.addresses, limits: one.limits });
      files.push(...(await appUnits.planAppUnits({ ...plan, limits: grants.limitsIn(path, content, id) })));
      const { compareGrant } = await import("../../lib/releases/stated-grant.ts");
      const unknown = await compareGrant(layout, id, { listen: one.addresses });
      warnings.push(
        ...(await appUnits.staleSocket(plan)),
        ...(unknown.length === 0 ? [] : [`The version of ${id} that is installed has no ${unknown.join(", ")}.`]),
      );
      next.push(...appUnits.appSteps(plan));
    }
    const [once, steps] = [uniqueFiles(files), appUnits.stepsTogether(next)];
    for (const warning of warnings) this.note(`warning: ${warning}`);
    if (dryRun) {
      const all = [...once, { target: path, content: content!, state: before === undefined ? "new" : "changed" }];
      if (!this.json) for (const file of all) this.print.text(`# ${file.target}\n${file.content}`);
      const planned = all.map(({ target, content: text, state }) => ({ path: target, content: text, state }));
      return this.done({ dry_run: true, files: planned, warnings });
    }
    await units.writeUnits(once, { force });
    await grants.writeText(path, content!);
    if (!this.json) for (const target of [...once.map(({ target }) => target), path]) this.print.line(target);
    if (now) {
      const { activate } = await import("../../lib/agent/joining/activate.ts");
      await activate(steps, { warn: this.warn });
    } else this.note(["Next:", ...steps].join("\n  "));
    return this.done({
      files: once.map(({ target, state }) => ({ path: target, state })),
      grant: path,
      warnings,
      next: steps,
    });
  }

  /** Returns the applications to install, those that others are of before them. @throws UsageError `usage` */
  async #wanted(layout: Layout): Promise<Wanted[]> {
    const { listen, port, from, of } = this.options;
    const { applicationId } = await import("./application-id.ts");
    const id = this.id === undefined ? undefined : applicationId(this.id);
    const limits = limitsOf(this.options);
    if (from === undefined) {
      if (id === undefined)
        throw usageError("usage", "Give the id of an application, or what asks by --from app.yaml.");
      const [socket, ...more] = listen;
      requireOneSocket(more.length);
      return [{ id, of, socket, addresses: Object.fromEntries([...listen, ...port]), limits }];
    }
    const [{ askedInUnits }, { agreedTo }] = await Promise.all([
      import("./asked-in-units.ts"),
      import("./agreed-to.ts"),
    ]);
    const given = { id, listen: Object.fromEntries([...listen, ...port]), limits, user: this.options.user };
    const asked = await askedInUnits(layout, from, given, (line) => this.note(line));
    for (const { sockets } of asked) requireOneSocket(sockets - 1);
    if (!this.options.dryRun) await agreedTo(this.consenting());
    return asked;
  }

  async #planOf(
    { id, of, socket, addresses }: Wanted,
    place: Pick<AppUnitOptions, "node" | "packageFolder" | "projectRoot" | "root">,
    bases: ReadonlyMap<string, Base>,
  ): Promise<AppUnitOptions> {
    const [{ instanceFor }, { portVariables }] = await Promise.all([
      import("../../lib/support/systemd/app-units.ts"),
      import("../../lib/contract/files/launch.ts"),
    ]);
    const instance = await instanceFor({ id, ...place }, { force: this.options.force });
    const base = of === undefined ? undefined : (bases.get(of) ?? (await this.#base(id, of, place)));
    const user = base?.user ?? (await this.#ownUser(id, { instance, root: place.root }));
    const environment = portVariables(addresses);
    return { ...place, id, instance, user, base, socket, environment, stop: await this.#stop(id) };
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

  /** Returns the application that this one is of, with its units. @throws UsageError `usage` */
  async #base(id: string, of: string, { projectRoot, root }: { projectRoot: string; root: string }): Promise<Base> {
    const { user } = this.options;
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

/** @throws UsageError `usage` @param more sockets beside the one that systemd names */
function requireOneSocket(more: number): void {
  if (more > 0)
    throw usageError("usage", "systemd names one socket of an application: give one --listen.", {
      hint: "Further addresses are --port, which the application binds itself.",
    });
}

/** Returns the files, each once: applications share templates, of which the last text counts. */
const uniqueFiles = (files: readonly UnitFile[]): UnitFile[] => [
  ...new Map(files.map((file) => [file.path, file])).values(),
];

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
