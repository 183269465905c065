import { Command, Option } from "clipanion";
import { usageError } from "../../lib/contract/errors.ts";
import { appAllow, limitsOf } from "../../lib/options/apps.ts";
import type { Layout } from "../../lib/releases/layout.ts";
import type { StatedGrant } from "../../lib/releases/write-grant.ts";
import { withOptions } from "../shell/base.ts";

export class AppAllow extends withOptions(appAllow) {
  static override paths = [["app", "allow"]];
  static override usage = Command.Usage({
    category: "Applications",
    description: "Let `app serve` run an application, with its addresses",
    details: `
      Writes a standing grant into \`applications.yaml\` of the project root; comments of the file stay. A version with an
      application that has no grant is held. Without a user of its own an application runs as the user of
      \`sealift app serve\`, which \`--same-user\` permits. With both, root runs it as \`--user\`. Under systemd,
      \`sealift systemd install app\` writes the grant. \`--alone\` has the kernel tell its processes by their user where
      there are no control groups. Addresses are those of names in \`listen\` and \`ports\` of \`app.yaml\`, and replace
      those of an earlier grant: give one for each name that the installed version has.

      \`--from\` names what asks: an \`app.yaml\`, the folder of an application, or a project with \`apps/\`. Names that
      have no address yet get free ports from 3000 on, and limits that it asks for are granted. All of it is shown, and
      written once somebody agrees.
    `,
    examples: [
      ["As root, with a user of its own", "$0 app allow web --listen http=127.0.0.1:3000 --user web"],
      ["What a release asks", "$0 app allow --from apps/web/app.yaml --user web"],
      ["On a laptop", "$0 app allow web --port http=3000 --same-user"],
      ["Another program of web, with its user, settings and data", "$0 app allow worker --of web"],
    ],
  });

  id = Option.String({ name: "ID", required: false });

  override async run(): Promise<number> {
    const [{ join, resolve }, { APPLICATIONS_FILE }, { readText, withGrant, writeText }, stated, { layoutOf }] =
      await Promise.all([
        import("node:path"),
        import("../../lib/contract/files/application-names.ts"),
        import("../../lib/releases/write-grant.ts"),
        import("../../lib/releases/stated-grant.ts"),
        import("../../lib/releases/layout.ts"),
      ]);
    const root = resolve(this.options.projectRoot);
    const file = join(root, APPLICATIONS_FILE);
    await this.#requireUsable();
    const { user } = this.options;
    if (user !== undefined) {
      await stated.requireUser(user);
      await this.#requireEntry(root, user);
    }
    const grants = await this.#grants(layoutOf(root));
    for (const [id, grant] of grants) {
      const unknown = await stated.compareGrant(layoutOf(root), id, grant);
      if (unknown.length > 0) this.note(`note: the version of ${id} that is installed has no ${unknown.join(", ")}.`);
    }
    let content = await readText(file);
    for (const [id, grant] of grants) content = withGrant(file, content, "serve", id, grant);
    await writeText(file, content!);
    if (!this.json) this.print.line(file);
    this.note(`Next: sealift app serve --project-root ${root}, or SIGHUP for the one that runs.`);
    const ids = [...grants.keys()];
    return this.done({ ...(ids.length === 1 && { id: ids[0] }), path: file, grants: Object.fromEntries(grants) });
  }

  /** @throws UsageError `usage` for a user that is none of the application's own */
  async #requireUsable(): Promise<void> {
    const { user, sameUser, alone, of } = this.options;
    const whose = this.id ?? "an application";
    if (sameUser && user === undefined && process.getuid?.() === 0)
      throw usageError("usage", `As root, ${whose} needs a user of its own: --same-user would run it as root.`, {
        hint: "Give --user NAME, or run this and `sealift app serve` as an ordinary user.",
      });
    if (of !== undefined && (user !== undefined || sameUser || alone))
      throw (await import("./application-id.ts")).hasNoUser(whose, of);
    if (alone && user === undefined)
      throw usageError("usage", `--alone says that a user runs nothing but ${whose}: give --user NAME, too.`);
  }

  /** Returns the grants to write, by id. @throws UsageError `usage` where nobody has agreed to them */
  async #grants(layout: Layout): Promise<Map<string, StatedGrant>> {
    const { user, sameUser, alone, of, from } = this.options;
    const listen = Object.fromEntries([...this.options.listen, ...this.options.port]);
    const common = {
      ...(user !== undefined && { user }),
      ...(sameUser && { same_user: true }),
      ...(alone && { alone: true }),
      ...(of !== undefined && { of }),
    };
    const { applicationId } = await import("./application-id.ts");
    const id = this.id === undefined ? undefined : applicationId(this.id);
    const limits = limitsOf(this.options);
    if (from !== undefined) return this.#asked(layout, id, from, { ...common, listen, limits });
    if (id === undefined) throw usageError("usage", "Give the id of an application, or what asks by --from app.yaml.");
    return new Map([[id, { ...common, limits, ...(Object.keys(listen).length > 0 && { listen }) }]]);
  }

  /** Returns grants for what a release asks, once somebody has agreed. */
  async #asked(
    layout: Layout,
    only: string | undefined,
    from: string,
    { listen = {}, limits, ...given }: StatedGrant,
  ): Promise<Map<string, StatedGrant>> {
    const [asking, { readGrants }, { grantLines }, { agreedTo }] = await Promise.all([
      import("../../lib/agent/applications/asked-grants.ts"),
      import("../../lib/releases/applications.ts"),
      import("./grant-text.ts"),
      import("./agreed-to.ts"),
    ]);
    const before = await readGrants(layout);
    const taken = asking.takenPorts(before);
    const grants = new Map<string, StatedGrant>();
    for (const [id, app] of asking.basesFirst(await asking.askedApplications(from, only))) {
      const known = before?.applications[id];
      if (app.of !== undefined) {
        const asked = await asking.grantFor(app, known, listen, taken);
        const grant = { ...asked, of: app.of, limits: { ...asked.limits, ...limits } };
        grants.set(id, grant);
        for (const line of grantLines(id, app, grant)) this.note(line);
        continue;
      }
      const isRoot = process.getuid?.() === 0;
      const hasUser = given.user !== undefined || known?.user !== undefined;
      if (isRoot && !hasUser)
        throw usageError("usage", `As root, ${id} needs a user of its own.`, { hint: "Give --user NAME." });
      const asked = await asking.grantFor(app, known, listen, taken);
      const own = hasUser ? {} : { same_user: true };
      const grant = { ...asked, ...own, ...given, limits: { ...asked.limits, ...limits } };
      grants.set(id, grant);
      for (const line of grantLines(id, app, { ...known, ...grant })) this.note(line);
    }
    await agreedTo(this.consenting());
    return grants;
  }

  /** Requires that the user can enter the project root: its application could not start there. @throws UsageError */
  async #requireEntry(root: string, user: string): Promise<void> {
    const { closedFolder } = await import("../../lib/support/entered-folders.ts");
    const closed = await closedFolder(root, user);
    if (closed === undefined) return;
    throw usageError("usage", `The user ${user} cannot enter ${closed}, in which the project root ${root} is.`, {
      hint: `Open it for others (chmod o+x ${closed}), or put the project root elsewhere, such as into /srv.`,
    });
  }
}
